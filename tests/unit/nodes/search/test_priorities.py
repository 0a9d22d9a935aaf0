"""Whose priority counts: members that differ from their group, and what a group is worth as a victim."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from nodes.answers.asking import decide_pod
from nodes.search.decision import decide_group
from tests.kit.native_gangs import native_group, native_pod
from tests.kit.objects import BIG, gang, member, node, pod, priority_class, tables
from tests.unit.nodes.search.support import NS, decide, names


def victim(name: str = "v", **fields: Any) -> Any:
    return pod(name, **{"node": "n0", "requests": BIG, "priority": 1, **fields})


# ---- members that differ from their group


@pytest.mark.parametrize(
    ("spec", "fields", "said"),
    [
        ({}, {"priority": 0}, "pod m0 has priority 0, and its PodGroup has 100"),
        ({"priority": 0}, {"priority": 100}, "pod m0 has priority 100, and its PodGroup has 0"),
        (
            {},
            {"preemptionPolicy": "Never"},
            "pod m0 has preemptionPolicy Never, and its PodGroup has PreemptLowerPriority",
        ),
    ],
)
def test_a_gang_whose_members_differ_from_it_evicts_nobody(
    spec: dict[str, Any], fields: dict[str, Any], said: str
) -> None:
    low = victim(priority=-1)
    plan = decide(gang(minimum=1, **spec), member(**fields), node("n0"), low)
    assert (plan.outcome, plan.mismatch, plan.victims) == ("Unschedulable", "PriorityMismatch", [])
    assert plan.reason.startswith(f"nothing may be evicted for it: {said}: create ")
    assert plan.reason.endswith("0/1 nodes are available: 1 Insufficient cpu")
    assert {each.outcome for each in plan.domains} == {"Unschedulable"}


def test_the_message_says_how_to_set_it() -> None:
    """Neither priority can be changed later."""
    known = priority_class("training", value=100)
    named = gang(minimum=1, priority=None, priorityClassName="training")
    plan = decide(named, member(priority=0), node("n0"), victim(), known)
    assert "create both with one priorityClassName (the PodGroup's is training)" in plan.reason
    without = gang(minimum=1, priority=None)
    plan = decide(without, member(priority=100), node("n0"), victim(priority=-1))
    assert "create both with one priorityClassName (the PodGroup has none)" in plan.reason


@pytest.mark.parametrize(
    "fields", [{"priority": 0}, {"preemptionPolicy": "Never"}, {"schedulerName": "other"}]
)
def test_it_takes_free_room(fields: dict[str, Any]) -> None:
    nodes = [node("n0"), node("n1"), node("n2")]
    plan = decide(gang(minimum=2), member("m0"), member("m1", **fields), *nodes, victim())
    assert (plan.outcome, plan.mismatch, plan.reason) == ("Fits", UNSET, "it fits without evictions")
    assert [(each.pod, each.node) for each in plan.placements] == [("m0", "n1"), ("m1", "n2")]


def test_every_unbound_member_counts_and_no_bound_one() -> None:
    late = member("m9", priority=0)
    plan = decide(gang(minimum=1), member(), late, node("n0"), victim())
    assert plan.mismatch == "PriorityMismatch"
    assert "pod m9 has priority 0" in plan.reason
    bound = member("m9", priority=0, node="n1", requests={"cpu": "1"})
    plan = decide(gang(minimum=2), member(), bound, node("n0"), node("n1"), victim())
    assert (plan.outcome, plan.mismatch, names(plan)) == ("Preempts", UNSET, ["v"])


def test_a_group_that_evicts_nobody_by_its_own_policy_differs_from_no_member() -> None:
    plan = decide(gang(minimum=1, preemptionPolicy="Never"), member(), node("n0"), victim())
    assert (plan.outcome, plan.mismatch) == ("Unschedulable", UNSET)
    never = member(preemptionPolicy="Never")
    plan = decide(gang(minimum=1, preemptionPolicy="Never"), never, node("n0"), victim())
    assert (plan.outcome, plan.mismatch) == ("Unschedulable", UNSET)


def test_many_members_that_differ_are_counted() -> None:
    several = [member(f"m{i}", priority=i) for i in range(3)]
    plan = decide(gang(minimum=1), *several, node("n0"), victim())
    assert "pod m0 has priority 0, and its PodGroup has 100 (3 pods differ)" in plan.reason


def test_members_of_one_gang_name_one_scheduler() -> None:
    pair = [member("m0"), member("m1", schedulerName="other"), member("m2")]
    plan = decide(gang(minimum=1), *pair, node("n0"), victim())
    assert (plan.outcome, plan.mismatch) == ("Unschedulable", "SchedulerMismatch")
    said = (
        "its pods name 2 schedulers (pod m0 has default-scheduler, pod m1 has other): set one schedulerName"
    )
    assert said in plan.reason
    unset = [member("m0", schedulerName=""), member("m1")]
    assert decide(gang(minimum=1), *unset, node("n0"), victim()).outcome == "Preempts"
    others = [member(f"m{i}", schedulerName="other") for i in range(2)]
    assert decide(gang(minimum=1), *others, node("n0"), victim()).outcome == "Preempts"


def test_what_differs_is_all_named() -> None:
    pair = [member("m0", priority=7), member("m1", schedulerName="other", preemptionPolicy="Never")]
    plan = decide(gang(minimum=1), *pair, node("n0"), victim())
    assert plan.mismatch == "PriorityMismatch"
    for said in ("pod m0 has priority 7", "pod m1 has preemptionPolicy Never", "2 schedulers"):
        assert said in plan.reason


def test_a_single_pod_that_differs_from_its_group() -> None:
    def decided(**fields: Any) -> Any:
        world = [gang(), member(**fields), node("n0"), victim()]
        return decide_pod(tables(*world).snapshot(), NS, "m0")

    assert (decided().outcome, decided().mismatch) == ("Preempts", UNSET)
    assert (decided(priority=0).outcome, decided(priority=0).mismatch) == (
        "Unschedulable",
        "PriorityMismatch",
    )
    assert decided(priority=0, node="n0").outcome == "Fits"


# ---- as a victim


def whole(priority: int, *own: int, **fields: Any) -> list[Any]:
    """A group in `all` mode with a pod of each priority, on nodes of their own."""
    pods = [victim(f"v{i}", node=f"n{i}", group="whole", priority=p, **fields) for i, p in enumerate(own)]
    return [gang("whole", mode="all", priority=priority), *pods, *(node(f"n{i}") for i in range(len(own)))]


@pytest.mark.parametrize(
    ("group", "own", "counts"),
    [(5, (900, 900), 5), (5, (3, 900), 3), (900, (7, 900), 7), (900, (100, 900), None), (100, (900,), None)],
)
def test_a_group_that_goes_whole_has_the_lowest_of_its_own_and_its_pods_priorities(
    group: int, own: tuple[int, ...], counts: int | None
) -> None:
    plan = decide(gang(minimum=1), member(), *whole(group, *own))
    assert [(each.name, each.priority) for each in plan.victims] == ([("whole", counts)] if counts else [])


@pytest.mark.parametrize(("priority", "counts"), [(5, 5), (99, 99), (100, None), (None, 7)])
def test_the_priority_of_a_native_group_replaces_that_of_its_pods(
    priority: int | None, counts: int | None
) -> None:
    """As in the scheduler. If the group says none, its pods do."""
    group = native_group("whole", mode="all", priority=priority)
    pods = [native_pod(f"v{own}", "whole", priority=own, node=f"n{own}", requests=BIG) for own in (7, 900)]
    plan = decide(gang(minimum=1), member(), group, *pods, *(node(f"n{own}") for own in (7, 900)))
    assert [each.priority for each in plan.victims] == ([counts] if counts else [])


def test_only_its_running_pods_count() -> None:
    leaving = pod("v9", group="whole", node="n0", requests={"cpu": "0"}, priority=1, deleting=True)
    waiting = pod("v8", group="whole", priority=1)
    ended = pod("v7", group="whole", node="n0", priority=1, phase="Succeeded")
    plan = decide(gang(minimum=1), member(), *whole(900, 900), leaving, waiting, ended)
    assert plan.outcome == "Unschedulable"


def test_the_pod_that_makes_the_group_cheap_goes_last() -> None:
    """While its eviction goes on, the group stays as cheap as it was."""
    (victim,) = decide(gang(minimum=1), member(), *whole(900, 7, 900, 500)).victims
    assert [each.name for each in victim.pods] == ["v1", "v2", "v0"]


def test_in_single_mode_the_groups_priority_replaces_the_pods() -> None:
    protected = [gang("single", priority=900), victim(group="single"), node("n0")]
    assert decide(gang(minimum=1), member(), *protected).outcome == "Unschedulable"


@pytest.mark.parametrize("mode", ["single", "all"])
def test_a_gang_is_not_its_own_victim(mode: str) -> None:
    bound = member("m9", node="n0", priority=0)
    plan = decide(gang(minimum=2, mode=mode), member(), bound, node("n0"))
    assert (plan.outcome, plan.victims) == ("Unschedulable", [])
    single = decide_pod(tables(gang(mode=mode), member(), bound, node("n0")).snapshot(), NS, "m0")
    assert (single.outcome, single.victims) == ("Unschedulable", [])


# ---- what the live planner knows


def test_nobody_goes_for_a_barred_gang_which_takes_free_room() -> None:
    full = tables(gang(minimum=1), member(), node("n0"), victim()).snapshot()
    assert decide_group(full, NS, "gang").outcome == "Preempts"
    plan = decide_group(full, NS, "gang", barred="it evicted in vain")
    assert (plan.outcome, plan.mismatch, plan.victims) == ("Unschedulable", "EvictedInVain", [])
    assert plan.reason.startswith("nothing may be evicted for it: it evicted in vain; ")
    free = tables(gang(minimum=1), member(), node("n0"), node("n1"), victim()).snapshot()
    assert decide_group(free, NS, "gang", barred="it evicted in vain").outcome == "Fits"


def test_a_policy_of_its_own_comes_before_a_bar() -> None:
    never = tables(gang(minimum=1, preemptionPolicy="Never"), member(), node("n0"), victim()).snapshot()
    assert decide_group(never, NS, "gang", barred="it evicted in vain").mismatch is UNSET

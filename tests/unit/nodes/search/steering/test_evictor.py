"""Who evicts for the plan of a native gang, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from api.plans import EvictorReason, PreemptionPlanSpec
from nodes.search.decision import decide_for, group_decision
from nodes.search.preemptors.preemptor import group_preemptor
from nodes.search.promised import HeldRoom, with_promised
from nodes.search.steering.evictor import Verdict, who_evicts
from nodes.state.costs import CostRules
from nodes.state.snapshot import Snapshot
from tests.kit.native_gangs import GANG_KEY, hero, native_group, native_pod, small
from tests.kit.objects import BIG, budget, gang, member, node, pod, tables
from tests.unit.nodes.search.support import names

BUDGET = {"matchLabels": {"app": "web"}}


def planned(snapshot: Snapshot, **changed: Any) -> tuple[Any, PreemptionPlanSpec]:
    preemptor = replace(group_preemptor(snapshot, *GANG_KEY), **changed)
    return preemptor, decide_for(snapshot, preemptor)


def verdict(*objects: Any, drive: bool = False, costs: CostRules | None = None, **changed: Any) -> Verdict:
    """The verdict on the plan that the search makes."""
    given = [each for each in objects if getattr(each.metadata, "name", "") == GANG_KEY[1]]
    snapshot = tables(*([] if given else [native_group()]), *objects, costs=costs).snapshot()
    preemptor, spec = planned(snapshot, **changed)
    return who_evicts(snapshot, snapshot, preemptor, spec, drive=drive)


def told(found: Verdict) -> tuple[str, str, list[str]]:
    assert (found.spec.evicted_by, found.spec.evictor_reason) == (found.by, found.reason)
    return found.by, found.reason, names(found.spec)


# ---- steered


def test_the_same_victims() -> None:
    found = verdict(node("n0"), hero("3"), small("high", priority=9), small("low"))
    assert told(found) == ("Scheduler", "SameVictims", ["low"])
    assert found.spec.reason.endswith(
        "; kube-scheduler evicts, because its rule evicts these victims, or equal ones"
    )


def test_nobody_is_evicted() -> None:
    assert told(verdict(node("n0"), hero("1"), small("a"))) == ("Scheduler", "SameVictims", [])


def test_a_native_group_goes_whole() -> None:
    group = native_group("web", mode="all", priority=5)
    pods = [native_pod(f"w{i}", "web", priority=5, node=f"n{i}") for i in range(2)]
    high = small("high", "n1", priority=50, requests=BIG)
    found = verdict(node("n0"), node("n1", cpu="5"), hero("4"), group, *pods, high)
    assert told(found) == ("Scheduler", "SameVictims", ["podgroups.scheduling.k8s.io:web"])


def test_equals_count_as_the_same() -> None:
    found = verdict(node("n0"), hero("3"), *(small(name) for name in "abc"))
    assert told(found)[:2] == ("Scheduler", "SameVictims")
    assert len(found.spec.victims) == 2


def changed_victims(snapshot: Snapshot, spec: PreemptionPlanSpec, name: str) -> PreemptionPlanSpec:
    """The same plan with another pod as its victim."""
    row = [*snapshot.pod_names].index(name)
    [victim] = spec.victims
    other = msgspec.structs.replace(victim.pods[0], name=name, uid=snapshot.pod_uids[row])
    priority = int(snapshot.pod_priority[row])
    return msgspec.structs.replace(
        spec, victims=[msgspec.structs.replace(victim, name=name, priority=priority, pods=[other])]
    )


def test_victims_that_cost_no_more_become_the_plans() -> None:
    """A plan that the search did not make better in time."""
    snapshot = tables(
        native_group(), node("n0"), hero("3"), small("high", priority=9), small("low")
    ).snapshot()
    preemptor, spec = planned(snapshot)
    found = who_evicts(snapshot, snapshot, preemptor, changed_victims(snapshot, spec, "high"))
    assert told(found) == ("Scheduler", "NoDearer", ["low"])
    again = msgspec.structs.replace(
        found.spec, evicted_by=spec.evicted_by, evictor_reason=spec.evictor_reason
    )
    words = "; kube-scheduler evicts, because its rule evicts these victims, and others would not cost less"
    assert found.spec.reason == spec.reason + words
    assert msgspec.structs.replace(again, reason=spec.reason) == spec


def test_an_equal_pod_in_place_of_the_planned_one_is_the_same() -> None:
    snapshot = tables(native_group(), node("n0"), hero("3"), small("a"), small("b")).snapshot()
    preemptor, spec = planned(snapshot)
    [first] = names(spec)
    other = "b" if first == "a" else "a"
    found = who_evicts(snapshot, snapshot, preemptor, changed_victims(snapshot, spec, other))
    assert told(found) == ("Scheduler", "SameVictims", [other])


# ---- driven


def test_the_scheduler_would_evict_dearer_pods() -> None:
    """It puts the important large one back, and then neither of the small ones fits. We keep both."""
    large = small("large", priority=5, minute=0, requests={"cpu": "2"})
    rest = [small("b", minute=1), small("c", minute=2)]
    found = verdict(node("n0"), hero("2"), large, *rest)
    assert told(found) == ("Reprieve", "OtherVictims", ["large"])


def test_the_order_of_equals_decides_about_the_cost() -> None:
    found = verdict(node("n0"), hero("2"), small("large", requests={"cpu": "2"}), small("b"), small("c"))
    assert told(found) == ("Reprieve", "OtherVictims", ["large"])


@pytest.mark.parametrize(
    "named",
    [
        {"labels": {"reprieve.dev/pod-group": "web"}},
        {"labels": {"scheduling.x-k8s.io/pod-group": "web"}},
        {"annotations": {"scheduling.k8s.io/group-name": "web"}},
    ],
    ids=["ours", "scheduler-plugins", "Volcano"],
)
@pytest.mark.parametrize("running", [1, 2])
def test_the_scheduler_does_not_know_the_group(named: dict[str, Any], running: int) -> None:
    """Also if only one pod of it runs."""
    pods = [small(f"w{i}", f"n{i}", **named) for i in range(running)]
    group = gang("web", 1, "all", priority=5)
    found = verdict(node("n0"), node("n1", cpu="1"), hero("4"), group, *pods)
    assert (found.by, found.reason) == ("Reprieve", "UnknownUnit")


def test_the_scheduler_does_not_know_the_group_of_an_owner() -> None:
    owner = ("kubeflow.org/v1", "PyTorchJob", "train")
    pods = [small(f"w{i}", f"n{i}", owner=owner) for i in range(2)]
    found = verdict(node("n0"), node("n1", cpu="1"), hero("4"), *pods)
    assert (found.by, found.reason) == ("Reprieve", "UnknownUnit")


def test_the_scheduler_would_break_a_group_that_the_plan_spares() -> None:
    """We evict one pod rather than two. For the scheduler, the younger pod is less important."""
    group = gang("web", 1, "all", priority=5)
    ours = [small(f"w{i}", f"n{i}", group="web", minute=9) for i in range(2)]
    found = verdict(node("n0"), node("n1", cpu="1"), hero("3"), group, *ours, small("a"))
    assert told(found) == ("Reprieve", "UnknownUnit", ["a"])


def test_pods_of_a_single_group_of_ours_are_pods() -> None:
    group = gang("web", 0, "single", priority=5)
    found = verdict(node("n0"), hero("4"), group, small("w0", group="web"))
    assert told(found) == ("Scheduler", "SameVictims", ["w0"])


@pytest.mark.parametrize("fields", [{"mirror": True}, {"owner": ("apps/v1", "DaemonSet", "agent")}])
def test_the_scheduler_would_evict_a_pod_that_stays(fields: dict[str, Any]) -> None:
    stays = small("stays", priority=1, **fields)
    found = verdict(node("n0"), hero("3"), stays, small("a"), costs=CostRules(daemon_set_pods="Keep"))
    assert told(found) == ("Reprieve", "PodStays", ["a"])


def test_a_pod_that_stays_and_fits_does_not_matter() -> None:
    found = verdict(node("n0"), hero("3"), small("stays", priority=9, mirror=True), small("a"))
    assert told(found) == ("Scheduler", "SameVictims", ["a"])


def test_reasons_that_need_no_comparison() -> None:
    rest = [node("n0", labels={"rack": "a"}), hero("4"), small("a")]
    assert told(verdict(*rest, drive=True)) == ("Reprieve", "DriveMode", ["a"])
    assert told(verdict(*rest, budgets="Respect")) == ("Reprieve", "BudgetsRespected", ["a"])
    group = native_group(schedulingConstraints={"topology": [{"key": "rack"}]})
    assert told(verdict(*rest, group)) == ("Reprieve", "TopologyConstraint", ["a"])


def test_budgets_that_are_ignored_matter_to_the_scheduler() -> None:
    web = small("web", priority=1, labels={"app": "web"})
    rest = [node("n0"), hero("3"), web, small("other"), budget("b", selector=BUDGET)]
    assert told(verdict(*rest, budgets="Ignore")) == ("Reprieve", "OtherVictims", ["web"])
    assert told(verdict(*rest)) == ("Scheduler", "SameVictims", ["other"])


def test_a_terminating_pod_of_lower_priority_makes_the_scheduler_evict_another_one() -> None:
    leaving = small("leaving", priority=9, deleting=True)
    assert told(verdict(node("n0"), hero("3"), leaving, small("a"))) == ("Reprieve", "OtherVictims", [])
    leaving = small("leaving", priority=1, deleting=True)
    assert told(verdict(node("n0"), hero("3"), leaving, small("a"))) == ("Scheduler", "SameVictims", [])


def test_the_scheduler_evicts_nobody_for_a_gang_that_never_preempts() -> None:
    leaving = small("leaving", priority=9, deleting=True)
    never = native_group(preemptionPolicy="Never")
    found = verdict(node("n0"), never, hero("3", preemptionPolicy="Never"), leaving, small("a"))
    assert told(found) == ("Scheduler", "SameVictims", [])
    found = verdict(
        node("n0"), never, hero("3"), leaving, small("a")
    )  # the group's own policy is behind a gate
    assert told(found) == ("Reprieve", "OtherVictims", [])


def test_a_gang_that_may_not_evict_for_now_is_not_left_to_the_scheduler() -> None:
    """It evicted in vain before. The scheduler does not know that."""
    snapshot = tables(
        native_group(), node("n0"), hero("3"), small("leaving", priority=9, deleting=True), small("a")
    ).snapshot()
    spec = group_decision(snapshot, *GANG_KEY, barred="it evicted in vain").spec
    assert (spec.evicted_by, spec.evictor_reason) == ("Reprieve", "OtherVictims")


def test_a_terminating_pod_of_the_same_priority_is_in_the_way() -> None:
    leaving = small("leaving", priority=100, deleting=True)
    assert told(verdict(node("n0"), hero("4"), leaving)) == ("Reprieve", "NotFeasible", [])


def test_a_terminating_pod_that_members_count_leaves_it_open() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "rack"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    racks = [node(name, labels={"rack": "a"}) for name in ("n0", "n1")]
    stays = small("stays", "n1", labels={"app": "web"}, priority=100)
    leaves = small("leaves", "n1", labels={"app": "web"}, deleting=True)
    assert verdict(*racks, hero("4", affinity=affinity), small("a"), stays).by == "Scheduler"
    assert verdict(*racks, hero("4", affinity=affinity), small("a"), stays, leaves).reason == "NotProven"


def promised(reason: EvictorReason, victims: list[str], *others: Any) -> None:
    """On n0, two CPUs are promised to a plan of ours that the scheduler knows nothing of."""
    objects = [native_group(), node("n0"), hero("2"), pod("w", group="waits", priority=100), *others]
    mirrored = tables(*objects).snapshot()
    held = HeldRoom([("uid-w", "n0", {"cpu": 2000, "pods": 1})], [])
    snapshot = with_promised(mirrored, [held], [])
    preemptor, spec = planned(snapshot)
    found = who_evicts(snapshot, mirrored, preemptor, spec)
    assert (found.reason, names(found.spec)) == (reason, victims)


def test_room_that_is_promised_to_others() -> None:
    promised("PromisedRoom", ["a"], small("a"))
    promised("SameVictims", [])
    promised("PromisedRoom", ["b", "a"], small("a", minute=1), small("b", requests={"cpu": "1500m"}))


def test_a_plan_that_does_not_fix_the_nodes() -> None:
    snapshot = tables(native_group(), node("n0"), hero("4"), small("a")).snapshot()
    preemptor, spec = planned(snapshot)
    spec.placements[0].any_node = True
    assert who_evicts(snapshot, snapshot, preemptor, spec).reason == "NotProven"


def test_a_plan_that_places_nobody_has_no_evictor() -> None:
    snapshot = tables(native_group(), node("n0", cpu="1"), hero("4")).snapshot()
    preemptor, spec = planned(snapshot)
    with pytest.raises(ValueError, match="Unschedulable"):
        who_evicts(snapshot, snapshot, preemptor, spec)


def test_members_beyond_min_count_are_not_placed() -> None:
    """They are held until the others are bound, so the scheduler evicts nobody for them."""
    members = [native_pod(f"m{i}", requests={"cpu": "2"}) for i in range(2)]
    found = verdict(node("n0"), *members, small("a"), small("b", minute=1))
    assert told(found) == ("Scheduler", "SameVictims", [])


def test_a_gang_that_is_bound_already() -> None:
    assert told(verdict(node("n0"), hero("2", node="n0"), small("a"))) == ("Scheduler", "SameVictims", [])


def test_the_decision_for_a_native_gang_says_who_evicts() -> None:
    snapshot = tables(native_group(), node("n0"), hero("4"), small("a")).snapshot()
    spec = group_decision(snapshot, *GANG_KEY).spec
    assert (spec.evicted_by, spec.evictor_reason) == ("Scheduler", "SameVictims")
    spec = group_decision(snapshot, *GANG_KEY, drive=True).spec
    assert (spec.evicted_by, spec.evictor_reason) == ("Reprieve", "DriveMode")


def test_no_other_plan_says_who_evicts() -> None:
    basic = tables(native_group(minimum=0), node("n0"), hero("4")).snapshot()
    assert group_decision(basic, *GANG_KEY).spec.evicted_by is msgspec.UNSET
    ours = tables(gang(minimum=1), node("n0"), member(), small("a")).snapshot()
    spec = group_decision(ours, "default", "gang").spec
    assert (spec.outcome, spec.evicted_by) == ("Preempts", msgspec.UNSET)


def test_a_native_gang_that_fits_nowhere_has_no_evictor() -> None:
    snapshot = tables(native_group(), node("n0", cpu="1"), hero("4")).snapshot()
    assert group_decision(snapshot, *GANG_KEY).spec.evicted_by is msgspec.UNSET

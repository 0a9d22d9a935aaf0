"""Whom kube-scheduler's rule evicts, with the placements of a native gang fixed."""

from __future__ import annotations

from typing import Any

import pytest

from nodes.search.cluster import Cluster, lay_out
from nodes.search.preemptors.preemptor import group_preemptor
from nodes.search.steering.candidates import candidates
from nodes.search.steering.outcomes import outcomes
from nodes.search.steering.protected import protected
from nodes.search.steering.seen import as_seen
from nodes.search.steering.standing import Standing, TooMuchWork
from tests.kit.native_gangs import GANG_KEY, hero, native_group, native_pod, small, started
from tests.kit.objects import BIG, budget, node, pod, tables

BUDGET = {"matchLabels": {"app": "web"}}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "rack",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


def rule(*objects: Any, placed: dict[str, str] | None = None) -> list[list[str]] | None:
    """The names of those who are evicted, by outcome. None: with everybody gone, a member does not fit."""
    snapshot = tables(native_group(), *objects).snapshot()
    preemptor = group_preemptor(snapshot, *GANG_KEY)
    seen = as_seen(snapshot, preemptor.unbound, preemptor.priority)
    found = candidates(seen, preemptor.priority)
    names = {name: row for row, name in enumerate(seen.node_names)}
    pods = {name: row for row, name in enumerate(seen.pod_names)}
    pairs = [(pods[member], names[where]) for member, where in (placed or {"m0": "n0"}).items()]
    standing = Standing(Cluster(seen, preemptor, lay_out(seen, preemptor)), found, pairs)
    if not standing.feasible:
        return None
    lost = outcomes(standing, found, protected(seen, found))
    return sorted(
        [sorted(seen.pod_names[pod] for unit in each for pod in found.members(unit)) for each in lost]
    )


def test_a_unit_goes_back_if_every_member_still_passes() -> None:
    assert rule(node("n0"), hero("4"), small("a"), small("b", "n1"), node("n1")) == [["a"]]
    assert rule(node("n0"), hero("3"), small("a")) == [[]]


def test_the_higher_priority_goes_back_first() -> None:
    assert rule(node("n0"), hero("3"), small("low", priority=1), small("high", priority=2, minute=9)) == [
        ["low"]
    ]


def test_pods_of_the_gangs_priority_or_more_are_no_candidates() -> None:
    assert rule(node("n0"), hero("4"), small("equal", priority=100)) is None
    assert rule(node("n0"), hero("3"), small("equal", priority=100), small("less", priority=99)) == [["less"]]


def test_of_equal_priority_a_native_group_goes_back_before_an_older_pod() -> None:
    group = native_group("web", mode="all", priority=5)
    young = native_pod("young", "web", priority=5, node="n0", started=started(9))
    assert rule(node("n0"), hero("3"), group, young, small("old")) == [["old"]]


def test_a_pod_of_a_native_group_in_single_mode_counts_as_a_group_of_one() -> None:
    """Upstream calls this "not ideal": `NewPodVictim`."""
    group = native_group("web", mode="single", priority=5)
    young = native_pod("young", "web", priority=5, node="n0", started=started(9))
    assert rule(node("n0"), hero("3"), group, young, small("old")) == [["old"]]
    other = native_pod("other", "web", priority=5, node="n0", started=started(1))
    assert rule(node("n0"), hero("3"), group, young, other) == [["young"]]


def test_the_larger_group_goes_back_first() -> None:
    groups = [native_group(name, mode="all", priority=5) for name in ("small", "large")]
    pods = [
        native_pod("s0", "small", priority=5, node="n0", started=started(0)),
        native_pod("l0", "large", priority=5, node="n0", started=started(9)),
        native_pod("l1", "large", priority=5, node="n1", started=started(9)),
    ]
    assert rule(node("n0"), node("n1"), hero("3"), *groups, *pods) == [["s0"]]


def test_the_earlier_start_goes_back_first_and_no_start_last() -> None:
    assert rule(node("n0"), hero("3"), small("late", minute=2), small("early", minute=1)) == [["late"]]
    fresh = small("fresh", started=None, created="2025-01-01T00:00:00Z")
    assert rule(node("n0"), hero("3"), fresh, small("early", minute=1)) == [["fresh"]]


def test_a_group_starts_with_its_oldest_pod() -> None:
    groups = [native_group(name, mode="all", priority=5) for name in ("a", "b")]
    pods = [
        native_pod("a0", "a", priority=5, node="n0", started=started(5)),
        native_pod("a1", "a", priority=5, node="n1", started=started(1)),
        native_pod("b0", "b", priority=5, node="n0", started=started(3)),
        native_pod("b1", "b", priority=5, node="n1", started=started(4)),
    ]
    assert rule(node("n0"), node("n1"), hero("3"), *groups, *pods) == [["b0", "b1"]]


def test_a_native_group_is_evicted_whole_and_others_are_not() -> None:
    ours: dict[str, Any] = {"labels": {"scheduling.x-k8s.io/pod-group": "theirs"}}
    pods = [small("x0", **ours), small("x1", "n1", **ours)]
    assert rule(node("n0"), node("n1"), hero("4"), *pods) == [["x0"]]
    group = native_group("web", mode="all", priority=5)
    pods = [native_pod("w0", "web", priority=5, node="n0"), native_pod("w1", "web", priority=5, node="n1")]
    assert rule(node("n0"), node("n1"), hero("4"), group, *pods) == [["w0", "w1"]]


def test_a_native_groups_priority_replaces_that_of_its_pods() -> None:
    group = native_group("web", mode="single", priority=1)
    assert rule(node("n0"), hero("3"), group, native_pod("w", "web", priority=9, node="n0"), small("a")) == [
        ["w"]
    ]
    group = native_group("web", mode="single", priority=100)
    assert rule(node("n0"), hero("4"), group, native_pod("w", "web", priority=9, node="n0")) is None


def test_a_native_group_without_a_priority_has_zero() -> None:
    group = native_group("web", mode="single", priority=None)
    assert rule(node("n0"), hero("3"), group, native_pod("w", "web", priority=9, node="n0"), small("a")) == [
        ["w"]
    ]


def test_without_its_object_the_pods_of_a_native_group_are_alone() -> None:
    pods = [native_pod(f"w{i}", "gone", priority=5, node=f"n{i}") for i in range(2)]
    assert rule(node("n0"), node("n1"), hero("4"), *pods) == [["w0"]]


def test_who_breaks_a_budget_goes_back_first() -> None:
    web = small("web", priority=1, labels={"app": "web"})
    other = small("other", priority=9)
    assert rule(node("n0"), hero("3"), web, other) == [["web"]]
    assert rule(node("n0"), hero("3"), web, other, budget("b", selector=BUDGET)) == [["other"]]
    assert rule(node("n0"), hero("3"), web, other, budget("b", selector=BUDGET, allowed=1)) == [["web"]]


def test_budgets_are_drawn_on_by_importance_in_the_whole_cluster() -> None:
    """The pod on the other node is more important, so it takes the one disruption. It is not even in the way."""
    web = small("web", priority=1, labels={"app": "web"})
    far = small("far", "n1", priority=2, labels={"app": "web"})
    guard = budget("b", selector=BUDGET, allowed=1)
    found = rule(node("n0"), node("n1"), hero("3"), web, small("other", priority=9), far, guard)
    assert found == [["other"]]


def test_a_group_breaks_a_budget_if_one_of_its_pods_does() -> None:
    group = native_group("web", mode="all", priority=1)
    pods = [native_pod(f"w{i}", "web", priority=1, node=f"n{i}", labels={"app": "web"}) for i in range(2)]
    rest = [node("n0"), node("n1"), hero("3"), group, *pods, small("other", priority=9)]
    assert rule(*rest, budget("b", selector=BUDGET, allowed=1)) == [["other"]]
    assert rule(*rest, budget("b", selector=BUDGET, allowed=2)) == [["w0", "w1"]]


@pytest.mark.parametrize(
    ("guard", "labels"),
    [
        (budget("b", selector={}), {"app": "web"}),
        (budget("b", selector={"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}), None),
        (budget("b", selector=BUDGET, disrupted=["web"]), {"app": "web"}),
    ],
    ids=["empty selector", "no labels", "disrupted already"],
)
def test_budgets_that_the_scheduler_does_not_count(guard: Any, labels: dict[str, str] | None) -> None:
    web = small("web", priority=1, labels=labels)
    assert rule(node("n0"), hero("3"), web, small("other", priority=9), guard) == [["web"]]


def test_a_terminating_pod_keeps_its_room_and_its_importance() -> None:
    """So another pod is evicted, although the room is about to be free."""
    leaving = small("leaving", priority=9, deleting=True)
    assert rule(node("n0"), hero("3"), leaving, small("other", priority=1)) == [["other"]]
    assert rule(node("n0"), hero("4"), small("leaving", priority=100, deleting=True)) is None


def test_nominated_pods_of_the_same_priority_hold_their_room() -> None:
    waits = pod("waits", nominated="n0", priority=100)
    assert rule(node("n0"), hero("3"), small("a"), waits) == [["a"]]
    assert rule(node("n0"), hero("3"), small("a"), pod("waits", nominated="n0", priority=99)) == [[]]
    assert rule(node("n0"), hero("3", nominated="n0"), small("a")) == [[]]


def test_all_members_count() -> None:
    members = [native_pod(f"m{i}", requests={"cpu": "2"}) for i in range(2)]
    placed = {"m0": "n0", "m1": "n1"}
    pods = [
        small("a", requests={"cpu": "3"}),
        small("b", "n1"),
        small("c", "n1", minute=1),
        small("d", "n1", minute=2),
    ]
    assert rule(node("n0"), node("n1"), *members, *pods, placed=placed) == [["a", "d"]]
    assert rule(node("n0"), *members, small("a"), placed={"m0": "n0", "m1": "n0"}) == [["a"]]


def test_only_what_members_request_counts() -> None:
    """A node that is over its memory already refuses nobody who requests none."""
    big = pod("big", node="n0", priority=100, requests={"memory": "9Gi"})
    assert rule(node("n0"), hero("4"), big, small("a")) == [["a"]]


def test_ports_keep_a_pod_away() -> None:
    ports: dict[str, Any] = {"containers": [{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80}]}]}
    listens = pod("listens", node="n0", priority=9, **ports)
    assert rule(node("n0"), native_pod("m0", **ports), listens, small("a", priority=1)) == [["listens"]]


def test_spread_counts_pods_on_other_nodes() -> None:
    """With the first one back, the member's rack would have two more than the other one."""
    nodes = [node("n0", labels={"rack": "a"}), node("n1", labels={"rack": "b"})]
    wants = hero("1", labels={"app": "web"}, topologySpreadConstraints=[SPREAD])
    near = small("near", labels={"app": "web"}, priority=9)
    far = small("far", "n1", labels={"app": "web"}, priority=1)
    assert rule(*nodes, wants, near, far) == [["near"]]
    far.spec.priority = 10
    assert rule(*nodes, wants, near, far) == [[]]


# ---- equals


def test_equals_that_look_alike_have_one_outcome() -> None:
    assert len(rule(node("n0"), hero("3"), small("a"), small("b"), small("c")) or ()) == 1


def test_equals_that_differ_have_an_outcome_for_each_order() -> None:
    large = small("large", requests={"cpu": "2"})
    assert rule(node("n0"), hero("2"), large, small("b"), small("c")) == [["b", "c"], ["large"]]


def test_an_outcome_may_depend_on_equals_that_came_before() -> None:
    large, last = small("large", requests={"cpu": "2"}), small("last", priority=1)
    medium = small("medium", requests={"cpu": "1500m"})
    found = rule(node("n0", cpu="5"), hero("2"), large, medium, last)
    assert found == [["large"], ["medium"]]


def test_equals_on_different_nodes_do_not_disturb_each_other() -> None:
    pods = [small("a"), small("b", "n1", requests={"cpu": "2"}), small("c", requests={"cpu": "500m"})]
    assert rule(node("n0"), node("n1"), hero("2"), *pods) == [[]]


def test_equals_of_which_one_breaks_a_budget_are_not_decided() -> None:
    equals = [small("a", labels={"app": "web"}), small("b", labels={"app": "web"}, requests={"cpu": "2"})]
    with pytest.raises(TooMuchWork):
        rule(node("n0"), hero("3"), *equals, budget("b", selector=BUDGET, allowed=1))


def test_two_budgets_of_one_pod_are_not_decided() -> None:
    """Upstream reads budgets in no order, and stops at the first one that is broken."""
    both = small("both", labels={"app": "web"})
    guards = [budget("b", selector=BUDGET), budget("c", selector=BUDGET, allowed=1)]
    with pytest.raises(TooMuchWork):
        rule(node("n0"), hero("4"), both, *guards)


def test_too_many_orders_are_not_decided() -> None:
    pods = [small(f"p{i}", requests={"cpu": f"{1000 + i}m"}) for i in range(12)]
    with pytest.raises(TooMuchWork):
        rule(node("n0", cpu="12"), hero("6"), *pods)


def test_a_whole_node() -> None:
    assert rule(node("n0"), native_pod("m0", requests=BIG), small("a"), small("b", priority=9)) == [
        ["a", "b"]
    ]

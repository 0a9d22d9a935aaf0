"""What would happen if pods were submitted, and what becomes of their victims."""

from __future__ import annotations

import pytest

from api.core import Node, Pod
from api.groups import PodGroup
from nodes.answers.consequences import Tried, consequences, submit, without_pods
from nodes.search.preemptors.preemptor import DecisionError
from nodes.search.preemptors.supposed import SupposedPods, WorkloadName
from nodes.state.snapshot import Snapshot
from tests.kit.objects import GANG, gang, node, pod, tables

Thing = Node | Pod | PodGroup
NAME = WorkloadName("apps/v1", "default", "web", "uid-web")


def sets(count: int, *, name: str = "web", cpu: str = "1", **more: object) -> list[SupposedPods]:
    template = pod(name, requests={"cpu": cpu}, **more)  # type: ignore[arg-type]
    return [SupposedPods(name, count, template)]


def tried(pods: list[SupposedPods], *things: Thing, group: PodGroup | None = None) -> Tried:
    return submit(tables(*things).snapshot(), NAME, pods, group)


def test_what_fits_runs_and_takes_its_room() -> None:
    found = tried(sets(2), node("n", cpu="4"))
    assert (found.running, found.why_not, found.spec.outcome) == (2, "", "Fits")
    again = submit(found.after, NAME, sets(3, name="more"), None)
    assert (again.running, "Insufficient cpu" in again.why_not) == (2, True)


def test_pods_without_a_gang_run_as_far_as_they_fit() -> None:
    found = tried(sets(5), node("a", cpu="2"), node("b", cpu="1"))
    assert (found.pods, found.running) == (5, 3)
    assert "3 of 5 pods fit" in found.why_not
    assert tried(sets(1), node("a", cpu="0")).running == 0


def test_a_gang_runs_whole_or_not_at_all() -> None:
    group = gang(minimum=3)
    members = sets(3, name="m", group=GANG, priority=None)
    assert tried(members, group, node("n", cpu="2"), group=group).running == 0
    found = tried(members, group, node("n", cpu="3"), group=group)
    assert (found.running, found.spec.preemptor.kind) == (3, "PodGroup")


def test_a_gang_whose_priority_class_does_not_exist_is_refused_with_its_field() -> None:
    group = gang(minimum=1)
    group.spec.priority, group.spec.priority_class_name = None, "none"
    with pytest.raises(
        DecisionError, match=r"PodGroup default/.*spec.priorityClassName: there is no .* 'none'"
    ):
        tried(sets(1, name="m", group=GANG), group, node("n", cpu="3"), group=group)


def test_members_that_exist_already_count() -> None:
    group = gang(minimum=3)
    old = [pod("m-0", group=GANG, node="n"), pod("m-1", group=GANG)]
    members = sets(1, name="m", group=GANG)
    found = tried(members, group, node("n", cpu="3"), *old, group=group)
    assert found.running == 1
    assert found.spec.placements[0].uid == "uid-default-m-1"
    few = tried(members, group, node("n", cpu="3"), old[0], group=group)
    assert (few.running, few.why_not) == (0, "2 of 3 members exist")


def test_more_than_min_count_take_what_is_free() -> None:
    group = gang(minimum=1)
    found = tried(sets(2, name="m", group=GANG), group, node("n", cpu="1"), group=group)
    assert (found.running, "beyond minCount" in found.why_not) == (1, True)


def evicting(*things: Thing) -> Tried:
    """A pod of priority 100 that needs node `full`, all of it."""
    return tried(sets(1, cpu="2", priority=100, nodeSelector={"only": "full"}), *things)


def full() -> Node:
    return node("full", cpu="2", labels={"only": "full"})


def test_victims_are_looked_at_in_the_room_that_is_left() -> None:
    low = [pod(f"low-{each}", node="full", priority=each, controller="rs") for each in range(2)]
    spare = node("spare", cpu="1")
    found = evicting(full(), spare, *low)
    assert (found.running, len(found.spec.victims)) == (1, 2)
    becomes = consequences(found.after, found.spec, lambda _: True)
    # Each is looked at alone: both fit on the node that has room for one.
    assert [each.fits for each in becomes] == [True, True]
    assert "on node spare without evictions" in becomes[0].sentence


def test_a_victim_may_evict_others() -> None:
    victim = pod("mid", node="full", requests={"cpu": "2"}, priority=50, controller="rs")
    lowest = pod("lowest", node="other", requests={"cpu": "2"}, priority=1)
    found = evicting(full(), node("other", cpu="2"), victim, lowest)
    (becomes,) = consequences(found.after, found.spec, lambda _: True)
    assert (becomes.fits, becomes.would_evict) == (True, ("Pod default/lowest, priority 1",))


def test_a_victim_that_fits_nowhere_waits_and_one_without_owner_is_gone() -> None:
    victim = pod("mid", node="full", requests={"cpu": "2"}, priority=50)
    found = evicting(full(), victim)
    (waits,) = consequences(found.after, found.spec, lambda _: True)
    assert (waits.fits, "does not fit anywhere" in waits.sentence) == (False, True)
    (gone,) = consequences(found.after, found.spec, lambda _: False)
    assert gone.sentence == "It is gone for good: it is not created again."


def test_a_gang_that_is_evicted_is_planned_whole() -> None:
    whole = gang(minimum=2, mode="all", has_run=True)
    members = [pod(f"m-{each}", node="full", group=GANG, priority=50) for each in range(2)]
    found = tried(sets(1, cpu="2", priority=200), whole, full(), *members)
    (becomes,) = consequences(found.after, found.spec, lambda _: True)
    assert becomes.unit == "PodGroup default/gang with 2 pods, priority 50"
    assert not becomes.fits
    things: list[Thing] = [whole, full(), node("spare", cpu="2"), *members]
    roomy = tried(sets(1, cpu="2", priority=200, nodeSelector={"only": "full"}), *things)
    (becomes,) = consequences(roomy.after, roomy.spec, lambda _: True)
    assert "on node spare without evictions" in becomes.sentence


def test_pods_of_a_group_of_another_kind_are_planned_together() -> None:
    owner = ("kubeflow.org/v1", "PyTorchJob", "train")
    members = [pod(f"w-{each}", node="full", owner=owner, priority=1) for each in range(2)]
    found = evicting(full(), node("spare", cpu="1"), *members)
    (becomes,) = consequences(found.after, found.spec, lambda _: True)
    assert becomes.unit.startswith("PodGroup default/PyTorchJob.kubeflow.org:train")
    assert not becomes.fits


def test_victims_beyond_a_bound_are_counted() -> None:
    low = [pod(f"low-{each:02}", node="full", requests={"cpu": "10m"}) for each in range(32)]
    found = evicting(full(), *low)
    becomes = consequences(found.after, found.spec, lambda _: False)
    assert (len(becomes), becomes[-1].unit) == (31, "2 more units")


def test_pods_that_are_taken_out_leave_their_room() -> None:
    taken: Snapshot = tables(
        node("n", cpu="1"), pod("a", node="n"), pod("b", node="n", deleting=True)
    ).snapshot()
    after = without_pods(taken, ["uid-default-a", "uid-default-b", "unknown"])
    assert (int(after.used.sum()), int(after.leaving.sum())) == (0, 0)
    assert submit(after, NAME, sets(1), None).running == 1


def test_the_later_of_two_may_evict_the_earlier() -> None:
    first = tried(sets(1, name="first"), node("n", cpu="1"))
    second = submit(first.after, NAME, sets(1, name="second", priority=9), None)
    assert [pod.name for victim in second.spec.victims for pod in victim.pods] == ["first-0"]
    assert int((second.after.pod_node >= 0).sum()) == 1

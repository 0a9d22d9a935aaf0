"""kube-scheduler's own groups beside units that it does not know, with `planning.nativeGroups: Off`.

Alone, the scheduler evicts one pod of a unit, and binds one of two members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hack.controlplane.client import Client
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.other_kinds import NATIVE, create, object_of
from tests.e2e.support import Sandbox, condition, wait_for
from tests.kit.versions import needs

pytestmark = needs(NATIVE, "it has no groups that reprieve reads")


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    return start_plane(
        Options(
            reprieve=True,
            feature_gates={"GenericWorkload": True},
            runtime_config={NATIVE: True},
            reprieve_settings={"planning": {"nativeGroups": "Off"}},
        )
    )


@pytest.fixture
def sandbox(plane: ControlPlane, sandboxes: Callable[[ControlPlane | Client], Sandbox]) -> Iterator[Sandbox]:
    made = sandboxes(plane)
    yield made
    made.remove()


def native(sandbox: Sandbox, name: str, count: int, *, minimum: int, **pod: Any) -> list[str]:
    """A group of the scheduler's own kind, a basic one if the minimum is 0, and its pods of priority 1000."""
    policy = {"gang": {"minCount": minimum}} if minimum else {"basic": {}}
    spec = {"schedulingPolicy": policy, "priorityClassName": sandbox.priority(1000)}
    create(sandbox, NATIVE, "PodGroup", name, spec)
    return sandbox.pods(name, count, priority=1000, schedulingGroup={"podGroupName": name}, **pod)


def wait_attempts(sandbox: Sandbox, name: str) -> None:
    """Until the scheduler has tried the group, and has found no place for it."""

    def said() -> bool:
        found = condition(object_of(sandbox, NATIVE, "PodGroup", name), "PodGroupInitiallyScheduled")
        return found is not None and found["status"] == "False"

    wait_for(said, what=lambda: sandbox.report())


def test_a_native_gang_breaks_no_unit(sandbox: Sandbox) -> None:
    """All three pods go, or none does. The single pod goes, as the scheduler decides."""
    sandbox.nodes(3, cpu="1")
    ring = sandbox.gang("ring", 3, priority=10, mode="all")
    sandbox.wait_running(*ring)
    [hero] = native(sandbox, "hero", 1, minimum=1)
    wait_attempts(sandbox, "hero")
    assert sandbox.history.evictions() in ({}, dict.fromkeys(ring, 1))
    sandbox.filler("single", sandbox.node("more", cpu="1"), 1)
    sandbox.wait_bound(hero)
    evicted = sandbox.history.evictions()
    assert evicted in ({"single-0": 1}, dict.fromkeys(ring, 1))


def test_a_pod_of_a_basic_native_group_takes_a_unit_whole(sandbox: Sandbox) -> None:
    """The scheduler never asks preempt for it. The pod has no other node, so it gets a plan."""
    sandbox.nodes(3, cpu="1")
    ring = sandbox.gang("ring", 3, priority=10, mode="all")
    sandbox.wait_running(*ring)
    [hero] = native(sandbox, "hero", 1, minimum=0)
    sandbox.wait_bound(hero)
    assert sandbox.history.evictions() == dict.fromkeys(ring, 1)
    assert sandbox.wait_plan(hero, "Bound")["spec"]["preemptor"]["kind"] == "Pod"


def test_free_room_beside_a_unit_is_used_as_far_as_it_goes(sandbox: Sandbox) -> None:
    """Three nodes have room for one member each. For four there would be room only without the unit."""
    sandbox.group("ring", min_count=3, mode="all", priority=10)
    for number, node in enumerate(sandbox.nodes(3, cpu="2")):
        sandbox.filler(f"ring-{number}", node, 1, group="ring")
    native(sandbox, "four", 4, minimum=4)
    wait_attempts(sandbox, "four")
    three = native(sandbox, "three", 3, minimum=3)
    sandbox.wait_bound(*three)
    assert sandbox.history.evictions() == {}


def test_a_gang_whose_pods_are_in_a_basic_native_group_is_bound_whole_or_not_at_all(sandbox: Sandbox) -> None:
    """As a Job's pods will be with WorkloadWithJob."""
    [single] = sandbox.filler("single", sandbox.node("full", cpu="1"), 1)
    spec = {"schedulingPolicy": {"basic": {}}, "priorityClassName": sandbox.priority(1000)}
    create(sandbox, NATIVE, "PodGroup", "job", spec)
    gang = sandbox.gang("gang", 2, priority=1000, schedulingGroup={"podGroupName": "job"})
    wait_for(lambda: sandbox.events("Unschedulable", "gang"), what=lambda: sandbox.report())
    wait_attempts(sandbox, "job")
    assert (sandbox.history.evictions(), set(sandbox.bound())) == ({}, {single})
    sandbox.nodes(2, cpu="1")
    sandbox.wait_bound(*gang)
    assert sandbox.history.evictions() == {}
    assert not sandbox.events("PodGroupAmbiguous", gang[0])


def test_a_gang_whose_pods_are_in_a_basic_native_group_evicts_by_a_plan(sandbox: Sandbox) -> None:
    """The scheduler shows its nodes in filter calls only: it never asks preempt for these pods."""
    sandbox.full_nodes(2)
    spec = {"schedulingPolicy": {"basic": {}}, "priorityClassName": sandbox.priority(1000)}
    create(sandbox, NATIVE, "PodGroup", "job", spec)
    gang = sandbox.gang("gang", 2, priority=1000, schedulingGroup={"podGroupName": "job"})
    sandbox.wait_bound(*gang)
    assert sandbox.history.evictions() == {"low-0-0": 1, "low-1-0": 1}
    sandbox.wait_plan("gang", "Bound")

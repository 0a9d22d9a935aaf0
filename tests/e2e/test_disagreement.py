"""The scheduler, or the owners of victims, disagree with our model: nobody is evicted in vain, or few are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from hack.controlplane.client import Client, Json
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.others import OTHER_SCHEDULER, deployment, other_scheduler, remove_deployments
from tests.e2e.picky import PICKY, PROFILES, refuse
from tests.e2e.support import Sandbox, condition, wait_for
from tests.kit.often import SELDOM

PLANNING = {"confirmationSeconds": 2, "overdueSeconds": 3, "backoffInitialSeconds": 2}
QUIET_SECONDS = 3.0
"""How long nothing may be evicted once the status of the gang says why."""
VAIN_SECONDS = 8.0
"""A planner that learns nothing evicts many pods in this time."""


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A plane whose scheduler has a picky profile. Tests may restart reprieve."""
    return start_plane(
        Options(
            reprieve=True,
            reprieve_settings={"planning": PLANNING},
            scheduler_settings={"profiles": PROFILES},
        )
    )


@pytest.fixture
def sandbox(plane: ControlPlane, sandboxes: Callable[[ControlPlane | Client], Sandbox]) -> Iterator[Sandbox]:
    made = sandboxes(plane)
    yield made
    remove_deployments(made)
    made.remove()


def excluded(plan: Json) -> set[str]:
    """The nodes that the plan leaves out because of what was seen."""
    return {each["node"] for each in plan["spec"].get("excluded", ())}


def placed(plan: Json) -> set[str]:
    """The nodes that the plan uses."""
    return {each["node"] for each in plan["spec"]["placements"]}


def test_a_profile_refuses_all_planned_nodes(sandbox: Sandbox) -> None:
    """Nobody is evicted, although the nodes changed right before: the gang is bound once there are other nodes."""
    for number, node in enumerate(sandbox.nodes(2, cpu="1")):
        refuse(sandbox, node)
        deployment(sandbox, f"low-{number}")
    members = sandbox.gang("hero", 2, priority=100, schedulerName=PICKY)
    wait_for(lambda: reason(sandbox), what=sandbox.report)
    sandbox.watch_quietly(QUIET_SECONDS, *members)
    sandbox.node("free-0", cpu="1")
    sandbox.node("free-1", cpu="1")
    sandbox.wait_bound(*members)
    assert sandbox.history.evicted() == []


def test_a_profile_refuses_one_node_of_a_gang_that_preempts(sandbox: Sandbox) -> None:
    """The node is never planned again, and the victim there stays."""
    nodes = sandbox.nodes(3, cpu="1")
    refuse(sandbox, nodes[0])
    for number, node in enumerate(nodes):
        sandbox.filler(f"low-{number}", node, 1, priority=10 + number)
    members = sandbox.gang("hero", 2, priority=100, schedulerName=PICKY)
    bound = sandbox.wait_bound(*members)
    assert {bound[member] for member in members} == set(nodes[1:])
    assert sandbox.history.evictions() == {"low-1-0": 1, "low-2-0": 1}
    plans = sandbox.plans("hero")
    assert [nodes[0] in placed(plan) for plan in plans] == [True, False], "planned there once"
    assert excluded(plans[-1]) == {nodes[0]}


def test_a_profile_refuses_one_node_of_a_gang_that_fits(sandbox: Sandbox) -> None:
    """The gang is whole in the end, on the other nodes, and the node is never planned again."""
    nodes = sandbox.nodes(3, cpu="1")
    refuse(sandbox, nodes[0])
    members = sandbox.gang("hero", 2, priority=100, schedulerName=PICKY)
    bound = sandbox.wait_bound(*members)
    assert {bound[member] for member in members} == set(nodes[1:])
    plans = sandbox.plans("hero")
    assert [nodes[0] in placed(plan) for plan in plans] == [True, False], "planned there once"
    assert excluded(plans[-1]) == {nodes[0]}


def test_nobody_schedules_the_members(sandbox: Sandbox) -> None:
    """The condition says so, nobody is evicted, and others get the room that was held."""
    sandbox.full_nodes(2)
    members = sandbox.gang("hero", 2, priority=100, schedulerName="nobody")
    sandbox.wait_plan("hero")
    sandbox.pod("ordinary", priority=50)
    wait_for(lambda: sandbox.events("PreemptionRefused", "ordinary"), what="its room is not held")
    wait_for(lambda: reason(sandbox) == "NotAttempted", what=sandbox.report)
    assert not set(sandbox.history.evicted()) - {"low-0-0", "low-1-0"}
    sandbox.wait_bound("ordinary")
    assert len(sandbox.history.evicted()) == 1, (
        "the scheduler evicts one for the ordinary pod, we evict nobody"
    )
    assert not any(condition(plan, "Evicting") for plan in sandbox.plans("hero"))
    assert not set(members) & sandbox.bound().keys()


def reason(sandbox: Sandbox) -> str | None:
    """Why the gang is not scheduled, by its condition."""
    group = sandbox.client.get("reprieve.dev/v1alpha1", "PodGroup", "hero", sandbox.namespace)
    said = condition(group, "PodGroupInitiallyScheduled")
    return said["reason"] if said is not None else None


@pytest.mark.parametrize("how", ["nodeName", pytest.param("another scheduler", marks=SELDOM)])
def test_victims_come_back_where_they_were(sandbox: Sandbox, how: str) -> None:
    """At most two plans evict in vain. Then the gang takes room that is free, and evicts nobody."""
    nodes = sandbox.nodes(4, cpu="1")
    with other_scheduler(sandbox, nodes):
        for number, node in enumerate(nodes):
            where: dict[str, Any] = {"node_name": node}
            if how == "another scheduler":  # the victims linger, so that it comes before the gang
                where = {"schedulerName": OTHER_SCHEDULER, "finalizers": ["reprieve.dev/linger"]}
            deployment(sandbox, f"low-{number}", **where)
        members = sandbox.gang("hero", 1, priority=100)
        wait_for(sandbox.history.evicted, what=sandbox.report)
        time.sleep(VAIN_SECONDS)
        evicted = sandbox.history.evicted()
        assert len(evicted) <= 2, sandbox.report()
        if members[0] not in sandbox.bound():
            remove_deployments(sandbox, "low-0")
        sandbox.wait_bound(*members)
        assert sandbox.history.evicted() == evicted


def test_what_was_evicted_in_vain_is_known_after_a_kill(sandbox: Sandbox, plane: ControlPlane) -> None:
    """Twice a pod with a nodeName, which no scheduler sees, takes the room while the victim lingers.

    Then nothing is evicted for the gang, and nothing on these nodes. The next process knows both.
    """
    nodes = sandbox.nodes(4, cpu="1")
    low = {
        sandbox.filler(f"low-{number}", node, 1, finalizers=["reprieve.dev/linger"])[0]: node
        for number, node in enumerate(nodes)
    }
    member = sandbox.gang("hero", 1, priority=100)[0]
    for count in (1, 2):
        (victim,) = newly_evicted(sandbox, low)
        sandbox.filler(f"other-{count}", low.pop(victim), 1, priority=5)
        sandbox.release(victim)
        wait_for(lambda count=count: in_vain(sandbox) == count, what=sandbox.report)  # type: ignore[misc] # a default of a lambda has no type
    evicted = sandbox.history.evicted()
    wait_for(lambda: reason(sandbox) == "EvictedInVain", what=sandbox.report)
    plane.reprieve.kill()
    plane.start_reprieve()
    nobody_goes(sandbox, evicted, member)
    said = sandbox.wait_condition("PodGroup", "hero", "PodGroupInitiallyScheduled", "False")
    assert said["reason"] == "EvictedInVain"
    assert "2 plans for it evicted pods in vain" in said["message"]
    for name in low:
        sandbox.release(name)
    second = sandbox.gang("second", 1, priority=50)[0]
    assert sandbox.wait_bound(second)[second] in low.values(), (
        "others are worth less, but on nodes to be spared"
    )
    free = sandbox.node("free", cpu="1")
    assert sandbox.wait_bound(member)[member] == free, "it takes free room"
    assert len(sandbox.history.evicted()) == 3


def newly_evicted(sandbox: Sandbox, low: Iterable[str]) -> set[str]:
    """Those of the given pods that have been evicted, once there is one."""
    return wait_for(lambda: set(sandbox.history.evicted()) & set(low), what=sandbox.report)


def in_vain(sandbox: Sandbox) -> int:
    """How many plans of the gang have the verdict."""
    plans = sandbox.plans("hero")
    return sum((condition(plan, "InVain") or {"status": ""})["status"] == "True" for plan in plans)


def nobody_goes(sandbox: Sandbox, evicted: list[str], member: str) -> None:
    """For a time in which a pod would be evicted without the rule."""
    until = time.monotonic() + VAIN_SECONDS
    while time.monotonic() < until:
        assert sandbox.history.evicted() == evicted, sandbox.report()
        assert member not in sandbox.bound()
        time.sleep(0.5)


def test_a_victim_that_never_goes_counts_as_staying(sandbox: Sandbox) -> None:
    """Another one goes instead, and it is not named again."""
    first, second = sandbox.nodes(2, cpu="1")
    sandbox.filler("stuck", first, 1, priority=5, finalizers=["reprieve.dev/linger"])
    sandbox.filler("low", second, 1, priority=10)
    members = sandbox.gang("hero", 1, priority=100)
    bound = sandbox.wait_bound(*members)
    assert bound[members[0]] == second
    assert sandbox.history.evictions() == {"stuck-0": 1, "low-0": 1}
    last = sandbox.wait_plan("hero", "Bound")
    assert [victim["name"] for victim in last["spec"]["victims"]] == ["low-0"]


@pytest.fixture
def slow_evictions(plane: ControlPlane) -> Iterator[None]:
    """reprieve waits after each eviction."""
    restart(plane, {"REPRIEVE_FAILPOINTS": "evict.between=1s"})
    yield
    restart(plane, {})


def restart(plane: ControlPlane, environment: dict[str, str]) -> None:
    """A new process of reprieve."""
    plane.reprieve.stop()
    plane.reprieve.environment = environment
    plane.start_reprieve()


def test_the_preemptor_is_deleted_in_mid_eviction(sandbox: Sandbox, slow_evictions: None) -> None:
    """A unit that has begun to go goes whole."""
    sandbox.group("victims", min_count=4, priority=10, mode="all")
    names = [
        sandbox.filler(f"v-{n}", node, 1, group="victims")[0]
        for n, node in enumerate(sandbox.nodes(4, cpu="1"))
    ]
    sandbox.gang("hero", 1, priority=100)
    wait_for(sandbox.history.evicted, what=sandbox.report)
    assert len(sandbox.list_pods()) > 1, "the eviction is over already"
    sandbox.delete_group("hero")
    sandbox.wait_gone(*names)
    assert sandbox.history.evictions() == dict.fromkeys(names, 1)


def test_who_called_while_reprieve_was_away_is_tried_again(sandbox: Sandbox, plane: ControlPlane) -> None:
    """The scheduler's own flush is far away, and nothing else happens in the cluster."""
    sandbox.full_nodes(1)
    plane.reprieve.stop()
    sandbox.pod("ordinary", priority=100)
    wait_for(lambda: condition(sandbox.get_pod("ordinary") or {}, "PodScheduled"), what="it was not tried")
    sandbox.watch_quietly(1, "ordinary")
    plane.start_reprieve()
    sandbox.wait_bound("ordinary")
    assert sandbox.history.evictions() == {"low-0-0": 1}

"""Gangs of kube-scheduler's own kind with `planning.nativeGroups: Steer`: the scheduler evicts where the plan says.

See `controllers.gangs.lifecycle.steered`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from hack.controlplane.client import Client, Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.native_modes import use_mode
from tests.e2e.other_kinds import NATIVE
from tests.e2e.steering import HIGH, SEVERAL_ATTEMPTS_SECONDS, Steering, marks, steered_in, victims
from tests.e2e.support import Sandbox, condition, names, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM
from tests.kit.versions import needs

pytestmark = needs(NATIVE, "it has no groups that reprieve reads")


@pytest.fixture(scope="module")
def plane(native_plane: ControlPlane) -> ControlPlane:
    """Its scheduler places Kubernetes' own PodGroups, and reprieve steers it."""
    use_mode(native_plane, "Steer")
    return native_plane


@pytest.fixture
def steering(
    plane: ControlPlane, sandboxes: Callable[[ControlPlane | Client], Sandbox]
) -> Iterator[Steering]:
    with steered_in(plane, sandboxes(plane)) as steering:
        yield steering


def nominated_first(sandbox: Sandbox, *pods: str) -> bool:
    """Whether each of the pods was nominated before anybody had a mark. A plan is stored before that."""
    nominated: set[str] = set()
    for _, pod in sandbox.history.all():
        if condition(pod, "DisruptionTarget"):
            return nominated >= {*pods}
        if pod["status"].get("nominatedNodeName"):
            nominated.add(pod["metadata"]["name"])
    return False


def check_steered(steering: Steering, name: str, pods: list[str]) -> Json:
    """The gang is bound by one steered plan, as that says. Returns the plan."""
    sandbox = steering.sandbox
    where = sandbox.wait_bound(*pods)
    plan = steering.plan(name, "Bound")
    assert plan["spec"]["evictedBy"] == "Scheduler"
    assert {each["pod"]: each["node"] for each in plan["spec"]["placements"]} == {
        pod: where[pod] for pod in pods
    }
    assert sandbox.history.evictions() == victims(plan)
    assert set(marks(sandbox).values()) == {"kube-scheduler"}
    assert marks(sandbox).keys() == victims(plan).keys()
    assert not plan["status"].get("unplanned")
    assert steering.phases(plan) == ["Planned", "Evicting", "Ready", "Bound"]
    assert nominated_first(sandbox, *pods)
    return plan


def test_the_scheduler_evicts_what_the_plan_says(steering: Steering) -> None:
    """Three nodes of five: one has a pod of lower priority than the others, and two have a native group."""
    sandbox = steering.sandbox
    nodes = sandbox.nodes(5, cpu="1")
    unit = steering.unit("unit", *nodes[:2])
    cheap = sandbox.filler("cheap", nodes[2], 1, priority=5)
    for number, node in enumerate(nodes[3:]):
        sandbox.filler(f"dear-{number}", node, 1, priority=20)
    sandbox.wait_running(*unit)
    plan = check_steered(steering, "gang", steering.gang("gang", 3))
    assert victims(plan).keys() == {*unit, *cheap}
    assert plan["spec"]["evictorReason"] == "SameVictims"


def test_it_evicts_the_least_number_of_groups(steering: Steering) -> None:
    """Eight groups lie across sixteen nodes. Nodes taken at random would belong to two groups in 2 of 100 cases."""
    sandbox = steering.sandbox
    nodes = sandbox.nodes(16, cpu="1")
    units = [steering.unit(f"unit-{number}", nodes[number], nodes[number + 8]) for number in range(8)]
    sandbox.wait_running(*[pod for unit in units for pod in unit])
    plan = check_steered(steering, "gang", steering.gang("gang", 4))
    assert len(plan["spec"]["victims"]) == 2


def test_nothing_is_evicted_for_one_that_does_not_fit(steering: Steering) -> None:
    sandbox = steering.sandbox
    sandbox.full_nodes(2)
    pods = steering.gang("gang", 3)
    steering.plan("gang", "Unschedulable")
    wait_for(lambda: steering.tried("gang"), what=sandbox.report)
    sandbox.watch_quietly(SEVERAL_ATTEMPTS_SECONDS, *pods)


def test_nothing_is_evicted_for_members_beyond_min_count(steering: Steering) -> None:
    """The scheduler alone evicts two pods for them, 50 ms after the first two are bound."""
    sandbox = steering.sandbox
    sandbox.full_nodes(2)
    free = [sandbox.node(f"free-{number}", cpu="1") for number in range(2)]
    pods = steering.gang("gang", 4, 2)
    wait_for(lambda: len(sandbox.bound().keys() & {*pods}) == 2, what=sandbox.report)
    sandbox.watch_quietly(SEVERAL_ATTEMPTS_SECONDS)
    there = sandbox.bound()
    assert sorted(there[each] for each in pods if each in there) == sorted(free)


def test_a_group_that_the_scheduler_does_not_know_is_taken_whole_by_us(steering: Steering) -> None:
    sandbox = steering.sandbox
    sandbox.nodes(3, cpu="1")
    ours = sandbox.gang("ours", 3, priority=10, mode="all")
    sandbox.wait_running(*ours)
    sandbox.wait_bound(*steering.gang("gang", 1))
    plan = steering.plan("gang", "Bound")
    assert (plan["spec"]["evictedBy"], plan["spec"]["evictorReason"]) == ("Reprieve", "UnknownUnit")
    assert sandbox.history.evictions() == dict.fromkeys(ours, 1)
    assert "kube-scheduler" not in marks(sandbox).values()


@SELDOM
def test_lost_answers_change_no_victim(steering: Steering) -> None:
    """Each member is nominated, so the scheduler goes by the nomination where it gets no answer."""
    sandbox = steering.sandbox
    cheap = three_cheap_nodes(sandbox)
    steering.restart("verb.filter=300ms")
    before = lost_answers(steering.plane)
    pods = steering.gang("gang", 3)
    wait_for(lambda: is_open(sandbox, *pods), what=sandbox.report)
    steering.plane.reprieve.pause()
    wait_for(lambda: lost_answers(steering.plane) > before, what="no answer is lost")
    steering.plane.reprieve.resume()
    assert victims(check_steered(steering, "gang", pods)).keys() == cheap


def three_cheap_nodes(sandbox: Sandbox) -> set[str]:
    """Six full nodes. Returns the pods of lower priority, which are on three of them."""
    for number, node in enumerate(sandbox.nodes(6, cpu="1")):
        sandbox.filler(f"low-{number}", node, 1, priority=10 + 10 * (number % 2))
    return {"low-0-0", "low-2-0", "low-4-0"}


def lost_answers(plane: ControlPlane) -> int:
    """How many filter calls the scheduler went on without."""
    return (plane.layout.logs / "kube-scheduler.log").read_text().count("ignorable flag set")


def is_open(sandbox: Sandbox, *pods: str) -> bool:
    """Whether the scheduler may try these members: each is nominated and has no gate."""
    found = [sandbox.get_pod(pod) or {"spec": {}, "status": {}} for pod in pods]
    return all(
        "schedulingGates" not in pod["spec"] and pod["status"].get("nominatedNodeName") for pod in found
    )


def test_nothing_is_evicted_by_a_plan_that_ends_before_its_hand_over(steering: Steering) -> None:
    """A member goes while the members are being nominated."""
    sandbox = steering.sandbox
    steering.restart("plan.nominated=2s")
    sandbox.full_nodes(2)
    pods = steering.gang("gang", 2)
    steering.plan("gang", "Planned")
    sandbox.delete_pod(pods[0])
    steering.plan("gang", "Aborted")
    sandbox.watch_quietly(SEVERAL_ATTEMPTS_SECONDS, *pods)


def test_a_plan_that_ends_in_the_middle_of_a_pass_evicts_nobody(steering: Steering) -> None:
    """Filter takes its time. The members have been offered their nodes in part when one of them goes."""
    sandbox = steering.sandbox
    low = [f"low-{number}-0" for number, _ in enumerate(sandbox.full_nodes(4))]
    steering.restart("verb.filter=400ms")
    pods = steering.gang("gang", 4)
    wait_for(lambda: is_open(sandbox, *pods), what=sandbox.report)
    sandbox.delete_pod(pods[3])
    steering.plan("gang", "Aborted")
    sandbox.watch_quietly(SEVERAL_ATTEMPTS_SECONDS, *pods[:3])
    assert sandbox.history.evictions() == {}
    again = sandbox.pod("gang-3", priority=HIGH, schedulingGroup={"podGroupName": "gang"})
    sandbox.wait_bound(*pods[:3], again)
    assert sandbox.history.evictions() == dict.fromkeys(low, 1)


PLACES: Final = ("plan.nominated", "plan.offered_twice", "plan.evicting", "plan.ready")


@pytest.mark.parametrize(
    "place", ["plan.handed_over", *(pytest.param(each, marks=SELDOM) for each in PLACES)]
)
def test_killed_at_any_place_a_steered_plan_is_carried_out_once(steering: Steering, place: str) -> None:
    """All members are nominated. If the process dies in the simulated pass, the rest of it gets no answers."""
    sandbox = steering.sandbox
    cheap = three_cheap_nodes(sandbox)
    pods, written = killed(steering, place, 3)
    sandbox.wait_bound(*pods)
    assert steering.plan("gang", "Bound")["metadata"]["name"] == written
    assert sandbox.history.evictions() == dict.fromkeys(cheap, 1)
    assert set(marks(sandbox).values()) == {"kube-scheduler"}


def killed(steering: Steering, place: str, members: int) -> tuple[list[str], str]:
    """The process is killed at this failpoint, and then there is another one. Returns the gang's pods, and the plan
    that was stored at that time.
    """
    steering.restart(f"{place}=kill")
    pods = steering.gang("gang", members)
    steering.plane.reprieve.wait(PATIENCE_SECONDS)
    [written] = names(steering.sandbox.plans("podgroups.scheduling.k8s.io:gang"))
    steering.restart()
    return pods, written


@SELDOM
def test_killed_in_the_middle_of_a_real_pass_it_is_carried_out_once(steering: Steering) -> None:
    """Two members pass in it, because two of the nodes are free."""
    sandbox = steering.sandbox
    sandbox.full_nodes(1)
    for number in range(2):
        sandbox.node(f"free-{number}", cpu="1")
    pods, _ = killed(steering, "plan.offered_twice", 3)
    sandbox.wait_bound(*pods)
    steering.plan("gang", "Bound")
    assert sandbox.history.evictions() == {"low-0-0": 1}


@pytest.mark.parametrize("members", [3, pytest.param(1, marks=SELDOM)])
def test_killed_before_the_nominations_no_more_pods_are_evicted_than_are_needed(
    steering: Steering, members: int
) -> None:
    """The gates have gone, and nobody answers filter. The scheduler evicts by its own rule, and that room is used."""
    sandbox = steering.sandbox
    sandbox.full_nodes(6)
    pods, _ = killed(steering, "plan.committed", members)
    sandbox.wait_bound(*pods)
    steering.plan("gang", "Bound")
    gone = sandbox.history.evictions()
    assert (len(gone), {*gone.values()}) == (members, {1})
    assert set(marks(sandbox).values()) == {"kube-scheduler"}


@SELDOM
@pytest.mark.parametrize("place", ["evict.marked", "evict.between"])
def test_killed_at_any_place_a_driven_plan_is_carried_out_once(steering: Steering, place: str) -> None:
    """Once its evictions have begun."""
    sandbox = steering.sandbox
    sandbox.nodes(3, cpu="1")
    ours = sandbox.gang("ours", 3, priority=10, mode="all")
    sandbox.wait_running(*ours)
    pods, written = killed(steering, place, 1)
    sandbox.wait_bound(*pods)
    sandbox.wait_gone(*ours)
    assert steering.plan("gang", "Bound")["metadata"]["name"] == written
    assert sandbox.history.evictions() == dict.fromkeys(ours, 1)


@SELDOM
@pytest.mark.parametrize("place", ["plan.committed", "plan.confirmed", "plan.nominated", "plan.evicting"])
def test_killed_before_that_the_scheduler_may_break_the_unit_and_nothing_more_is_evicted(
    steering: Steering, place: str
) -> None:
    """It does not know that unit, and nobody answers filter.

    If it has not bound the gang before the next process leads, and the plan is Evicting, the whole unit is evicted.
    """
    sandbox = steering.sandbox
    sandbox.nodes(3, cpu="1")
    ours = sandbox.gang("ours", 3, priority=10, mode="all")
    sandbox.wait_running(*ours)
    pods, _ = killed(steering, place, 1)
    sandbox.wait_bound(*pods)
    steering.plan("gang", "Bound")
    gone = sandbox.history.evictions()
    assert {*gone.values()} == {1}
    assert len(gone) in ((1, 3) if place == "plan.evicting" else (1,))


@SELDOM
def test_members_of_a_large_cluster_are_shown_their_nodes(steering: Steering) -> None:
    """With 300 nodes the scheduler looks at a part of them only."""
    sandbox = steering.sandbox
    nodes = [sandbox.node(f"n{number}", wait=False, cpu="1") for number in range(300)]
    sandbox.wait_nodes(*nodes)
    low = [
        sandbox.pod(f"low-{number}", priority=5 if number % 15 == 0 else 10, node_name=node)
        for number, node in enumerate(nodes)
    ]
    sandbox.wait_running(*low)
    plan = check_steered(steering, "gang", steering.gang("gang", 20))
    assert victims(plan).keys() == {f"low-{number}" for number in range(0, 300, 15)}

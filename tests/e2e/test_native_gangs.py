"""Gangs of kube-scheduler's own kind with `planning.nativeGroups: Drive`, on a scheduler that places them as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from api.groups import SCHEDULING_GATE
from hack.controlplane.client import Client, Json, path_of
from hack.controlplane.plane import ControlPlane
from tests.e2e.native_modes import use_mode
from tests.e2e.other_kinds import NATIVE, create, object_of
from tests.e2e.support import Sandbox, condition, wait_for
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM
from tests.kit.versions import needs

pytestmark = needs(NATIVE, "it has no groups that reprieve reads")

HIGH: Final = 1000
GATE: Final = "example.com/wait"
SEVERAL_ATTEMPTS_SECONDS: Final = 3.0
"""The scheduler's backoff begins at a second."""


@pytest.fixture(scope="module")
def plane(native_plane: ControlPlane) -> ControlPlane:
    """Its scheduler places Kubernetes' own PodGroups, and reprieve drives their preemption."""
    use_mode(native_plane, "Drive")
    return native_plane


@pytest.fixture
def sandbox(plane: ControlPlane, sandboxes: Callable[[ControlPlane | Client], Sandbox]) -> Iterator[Sandbox]:
    use_mode(plane, "Drive")  # a test that failed may have left a process with failpoints
    made = sandboxes(plane)
    yield made
    made.remove()


def native_gang(
    sandbox: Sandbox, name: str, members: int, minimum: int | None = None, **pod: Any
) -> list[str]:
    """A PodGroup of Kubernetes' own kind, and its pods NAME-0, NAME-1 and so on. Returns the pods' names."""
    policy = {"gang": {"minCount": minimum or members}}
    spec = {"schedulingPolicy": policy, "priorityClassName": sandbox.priority(HIGH)}
    create(sandbox, NATIVE, "PodGroup", name, spec)
    return sandbox.pods(name, members, priority=HIGH, schedulingGroup={"podGroupName": name}, **pod)


def plan_of(sandbox: Sandbox, name: str, phase: str) -> Json:
    """The gang's newest plan, once it has this phase."""
    return sandbox.wait_plan(f"podgroups.scheduling.k8s.io:{name}", phase)


def tried(sandbox: Sandbox, name: str) -> bool:
    """Whether the scheduler has said of the group that it cannot be scheduled."""
    said = condition(object_of(sandbox, NATIVE, "PodGroup", name), "PodGroupInitiallyScheduled")
    return said is not None and said["status"] == "False"


def remove_gate(sandbox: Sandbox, pod: str) -> None:
    """As the program whose gate it is would do."""
    body = {"spec": {"schedulingGates": None}}
    sandbox.client.patch("v1", "Pod", pod, body, sandbox.namespace)


def gates_of(pod: Json | None) -> list[str]:
    return [gate["name"] for gate in (pod or {}).get("spec", {}).get("schedulingGates", ())]


def would_be_gated(sandbox: Sandbox, group: str) -> bool:
    """Whether a new pod of this native group would get our gate."""
    body = sandbox.pod_body("probe", schedulingGroup={"podGroupName": group})
    path = path_of("v1", "Pod", sandbox.namespace)
    return gates_of(sandbox.client.request("POST", f"{path}?dryRun=All", body)) == [SCHEDULING_GATE]


def test_its_members_are_gated_until_min_count_of_them_exist(sandbox: Sandbox) -> None:
    """By the webhook, which is asked about pods that name such a group. One of a basic group gets no gate."""
    wait_for(lambda: would_be_gated(sandbox, "unknown"), what="new members get no gate")
    sandbox.node("n", cpu="2")
    create(sandbox, NATIVE, "PodGroup", "basic", {"schedulingPolicy": {"basic": {}}})
    wait_for(lambda: not would_be_gated(sandbox, "basic"), what="the webhook does not learn of the group")
    [first] = native_gang(sandbox, "gang", 1, 2)
    assert gates_of(sandbox.get_pod(first)) == [SCHEDULING_GATE]
    second = sandbox.pod("gang-1", priority=HIGH, schedulingGroup={"podGroupName": "gang"})
    sandbox.wait_bound(first, second)


def test_it_preempts_and_is_bound_where_it_was_planned(sandbox: Sandbox) -> None:
    sandbox.full_nodes(3)
    pods = native_gang(sandbox, "gang", 3)
    where = sandbox.wait_bound(*pods)
    plan = plan_of(sandbox, "gang", "Bound")
    assert {each["pod"]: each["node"] for each in plan["spec"]["placements"]} == where
    assert (plan["spec"]["evictedBy"], plan["spec"]["evictorReason"]) == ("Reprieve", "DriveMode")
    assert sandbox.history.evictions() == {"low-0-0": 1, "low-1-0": 1, "low-2-0": 1}
    for pod in pods:
        assert where[pod] in sandbox.history.nominations(pod), "it was nominated"
    written = object_of(sandbox, NATIVE, "PodGroup", "gang")["metadata"]["managedFields"]
    assert not [each["manager"] for each in written if "reprieve" in each["manager"]]


def test_it_takes_a_group_of_ours_whole(sandbox: Sandbox) -> None:
    """The scheduler does not know that group, and would take one of its three pods."""
    sandbox.nodes(3, cpu="1")
    ours = sandbox.gang("ours", 3, priority=10, mode="all")
    sandbox.wait_running(*ours)
    sandbox.wait_bound(*native_gang(sandbox, "gang", 1))
    assert sandbox.history.evictions() == dict.fromkeys(ours, 1)
    [victim] = plan_of(sandbox, "gang", "Bound")["spec"]["victims"]
    assert (victim["kind"], victim["name"]) == ("PodGroup", "ours")


PLACES: Final = (
    "plan.committed",
    "plan.confirmed",
    "plan.nominated",
    "plan.evicting",
    "evict.before_first",
    "evict.marked",
    "evict.between",
    "plan.ready",
    "plan.offered_twice",
)


@SELDOM
@pytest.mark.parametrize("place", PLACES)
def test_killed_at_any_place_no_more_pods_are_evicted_than_are_needed(
    plane: ControlPlane, sandbox: Sandbox, place: str
) -> None:
    """While nobody answers filter, the scheduler evicts by its own rule, as long as no victim of ours terminates."""
    sandbox.full_nodes(6)
    restart(plane, f"{place}=kill")
    pods = native_gang(sandbox, "gang", 3)
    plane.reprieve.wait(PATIENCE_SECONDS)
    restart(plane)
    sandbox.wait_bound(*pods)
    plan_of(sandbox, "gang", "Bound")
    gone = sandbox.history.evictions()
    assert (len(gone), {*gone.values()}) == (3, {1})


def restart(plane: ControlPlane, failpoints: str = "") -> None:
    """Another process of reprieve."""
    plane.reprieve.kill()
    plane.reprieve.environment = {"REPRIEVE_FAILPOINTS": failpoints} if failpoints else {}
    plane.start_reprieve()


def test_nothing_is_evicted_for_one_that_does_not_fit(sandbox: Sandbox) -> None:
    sandbox.full_nodes(2)
    pods = native_gang(sandbox, "gang", 3)
    plan_of(sandbox, "gang", "Unschedulable")
    wait_for(lambda: tried(sandbox, "gang"), what=sandbox.report)
    sandbox.watch_quietly(SEVERAL_ATTEMPTS_SECONDS, *pods)


def test_a_pod_with_a_gate_of_another_program_keeps_its_gang_from_reserving(sandbox: Sandbox) -> None:
    """Also a pod beyond minCount: the scheduler tries none of them meanwhile."""
    sandbox.full_nodes(2)
    pods = native_gang(sandbox, "gang", 3, 2, schedulingGates=[{"name": GATE}])
    for pod in pods[:2]:
        remove_gate(sandbox, pod)
    wait_for(lambda: sandbox.events("SchedulingGated", "gang"), what=sandbox.report)
    sandbox.watch_quietly(SEVERAL_ATTEMPTS_SECONDS, *pods)
    assert sandbox.plans() == []
    remove_gate(sandbox, pods[2])
    plan_of(sandbox, "gang", "Bound")
    assert sandbox.history.evictions() == {"low-0-0": 1, "low-1-0": 1}


def test_nothing_is_evicted_for_members_beyond_min_count(sandbox: Sandbox) -> None:
    """The scheduler alone evicts two pods for them, 50 ms after the first two are bound."""
    sandbox.full_nodes(2)
    free = [sandbox.node(f"free-{number}", cpu="1") for number in range(2)]
    pods = native_gang(sandbox, "gang", 4, 2)
    wait_for(lambda: len(sandbox.bound().keys() & {*pods}) == 2, what=sandbox.report)
    sandbox.watch_quietly(SEVERAL_ATTEMPTS_SECONDS)
    there = sandbox.bound()
    assert sorted(there[each] for each in pods if each in there) == sorted(free)
    more = sandbox.node("free-2", cpu="1")
    wait_for(lambda: more in sandbox.bound().values(), what=sandbox.report)
    assert sandbox.history.evictions() == {}


def test_room_that_is_promised_to_a_gang_of_ours_stays_its_own(sandbox: Sandbox) -> None:
    """A native gang of equal priority comes while the victims go. It is tried, and gets no node."""
    sandbox.full_nodes(2)
    low = ["low-0-0", "low-1-0"]
    for pod in low:
        keep(sandbox, pod, ["example.com/keeps"])
    ours = sandbox.gang("ours", 2, priority=HIGH)
    sandbox.wait_plan("ours", "Evicting")
    others = native_gang(sandbox, "gang", 2)
    wait_for(lambda: tried(sandbox, "gang"), what=sandbox.report)
    for pod in low:
        keep(sandbox, pod, None)
    sandbox.wait_bound(*ours)
    assert not sandbox.bound().keys() & {*others}
    assert sandbox.history.evictions() == dict.fromkeys(low, 1)


def keep(sandbox: Sandbox, pod: str, finalizers: list[str] | None) -> None:
    """A pod with a finalizer stays when it is deleted, until that is taken away."""
    sandbox.client.patch("v1", "Pod", pod, {"metadata": {"finalizers": finalizers}}, sandbox.namespace)

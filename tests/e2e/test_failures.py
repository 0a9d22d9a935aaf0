"""reprieve killed, slow, stopped or hanging: nobody is evicted twice or in vain, and nobody is left behind."""

from __future__ import annotations

import time

import pytest

from controllers.gangs.mirror.waiting import PULSE_NODE
from hack.controlplane.client import ApiError
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import (
    REPRIEVE,
    PlaneFactory,
    ReprieveFactory,
    Sandbox,
    SandboxFactory,
    names,
    wait_for,
)
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.often import SELDOM

BEFORE = ("plan.committed", "plan.confirmed", "plan.evicting", "evict.before_first")
PLACES = {
    "before": BEFORE,
    "between": ("evict.between",),
    "after": ("plan.ready",),
    **{each: pytest.param((each,), marks=SELDOM) for each in BEFORE},
}
"""Once somebody has gone, the scheduler may bind a member while no process runs. So no process dies after that but the
first one."""


@pytest.mark.parametrize("places", PLACES.values(), ids=PLACES)
def test_killed_at_any_place_the_next_process_goes_on(
    reprieve_with: ReprieveFactory, places: tuple[str, ...]
) -> None:
    """One plan, and a process for each place. In the end every victim is evicted once, and the gang is bound."""
    plane, sandbox = reprieve_with(f"{places[0]}=kill")
    sandbox.full_nodes(3)
    members = sandbox.gang("hero", 3, priority=100)
    written = killed(plane, sandbox)
    for place in places[1:]:
        plane.reprieve.environment = {"REPRIEVE_FAILPOINTS": f"{place}=kill"}
        plane.start_reprieve(wait=False)
        assert killed(plane, sandbox) == written, place
    go_on(plane)
    sandbox.wait_bound(*members)
    assert sandbox.history.evictions() == {"low-0-0": 1, "low-1-0": 1, "low-2-0": 1}
    assert names(sandbox.plans("hero")) == [written]


@pytest.mark.parametrize("place", ["evict.begun", "evict.between"])
def test_killed_in_a_unit_the_next_process_takes_it_whole(reprieve_with: ReprieveFactory, place: str) -> None:
    """The gang needs one of its four nodes; the group that is there goes whole."""
    plane, sandbox = reprieve_with(f"{place}=kill")
    sandbox.group("low", min_count=4, mode="all", priority=10)
    pods = [
        pod
        for number, node in enumerate(sandbox.nodes(4, cpu="1"))
        for pod in sandbox.filler(f"low-{number}", node, 1, group="low")
    ]
    members = sandbox.gang("hero", 1, priority=100)
    written = killed(plane, sandbox)
    unit = sandbox.client.get(REPRIEVE, "PodGroup", "low", sandbox.namespace)["metadata"]["uid"]
    assert sandbox.plans("hero")[0]["status"]["begun"] == [unit]
    go_on(plane)
    sandbox.wait_bound(*members)
    sandbox.wait_gone(*pods)
    assert sandbox.history.evictions() == dict.fromkeys(pods, 1)
    assert names(sandbox.plans("hero")) == [written]


def test_killed_in_a_unit_whose_preemptor_goes_the_next_process_finishes_it(
    reprieve_with: ReprieveFactory,
) -> None:
    """The plan ends as the next process starts; the finalizer stays until no pod of the unit is left."""
    plane, sandbox = reprieve_with("evict.between=kill")
    sandbox.group("low", min_count=3, mode="all", priority=10)
    pods = [
        pod
        for number, node in enumerate(sandbox.nodes(3, cpu="1"))
        for pod in sandbox.filler(f"low-{number}", node, 1, group="low")
    ]
    sandbox.gang("hero", 1, priority=100)
    killed(plane, sandbox)
    sandbox.delete_group("hero")
    go_on(plane)
    sandbox.wait_plan("hero", "Aborted")
    sandbox.wait_gone(*pods)
    assert sandbox.history.evictions() == dict.fromkeys(pods, 1)
    wait_for(lambda: not sandbox.plans("hero")[0]["metadata"].get("finalizers"), what=sandbox.report)


def test_killed_in_a_pulse_the_next_process_withdraws_it(reprieve_with: ReprieveFactory) -> None:
    """What the scheduler had shown is lost with the first process, so the second one pulses."""
    plane, sandbox = reprieve_with("plan.committed=kill")
    sandbox.full_nodes(2)
    members = sandbox.gang("hero", 2, priority=100)
    written = killed(plane, sandbox)
    plane.reprieve.environment = {"REPRIEVE_FAILPOINTS": "pulse.written=kill"}
    plane.start_reprieve(wait=False)
    assert killed(plane, sandbox) == written
    pulsed = [name for name in members if PULSE_NODE in sandbox.history.nominations(name)]
    assert pulsed
    assert sandbox.history.evicted() == []
    go_on(plane)
    bound = sandbox.wait_bound(*members)
    assert sandbox.history.evictions() == {"low-0-0": 1, "low-1-0": 1}
    for name in pulsed:
        after = sandbox.history.nominations(name)
        assert after[after.index(PULSE_NODE) + 1] in ("", bound[name])


def killed(plane: ControlPlane, sandbox: Sandbox) -> str:
    """Once a failpoint has killed the process; returns the name of the plan, which is written before anything."""
    plane.reprieve.wait(PATIENCE_SECONDS)
    (plan,) = sandbox.plans("hero")
    name: str = plan["metadata"]["name"]
    return name


def go_on(plane: ControlPlane) -> None:
    """Start the next process, without failpoints."""
    plane.reprieve.environment = {}
    plane.start_reprieve()


def test_a_member_deleted_between_plan_and_eviction(reprieve_with: ReprieveFactory) -> None:
    """Done 7: nobody is evicted for a gang that is no longer whole."""
    plane, sandbox = reprieve_with("evict.before_first=kill")
    sandbox.full_nodes(2)
    members = sandbox.gang("hero", 2, priority=100)
    plane.reprieve.wait(PATIENCE_SECONDS)
    sandbox.delete_pod(members[0])
    sandbox.wait_gone(members[0])
    plane.reprieve.environment = {}
    plane.start_reprieve()
    sandbox.wait_plan("hero", "Aborted")
    sandbox.watch_quietly(3)


def test_a_member_deleted_while_the_evictor_waits(reprieve_with: ReprieveFactory) -> None:
    """Done 7, without a crash: the last look before the first eviction sees it."""
    _, sandbox = reprieve_with("evict.before_first=3s")
    sandbox.full_nodes(2)
    members = sandbox.gang("hero", 2, priority=100)
    sandbox.wait_plan("hero", "Evicting")
    sandbox.delete_pod(members[1])
    sandbox.wait_plan("hero", "Aborted")
    sandbox.watch_quietly(4)


@pytest.mark.parametrize("delay", ["mirror.delay=3s", "planner.delay=3s"])
def test_a_late_mirror_and_a_late_planner(reprieve_with: ReprieveFactory, delay: str) -> None:
    """Done 9: every wake-up comes late, and still comes."""
    _, sandbox = reprieve_with(delay)
    sandbox.full_nodes(2)
    members = sandbox.gang("hero", 2, priority=100)
    sandbox.wait_bound(*members)
    assert sandbox.history.evictions() == {"low-0-0": 1, "low-1-0": 1}


ALONE_SECONDS = 5.0
"""The scheduler has tried the pod, and tries it again every few seconds."""


@pytest.mark.parametrize("how", [pytest.param("stopped", marks=SELDOM), "hanging"])
def test_without_us_ordinary_pods_are_scheduled_and_nobody_is_evicted(
    reprieve_with: ReprieveFactory, how: str
) -> None:
    """Done 11."""
    plane, sandbox = reprieve_with()
    sandbox.full_nodes(1)
    if how == "stopped":
        plane.reprieve.stop()
    else:
        plane.reprieve.pause()
    sandbox.node("free", cpu="1")
    sandbox.pod("ordinary", priority=10)
    sandbox.wait_bound("ordinary")
    sandbox.pod("urgent", priority=100)
    wait_for(
        lambda: (
            "PodScheduled"
            in {c["type"] for c in (sandbox.get_pod("urgent") or {})["status"].get("conditions", [])}
        ),
        what="urgent was not tried",
    )
    sandbox.watch_quietly(ALONE_SECONDS, "urgent")
    if how == "hanging":
        plane.reprieve.resume()
    else:
        plane.start_reprieve()
    sandbox.delete_pod("low-0-0")
    sandbox.wait_bound("urgent")


STALL_SECONDS = 6.0
"""The scheduler waits one second for an answer of filter."""


def test_room_that_a_pod_took_while_nobody_answered_is_made_again(reprieve_with: ReprieveFactory) -> None:
    """The pod has not passed us by: an ordinary plan preempts it, and the gang is bound on that node.

    The test binds the pod as the scheduler does without an answer. The scheduler itself could try the gang first. It
    learns of the pod before it learns of the room, as it would if it had bound the pod.
    """
    plane, sandbox = reprieve_with()
    node = sandbox.node("n0", cpu="1")
    sandbox.filler("low", node, 1, priority=5, finalizers=["reprieve.dev/linger"])
    members = sandbox.gang("hero", 1, priority=100)
    wait_for(sandbox.history.evicted, what=sandbox.report)
    scheduler = plane.processes["kube-scheduler"]
    scheduler.pause()
    plane.reprieve.pause()
    sandbox.pod("thief", priority=10)
    bind(sandbox, "thief", node)
    sandbox.release("low-0")
    sandbox.wait_gone("low-0")
    time.sleep(STALL_SECONDS)
    plane.reprieve.resume()
    scheduler.resume()
    assert sandbox.wait_bound(*members)[members[0]] == node
    assert sandbox.history.evictions() == {"low-0": 1, "thief": 1}
    sandbox.wait_plan("hero", "Bound")
    assert not any(plan["status"].get("takenNodes") for plan in sandbox.plans("hero"))


def bind(sandbox: Sandbox, pod: str, node: str) -> None:
    """As a scheduler does."""
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod},
        "target": {"kind": "Node", "name": node},
    }
    sandbox.client.request("POST", f"/api/v1/namespaces/{sandbox.namespace}/pods/{pod}/binding", binding)


REFUSED_SECONDS = 8.0
"""How long bindings are refused once the first plan has ended: the refused nodes are tried again twice."""


@SELDOM
def test_a_gang_whose_bindings_are_refused_evicts_twice_at_most(
    planes: PlaneFactory, sandboxes: SandboxFactory
) -> None:
    """Bindings are refused: at most two plans evict in vain, and the gang is bound once bindings are allowed."""
    planning = {"exclusionSeconds": 3, "backoffMaxSeconds": 1}
    sandbox = sandboxes(planes(reprieve=True, reprieve_settings={"planning": planning}))
    sandbox.full_nodes(3)
    forbid_bindings(sandbox)
    members = sandbox.gang("hero", 1, priority=100)

    def reasons() -> set[str]:
        conditions = [plan.get("status", {}).get("conditions") or [] for plan in sandbox.plans("hero")]
        return {each["reason"] for some in conditions for each in some}

    wait_for(lambda: "TurnedDown" in reasons(), what=lambda: f"no plan was turned down: {reasons()}")
    sandbox.pod("ordinary", priority=5)
    until = time.monotonic() + REFUSED_SECONDS
    while time.monotonic() < until:
        assert len(sandbox.history.evicted()) <= 2, sandbox.report()
        time.sleep(0.5)
    for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
        sandbox.client.delete("admissionregistration.k8s.io/v1", kind, "no-bindings")
    sandbox.wait_bound(*members)
    assert len(sandbox.history.evicted()) <= 2


def forbid_bindings(sandbox: Sandbox) -> None:
    """Have the API server refuse to bind pods of this namespace."""
    api = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "no-bindings"}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/binding"]}
    sandbox.client.create(
        {
            **api,
            "kind": "ValidatingAdmissionPolicy",
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": "false", "message": "not now"}],
            },
        }
    )
    sandbox.client.create(
        {
            **api,
            "kind": "ValidatingAdmissionPolicyBinding",
            "spec": {"policyName": "no-bindings", "validationActions": ["Deny"]},
        }
    )

    def refused() -> bool:
        probe = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "none"},
            "target": {"name": "none"},
        }
        path = f"/api/v1/namespaces/{sandbox.namespace}/pods/none/binding"
        try:
            sandbox.client.request("POST", path, probe)
        except ApiError as error:
            return "not now" in str(error)
        return False

    wait_for(refused, what="bindings are still allowed")

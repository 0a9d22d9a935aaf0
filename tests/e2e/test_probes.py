"""A few members of a gang are tried for all that are alike, on a real scheduler, with the webhooks and their gates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final

import pytest

from api.groups import SCHEDULING_GATE
from hack.controlplane.client import ApiError, Client, Json, path_of
from hack.controlplane.plane import ControlPlane, Options
from kube.client import MERGE_PATCH
from tests.e2e.picky import PICKY, PROFILES, refuse
from tests.e2e.support import Sandbox, condition, wait_for
from tests.e2e.webhook_server import ADMISSION
from tests.kit.often import SELDOM

QUIET_SECONDS: Final = 3.0
"""How long nothing may be evicted."""
ALL: Final = "the scheduler offers all {} members their nodes"


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    """A plane with reprieve, the webhooks, and a scheduler with a picky profile."""
    return start_plane(
        Options(
            reprieve=True,
            webhooks=True,
            reprieve_settings={"planning": {"confirmationSeconds": 2, "backoffInitialSeconds": 1}},
            scheduler_settings={"profiles": PROFILES},
        )
    )


@pytest.fixture
def sandbox(plane: ControlPlane, sandboxes: Callable[[ControlPlane | Client], Sandbox]) -> Iterator[Sandbox]:
    """With three full nodes or more, as the test needs."""
    made = sandboxes(plane)
    yield made
    plane.processes["kube-scheduler"].resume()
    made.remove()


@contextmanager
def no_scheduler(plane: ControlPlane) -> Iterator[None]:
    """Nobody schedules meanwhile."""
    plane.processes["kube-scheduler"].pause()
    yield
    plane.processes["kube-scheduler"].resume()


def is_gated(pod: Json) -> bool:
    """Whether it has our gate."""
    return any(gate["name"] == SCHEDULING_GATE for gate in pod["spec"].get("schedulingGates", ()))


def opened(sandbox: Sandbox, members: Collection[str]) -> set[str]:
    """The members without our gate now."""
    return {pod["metadata"]["name"] for pod in sandbox.list_pods() if not is_gated(pod)} & set(members)


def opened_at_first_eviction(sandbox: Sandbox, members: Collection[str]) -> set[str]:
    """The members that had lost our gate when the first pod was evicted."""
    found: set[str] = set()
    for _, pod in sandbox.history.all():
        name = pod["metadata"]["name"]
        if name not in members and pod["metadata"].get("deletionTimestamp"):
            return found
        if name in members and not is_gated(pod):
            found.add(name)
    raise AssertionError("nobody was evicted")


def wait_probes(sandbox: Sandbox, members: Collection[str], count: int = 2) -> list[str]:
    """The members that have lost our gate, once that many have lost it."""

    def probes() -> list[str]:
        found = opened(sandbox, members)
        return sorted(found) if len(found) >= count else []

    return wait_for(probes, what=sandbox.report)


def confirmed(sandbox: Sandbox) -> str:
    """What the condition Confirmed of the gang's last plan says."""
    said = condition(sandbox.wait_plan("hero", "Bound"), "Confirmed")
    assert said is not None
    return str(said["message"])


def test_two_members_are_tried_for_all(sandbox: Sandbox) -> None:
    """The others keep their gate until the room is free. Each has a label with its number, as of an Indexed Job."""
    sandbox.full_nodes(6)
    sandbox.group("hero", min_count=6, priority=100)
    index = "batch.kubernetes.io/job-completion-index"
    members = [
        sandbox.pod(f"hero-{number}", group="hero", priority=100, labels={index: str(number)})
        for number in range(6)
    ]
    sandbox.wait_bound(*members)
    # Two more follow after a second, on a busy machine.
    assert len(opened_at_first_eviction(sandbox, members)) in (2, 4)
    assert confirmed(sandbox) == ALL.format(6)
    assert len(sandbox.history.evicted()) == 6


def test_each_shape_has_probes_and_members_without_an_equal_are_tried(sandbox: Sandbox) -> None:
    """Members with other labels, priorities or requests speak for themselves."""
    sandbox.full_nodes(9)
    sandbox.group("hero", min_count=9, priority=100)
    members = sandbox.pods("a", 5, group="hero", priority=100)
    members += sandbox.pods("b", 3, group="hero", priority=100, cpu="900m")
    alone = sandbox.pod("c", group="hero", priority=100, labels={"role": "leader"})
    sandbox.wait_bound(*members, alone)
    first = opened_at_first_eviction(sandbox, [*members, alone])
    assert alone in first
    count = Counter(name[0] for name in first)
    assert (count["a"], count["b"]) in ((2, 2), (4, 3))  # more follow after a second, on a busy machine


def test_a_profile_refuses_nodes(sandbox: Sandbox) -> None:
    """What a probe shows of a node is a contradiction for all: nobody is evicted there, and all nodes are left out."""
    nodes = sandbox.full_nodes(6)
    for node in nodes[:3]:
        refuse(sandbox, node)
    members = sandbox.gang("hero", 3, priority=100, schedulerName=PICKY)
    bound = sandbox.wait_bound(*members)
    assert {bound[member] for member in members} == set(nodes[3:])
    assert sandbox.history.evicted() == ["low-3-0", "low-4-0", "low-5-0"]


def test_probes_are_deleted_and_another_succeeds(sandbox: Sandbox, plane: ControlPlane) -> None:
    """Before a scheduler has tried them. Others are tried in their place."""
    sandbox.full_nodes(5)
    sandbox.group("hero", min_count=5, priority=100)
    with no_scheduler(plane):
        members = sandbox.pods("hero", 5, group="hero", priority=100)
        first, second = wait_probes(sandbox, members)
        sandbox.delete_pod(first)
        sandbox.pod(first, group="hero", priority=100)
        sandbox.end_pod(second, "Succeeded")
        wait_for(lambda: opened(sandbox, members) - {second}, what=sandbox.report)
    left = [name for name in members if name != second]
    sandbox.wait_bound(*left)
    assert len(sandbox.history.evicted()) == 4


def test_probes_change_their_labels(sandbox: Sandbox, plane: ControlPlane) -> None:
    """Then they speak for nobody but each other, and two of the others are tried besides."""
    sandbox.full_nodes(5)
    with no_scheduler(plane):
        members = sandbox.gang("hero", 5, priority=100)
        probes = wait_probes(sandbox, members)
        for name in probes:
            sandbox.client.patch(
                "v1", "Pod", name, {"metadata": {"labels": {"role": "leader"}}}, sandbox.namespace
            )
    sandbox.wait_bound(*members)
    assert len(sandbox.history.evicted()) == 5
    assert len(opened_at_first_eviction(sandbox, members)) >= 4


@contextmanager
def gate_stays(sandbox: Sandbox, pod: str) -> Iterator[None]:
    """The API server lets nobody remove the gates of this pod."""
    sandbox.pod("example", schedulingGates=[{"name": "example.com/wait"}])
    name = f"{sandbox.namespace}-gate-stays"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["pods"]}
    says = f"!(object.metadata.name in ['{pod}', 'example']) || has(object.spec.schedulingGates)"
    here = f"request.namespace == '{sandbox.namespace}'"
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "here", "expression": here}],
        "validations": [{"expression": says, "message": "its gate stays"}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    kinds = {"ValidatingAdmissionPolicy": policy, "ValidatingAdmissionPolicyBinding": binding}
    for kind, spec in kinds.items():
        sandbox.client.create(
            {"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, "spec": spec}
        )
    try:
        wait_for(lambda: stays(sandbox), what=f"the gate of {pod} may still be removed")
        yield
    finally:
        for kind in reversed(kinds):
            sandbox.client.delete(ADMISSION, kind, name)
        wait_for(lambda: not stays(sandbox), what=f"the gate of {pod} may not be removed")


def stays(sandbox: Sandbox) -> bool:
    """Whether the API server refuses to remove the gate of the example."""
    path = f"{path_of('v1', 'Pod', sandbox.namespace, 'example')}?dryRun=All"
    try:
        sandbox.client.request("PATCH", path, {"spec": {"schedulingGates": None}}, MERGE_PATCH)
    except ApiError:
        return True
    return False


def test_a_policy_refuses_the_removal_of_one_gate(sandbox: Sandbox) -> None:
    """Of a member that is no probe. Nobody is evicted before its gate can be removed."""
    sandbox.full_nodes(4)
    with gate_stays(sandbox, "hero-3"):
        members = sandbox.gang("hero", 4, priority=100)
        wait_for(lambda: sandbox.events("GateNotRemoved", "hero-3"), what=sandbox.report)
        sandbox.watch_quietly(QUIET_SECONDS, *members)
        said = sandbox.wait_condition("PodGroup", "hero", "reprieve.dev/Scheduled", "False")
        assert said["reason"] == "Ungating"
    sandbox.wait_bound(*members)
    assert len(sandbox.history.evicted()) == 4


def test_the_scheduler_stops_after_the_probes(sandbox: Sandbox, plane: ControlPlane) -> None:
    """Its word counts. The others wait without their gates until it is back."""
    sandbox.full_nodes(4)
    members = sandbox.gang("hero", 4, priority=100)
    wait_for(lambda: condition(sandbox.wait_plan("hero"), "Confirmed"), what=sandbox.report)
    with no_scheduler(plane):
        sandbox.wait_plan("hero", "Ready")
        assert opened(sandbox, members) == set(members)
    sandbox.wait_bound(*members)
    assert len(sandbox.history.evicted()) == 4


def test_a_member_has_a_claim_that_does_not_exist(sandbox: Sandbox) -> None:
    """It looks like the others but for that. Nobody is evicted: the scheduler refuses it."""
    sandbox.full_nodes(3)
    sandbox.group("hero", min_count=3, priority=100)
    members = sandbox.pods("hero", 2, group="hero", priority=100)
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "missing"}}
    members.append(sandbox.pod("hero-2", group="hero", priority=100, volumes=[volume]))
    wait_for(lambda: condition(sandbox.get_pod("hero-2") or {}, "PodScheduled"), what=sandbox.report)
    sandbox.watch_quietly(QUIET_SECONDS, *members)


@SELDOM
@pytest.mark.parametrize("when", ["plan.stored", "evict.between"])
def test_the_leader_goes_between_probes_and_ready(sandbox: Sandbox, plane: ControlPlane, when: str) -> None:
    """The next process has seen no attempt. Each victim is evicted once."""
    sandbox.full_nodes(4)
    with no_scheduler(plane):
        members = sandbox.gang("hero", 4, priority=100)
        wait_probes(sandbox, members)
    if when == "evict.between":
        wait_for(sandbox.history.evicted, what=sandbox.report)
    plane.reprieve.kill()
    plane.start_reprieve()
    sandbox.wait_bound(*members)
    assert len(sandbox.history.evicted()) == 4
    assert set(sandbox.history.evictions().values()) == {1}

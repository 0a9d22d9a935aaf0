"""`planning.limits` on a real control plane: what is not evicted, why, and that the next process counts the same."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from api.clock import SYSTEM_CLOCK
from api.published import LIMITS_REACHED, NAMESPACE, PROCESS
from api.times import rfc3339
from cli.main import reprieve
from hack.controlplane.plane import ControlPlane, Options
from tests.e2e.served import read_metrics
from tests.e2e.support import REPRIEVE, Sandbox, SandboxFactory, condition, wait_for

PER_HOUR = 3
LIMITS = {"podsPerPlan": 2, "podsPerHour": PER_HOUR, "plansInVainPerHour": 1}
LEASE = {
    "leaderElect": True,
    "leaseDurationSeconds": 3,
    "renewDeadlineSeconds": 2,
    "retryPeriodSeconds": 0.2,
}


@pytest.fixture(scope="module")
def plane(start_plane: Callable[[Options], ControlPlane]) -> ControlPlane:
    settings = {"planning": {"mode": "Enforce", "limits": LIMITS}, "leaderElection": LEASE}
    return start_plane(Options(reprieve=True, reprieve_settings=settings))


def said(sandbox: Sandbox, gang: str) -> tuple[str, str]:
    """Reason and message of the gang's condition."""
    body = sandbox.client.get(REPRIEVE, "PodGroup", gang, sandbox.namespace)
    found = condition(body, "reprieve.dev/Scheduled") or {}
    return found.get("reason", ""), found.get("message", "")


def why(sandbox: Sandbox, gang: str, reason: str) -> str:
    wait_for(
        lambda: said(sandbox, gang)[0] == reason,
        what=lambda: (
            f"{gang} waits for something else than {reason}: {said(sandbox, gang)}, {sandbox.plans()}"
        ),
        seconds=30.0,
    )
    return said(sandbox, gang)[1]


def in_vain(sandbox: Sandbox, gang: str) -> None:
    """The stored plan of the gang says that it evicted in vain."""
    plan = sandbox.wait_plan(gang, "Bound")
    said = {
        "type": "InVain",
        "status": "True",
        "reason": "EvictedInVain",
        "message": "as a test says",
        "lastTransitionTime": rfc3339(SYSTEM_CLOCK.wall()),
    }
    body = {"status": {"conditions": [*plan["status"]["conditions"], said]}}
    name = plan["metadata"]["name"]
    sandbox.client.patch(REPRIEVE, "PreemptionPlan", name, body, sandbox.namespace, subresource="status")


def test_limits_hold_also_for_the_next_process(plane: ControlPlane, sandboxes: SandboxFactory) -> None:
    sandbox = sandboxes(plane)
    sandbox.full_nodes(6)
    sandbox.gang("large", 3, priority=200)
    assert why(sandbox, "large", "EvictionLimit") == (
        "it would evict 3 pods, and planning.limits.podsPerPlan is 2"
    )
    assert sandbox.plans("large") == []
    sandbox.wait_bound(*sandbox.gang("first", 2, priority=100))

    in_vain(sandbox, "first")
    members = sandbox.gang("second", 1, priority=100)
    assert "evicted pods in vain" in why(sandbox, "second", "EvictionLimitReached")
    result = CliRunner().invoke(reprieve, ["resume", "--kubeconfig", str(plane.kubeconfig)])
    assert result.exit_code == 0, result.output
    sandbox.wait_bound(*members)

    sandbox.gang("third", 1, priority=100)
    full = why(sandbox, "third", "EvictionLimitReached")
    assert full.endswith(
        "it would evict 1 pod, 3 were evicted within the last hour, and planning.limits.podsPerHour is 3"
    )
    assert read_metrics(plane)['reprieve_eviction_limit_reached{limit="podsPerHour"}'] == 1.0
    assert read_metrics(plane)['reprieve_eviction_limit_reached{limit="podsPerPlan"}'] == 1.0

    def reached() -> dict[str, int]:
        lease = sandbox.client.get("coordination.k8s.io/v1", "Lease", PROCESS, NAMESPACE)
        said = json.loads(lease["metadata"]["annotations"][LIMITS_REACHED])
        return {each["limit"]: each["waiting"] for each in said}

    wait_for(lambda: reached() == {"podsPerHour": 1, "podsPerPlan": 1}, what="the Lease does not say it")
    assert len(sandbox.history.evictions()) == PER_HOUR
    plane.reprieve.kill()
    plane.start_reprieve()
    sandbox.gang("fourth", 1, priority=100)
    assert why(sandbox, "fourth", "EvictionLimitReached").startswith("it waits until ")
    wait_for(lambda: reached().get("podsPerHour") == 2, what="the next process does not count the same")
    assert len(sandbox.history.evictions()) == PER_HOUR

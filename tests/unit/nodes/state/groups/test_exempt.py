"""The rule of the Eviction API: which pods are exempt from their budgets."""

from __future__ import annotations

import pytest

from nodes.state.groups.exempt import (
    EXEMPT,
    PENDING,
    READY,
    exempts_unready,
    health_of,
    is_exempt,
)
from tests.kit.objects import budget, pod


@pytest.mark.parametrize(
    ("phase", "ready", "health"),
    [
        ("Running", True, READY),
        ("Running", False, 0),
        ("Running", None, 0),
        ("Pending", None, PENDING),
        ("Pending", False, PENDING),
        ("Pending", True, PENDING | READY),
        ("Unknown", False, 0),
        ("", None, 0),
    ],
)
def test_what_a_budget_sees_of_a_pod(phase: str, ready: bool | None, health: int) -> None:
    beside = [{"type": "PodScheduled", "status": "True"}, {"type": "ContainersReady", "status": "False"}]
    assert health_of(pod("p", phase=phase, ready=ready, conditions=beside).status) == health


@pytest.mark.parametrize(
    ("policy", "healthy", "desired", "unready"),
    [
        ("AlwaysAllow", 0, 3, True),
        ("AlwaysAllow", 0, 0, True),
        ("IfHealthyBudget", 2, 3, False),
        ("IfHealthyBudget", 3, 3, True),
        (None, 2, 3, False),
        (None, 3, 3, True),
        (None, 4, 3, True),
        # A budget that needs no healthy pod counts all pods. The code of the API server says so, its documents do not.
        (None, 1, 0, False),
    ],
)
def test_from_which_budgets_pods_are_exempt_that_are_not_ready(
    policy: str | None, healthy: int, desired: int, unready: bool
) -> None:
    found = budget("b", policy=policy, healthy=healthy, desired=desired)
    assert exempts_unready(found) is unready
    found.status = None
    assert exempts_unready(found) is (policy == "AlwaysAllow")


def test_a_pending_pod_is_always_exempt_and_a_ready_one_never() -> None:
    for unready in (False, True):
        assert is_exempt(PENDING, exempts_unready=unready)
        assert is_exempt(PENDING | READY, exempts_unready=unready)
        assert not is_exempt(READY, exempts_unready=unready)
        assert is_exempt(0, exempts_unready=unready) is unready
        for health in range(4):
            assert bool(EXEMPT[health, int(unready)]) == is_exempt(health, exempts_unready=unready)

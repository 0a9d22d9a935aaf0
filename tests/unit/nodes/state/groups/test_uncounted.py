"""The rule of the Eviction API: which pods it evicts without counting them against their budget."""

from __future__ import annotations

import pytest

from nodes.state.groups.uncounted import (
    PENDING,
    READY,
    UNCOUNTED,
    health_of,
    is_uncounted,
    lets_unready_go,
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
    ("policy", "healthy", "desired", "lets"),
    [
        ("AlwaysAllow", 0, 3, True),
        ("AlwaysAllow", 0, 0, True),
        ("IfHealthyBudget", 2, 3, False),
        ("IfHealthyBudget", 3, 3, True),
        (None, 2, 3, False),
        (None, 3, 3, True),
        (None, 4, 3, True),
        # A budget that needs nobody healthy counts all: the API server says so in code, not in words.
        (None, 1, 0, False),
    ],
)
def test_which_budgets_let_pods_go_that_are_not_ready(
    policy: str | None, healthy: int, desired: int, lets: bool
) -> None:
    found = budget("b", policy=policy, healthy=healthy, desired=desired)
    assert lets_unready_go(found) is lets
    found.status = None
    assert lets_unready_go(found) is (policy == "AlwaysAllow")


def test_a_pending_pod_is_never_counted_and_a_ready_one_always() -> None:
    for lets in (False, True):
        assert is_uncounted(PENDING, lets_unready_go=lets)
        assert is_uncounted(PENDING | READY, lets_unready_go=lets)
        assert not is_uncounted(READY, lets_unready_go=lets)
        assert is_uncounted(0, lets_unready_go=lets) is lets
        for health in range(4):
            assert bool(UNCOUNTED[health, int(lets)]) == is_uncounted(health, lets_unready_go=lets)

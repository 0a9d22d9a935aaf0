"""Which pods the API server evicts without counting them against the PodDisruptionBudgets that select them.

This is the rule of its Eviction API, which decides where budgets are respected. kube-scheduler's preemption counts
every pod. Source: pkg/registry/core/pod/storage/eviction.go of Kubernetes 1.37. See docs/decisions/0094.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from api.core import PodDisruptionBudget, PodStatus

__all__ = ["PENDING", "READY", "UNCOUNTED", "health_of", "is_uncounted", "lets_unready_go"]

READY: Final = 1
"""The pod's condition Ready is true. The disruption controller calls it healthy, unless it terminates."""
PENDING: Final = 2
"""The pod's phase is Pending: not all of its containers have started."""
HEALTHS: Final = 4


def health_of(status: PodStatus) -> int:
    """What budgets see of a pod besides its labels: READY and PENDING, or 0."""
    health = PENDING if status.phase == "Pending" else 0
    for each in status.conditions or ():
        if each.type == "Ready":
            return health | READY if each.status == "True" else health
    return health


def lets_unready_go(budget: PodDisruptionBudget) -> bool:
    """Whether the budget lets pods go that run and are not Ready, without counting them."""
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    status = budget.status
    if status is None:
        return False
    return (status.current_healthy or 0) >= (status.desired_healthy or 0) > 0


def is_uncounted(health: int, *, lets_unready_go: bool) -> bool:
    """Whether the API server evicts the pod without counting it.

    `lets_unready_go`: what its only budget says. False for a pod of several budgets.
    """
    return bool(health & PENDING) or (not health & READY and lets_unready_go)


UNCOUNTED: Final = np.array(
    [[is_uncounted(health, lets_unready_go=lets) for lets in (False, True)] for health in range(HEALTHS)]
)
"""`is_uncounted` of whole columns: by health, and by what the budget says."""

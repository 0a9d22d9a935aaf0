"""Which pods are exempt from PodDisruptionBudgets: the API server evicts them and counts them against none.

This is the rule of its Eviction API, which counts where budgets are respected. kube-scheduler's preemption counts every
pod. Source: pkg/registry/core/pod/storage/eviction.go of Kubernetes 1.37. See docs/decisions/0094.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from api.core import PodDisruptionBudget, PodStatus

__all__ = ["PENDING", "READY", "EXEMPT", "health_of", "is_exempt", "exempts_unready"]

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


def exempts_unready(budget: PodDisruptionBudget) -> bool:
    """Whether pods that run and are not Ready are exempt from the budget."""
    if budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow":
        return True
    status = budget.status
    if status is None:
        return False
    return (status.current_healthy or 0) >= (status.desired_healthy or 0) > 0


def is_exempt(health: int, *, exempts_unready: bool) -> bool:
    """Whether the pod is exempt from the budgets that select it.

    `exempts_unready`: of its only budget. False for a pod of several budgets.
    """
    return bool(health & PENDING) or (not health & READY and exempts_unready)


EXEMPT: Final = np.array(
    [[is_exempt(health, exempts_unready=unready) for unready in (False, True)] for health in range(HEALTHS)]
)
"""`is_exempt` for whole columns: by health, and by `exempts_unready`."""

"""The flags and codes that stand in columns, and the types of columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "DAEMON",
    "GATED",
    "KEPT",
    "NEVER",
    "SEVERAL",
    "STAYING",
    "TERMINATING",
    "UNSAID",
    "UNSELECTED",
    "UNSTARTED",
    "Bools",
    "Flags",
    "Int32s",
    "Int64s",
    "is_leaving",
]

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Bools = NDArray[np.bool_]
Flags = NDArray[np.uint8]

TERMINATING = 1
"""The pod has a deletion timestamp."""
KEPT = 2
"""Nobody may evict the pod: a static pod's mirror, or a pod of a DaemonSet if `CostRules.daemon_set_pods` says so."""
GATED = 4
"""The pod has scheduling gates besides `api.groups.SCHEDULING_GATE`, which is removed once its gang may go on."""
NEVER = 8
"""The pod's own preemptionPolicy is Never."""
STAYING = 16
"""Nobody may plan with the pod's room: it counts as taken, and nobody can evict the pod.

The tables say so of a terminating pod that is overdue (`Tables.tell_time`). In the snapshot of one search it is also
said of the pods that leave for another plan.
"""
DAEMON = 32
"""A DaemonSet would create the pod again on the same node."""
UNSTARTED = 64
"""The pod has a node, and no status.startTime yet. kube-scheduler counts it as started now."""
UNSAID = -1
"""The cost of a pod that has no annotation for it."""
UNSELECTED = -1
SEVERAL = -2
"""In place of the row of a budget: none, or more than one, selects the labels."""


def is_leaving(flags: Flags) -> Bools:
    """Which pods with these flags terminate, and leave room that one may plan with."""
    leaving: Bools = (flags & (TERMINATING | STAYING)) == TERMINATING
    return leaving

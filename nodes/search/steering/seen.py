"""The cluster as kube-scheduler sees it when it preempts for a gang.

- It does not know what we have promised.
- A pod that terminates holds its room until it is gone. It is a candidate for eviction like any other pod.
- A pod that is nominated to a node counts there, if its own priority is that of the members or higher.
  `addGENominatedPods` in pkg/scheduler/framework/runtime/framework.go. The members' own nominations are forgotten once
  the simulated pass assumes them (`assume` in pkg/scheduler/schedule_one.go).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from nodes.search.promised import with_promised
from nodes.state.columns.flags import STAYING, TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = ["as_seen"]


def as_seen(mirrored: Snapshot, members: Collection[int], priority: int) -> Snapshot:
    """The snapshot as the scheduler sees it. No pod in it terminates or stays.

    `mirrored`: what the API server shows, without promised room. `members`: rows of the gang's waiting pods, which have
    this priority.
    """
    own = set(members)
    nominated = [
        (pod, node)
        for pod, node in mirrored.nominated.items()
        if pod not in own and mirrored.pod_priority[pod] >= priority
    ]
    present = replace(
        mirrored,
        pod_flags=mirrored.pod_flags & np.uint8(0xFF & ~(TERMINATING | STAYING)),
        leaving=np.zeros_like(mirrored.leaving),
        excluded={},
    )
    return with_promised(present, [], nominated)

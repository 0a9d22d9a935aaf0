"""Devices (DRA) are not modelled: which members need some, and where nodes may have some.

A node may offer an extended resource through a DeviceClass (KEP-5004). Then it is not in the node's allocatable, and
the scheduler's NodeResourcesFit leaves the question to its DynamicResources.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from nodes.filters.dynamic_resources import CLAIMS, DynamicResources
from nodes.search.preemptors.preemptor import Preemptor
from nodes.state.snapshot import Snapshot

__all__ = ["Devices", "with_devices"]

UNCOUNTED: Final = 2**40
"""What a node has of a resource that its devices may provide: more than pods ask for, and little enough to add up."""


class Devices:
    """What the plan does not know of the devices of one snapshot. Pods and nodes are rows."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.columns = [
            column
            for column, resource in enumerate(snapshot.resources)
            if DynamicResources.provides(resource, snapshot.backed_by_devices)
        ]
        """Of the resources that a DeviceClass backs."""

    def needed(self, pod: int, node: int) -> bool:
        """Whether the plan does not know if the node has all devices that the pod needs."""
        its_class = self._snapshot.classes[self._snapshot.pod_class[pod]]
        claims = its_class is not None and CLAIMS in its_class.unmodelled
        return claims or bool(self._uncounted(pod, node))

    def named(self, pod: int, node: int) -> list[str]:
        """What is named of the extended resources of the pod that only devices can provide on the node."""
        snapshot = self._snapshot
        return list(DynamicResources.backed(self._uncounted(pod, node), snapshot.backed_by_devices))

    def _uncounted(self, pod: int, node: int) -> list[str]:
        snapshot = self._snapshot
        requests, here = snapshot.class_requests[snapshot.pod_class[pod]], snapshot.allocatable[node]
        asked = [column for column in self.columns if requests[column] > 0]
        return [snapshot.resources[column] for column in asked if here[column] in (0, UNCOUNTED)]


def with_devices(snapshot: Snapshot, preemptor: Preemptor) -> Snapshot | None:
    """The cluster as if nodes had all devices that they may have.

    A node may have devices for a resource that a DeviceClass backs and that its allocatable does not have. None if no
    unbound member requests such a resource, or if all nodes count it.
    """
    backed = Devices(snapshot).columns
    if not backed:
        return None
    classes = snapshot.pod_class[list(preemptor.unbound)]
    asked = np.flatnonzero((snapshot.class_requests[classes] > 0).any(axis=0))
    columns = sorted({*backed} & {*asked.tolist()})
    offers = np.zeros(snapshot.allocatable.shape, np.bool_)
    offers[:, columns] = snapshot.node_live[:, None] & (snapshot.allocatable[:, columns] == 0)
    if not offers.any():
        return None
    return replace(snapshot, allocatable=np.where(offers, UNCOUNTED, snapshot.allocatable))

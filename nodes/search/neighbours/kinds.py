"""Pods that no filter that looks at other pods can tell apart."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from nodes.filters.filter import Tenant
from nodes.state.columns.classes import tenant_of
from nodes.state.snapshot import Snapshot

__all__ = ["NOBODY", "Kinds", "Rows", "on_nodes"]

Rows = NDArray[np.intp]
NOBODY: Final[Rows] = np.zeros(0, np.intp)


class Kinds:
    """Pods (rows of the snapshot) by kind, which is (class, label set).

    A filter that looks at other pods cannot tell two pods of one kind apart.
    """

    def __init__(self, snapshot: Snapshot, pods: Rows) -> None:
        self._snapshot = snapshot
        width = max(1, len(snapshot.label_sets))
        keys, self.of = np.unique(
            snapshot.pod_class[pods].astype(np.int64) * width + snapshot.pod_labels[pods], return_inverse=True
        )
        """The kind of each pod."""
        self._keys: list[tuple[int, int]] = [divmod(key, width) for key in keys.tolist()]

    def tenants(self, place: int | None = None) -> list[Tenant]:
        """One tenant for each kind, for the filter at this place in the registry; None: without needs."""
        snapshot = self._snapshot
        return [
            tenant_of(
                snapshot.classes[class_row], place, snapshot.label_sets[labels_row], snapshot.namespaces
            )
            for class_row, labels_row in self._keys
        ]


def on_nodes(snapshot: Snapshot) -> tuple[Rows, Rows]:
    """Rows of the pods that are bound or promised a node, and rows of those nodes."""
    bound = np.flatnonzero(snapshot.pod_live & (snapshot.pod_node >= 0))
    promised = np.array(list(snapshot.promised.items()), np.intp).reshape(-1, 2)
    return (
        np.concatenate([bound, promised[:, 0]]),
        np.concatenate([snapshot.pod_node[bound].astype(np.intp), promised[:, 1]]),
    )

"""Pods that cannot be victims: those that the API server did not delete lately, and others that a plan spares."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nodes.state.columns.flags import KEPT
from nodes.state.snapshot import Snapshot

__all__ = ["Refusals", "spare_nodes", "spare_pods"]

REFUSED_SECONDS: Final = 300.0
"""How long a refusal is believed. Whoever refuses (an admission webhook, a right we lack) may change his mind."""


class Refusals:
    """Without it the same plan would be made again, and evict others in vain up to the pod that cannot be evicted."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._until)

    def note(self, pods: Iterable[str], now: float) -> None:
        """The deletion of these pods (UIDs) has just been refused."""
        self._until.update(dict.fromkeys(pods, now + REFUSED_SECONDS))

    def expire(self, now: float) -> bool:
        """Forget refusals that are old; whether there were any."""
        old = [pod for pod, until in self._until.items() if until <= now]
        for pod in old:
            del self._until[pod]
        return bool(old)

    def exempt(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot in which nobody can evict these pods."""
        return spare_pods(snapshot, self._until)


def spare_pods(snapshot: Snapshot, pods: Iterable[str]) -> Snapshot:
    """The snapshot in which nobody can evict these pods (UIDs), nor an `all` group that one of them belongs to."""
    rows = [row for pod in pods if (row := snapshot.pod_rows.get(pod)) is not None]
    return _spare(snapshot, np.array(rows, np.intp))


def spare_nodes(snapshot: Snapshot, nodes: Collection[str]) -> Snapshot:
    """The snapshot in which nobody can evict the pods on these nodes (names), nor an `all` group with a pod there.

    Members may still take room there that is free.
    """
    rows = [row for row, name in enumerate(snapshot.node_names) if name in nodes] if nodes else []
    return _spare(snapshot, np.flatnonzero(snapshot.pod_live & np.isin(snapshot.pod_node, rows)))


def _spare(snapshot: Snapshot, pods: NDArray[np.intp]) -> Snapshot:
    """What cannot be evicted is flagged like a static pod."""
    if not len(pods):
        return snapshot
    flags = snapshot.pod_flags.copy()
    flags[pods] |= KEPT
    return replace(snapshot, pod_flags=flags)

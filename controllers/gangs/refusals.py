"""Pods that the API server will not have deleted: for a while they are nobody's victims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from nodes.state.snapshot import MIRROR, Snapshot

__all__ = ["Refusals"]

REFUSED_SECONDS: Final = 300.0
"""How long a refusal is believed. Whoever refuses (an admission webhook, a right we lack) may change his mind."""


class Refusals:
    """Without it the same plan would be made again, and evict others in vain up to the pod that cannot go."""

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
        rows = [row for pod in self._until if (row := snapshot.pod_rows.get(pod)) is not None]
        if not rows:
            return snapshot
        flags = snapshot.pod_flags.copy()
        flags[rows] |= MIRROR
        return replace(snapshot, pod_flags=flags)

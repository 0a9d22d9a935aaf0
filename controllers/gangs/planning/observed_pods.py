"""Pods of observed namespaces: no plan of an enforced gang evicts them.

What is observed is decided as if all namespaces were enforced. See docs/decisions/0109.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from api.plans import PreemptionPlanSpec
from api.words import counted
from controllers.gangs.lifecycle.life import victim_uids
from controllers.gangs.lifecycle.modes import Modes
from nodes.state.columns.flags import KEPT
from nodes.state.snapshot import Snapshot

__all__ = ["ObservedPods", "with_pods_in_the_way"]

Bools = NDArray[np.bool_]
NOBODY: Final = np.zeros(0, np.bool_)


class ObservedPods:
    """Finds them in a snapshot. What has not changed since the last snapshot is not looked at again."""

    def __init__(self, modes: Modes) -> None:
        self._modes = modes
        self._changes = -1
        self._pages: list[tuple[list[str], Bools]] = []
        """By page of the names of namespaces: which pods in it are observed. Nobody changes a page that is shared."""

    def spare(self, snapshot: Snapshot) -> Snapshot:
        """The snapshot in which nobody can evict these pods, nor a group that is evicted whole with one of them."""
        if not self._modes.narrowed:
            return snapshot
        observed = self._observed(snapshot)
        spared = np.flatnonzero(observed & snapshot.pod_live & (snapshot.pod_node >= 0))
        if not len(spared):
            return snapshot
        flags = snapshot.pod_flags.copy()
        flags[spared] |= KEPT
        return replace(snapshot, pod_flags=flags)

    def _observed(self, snapshot: Snapshot) -> Bools:
        """[P]"""
        if self._changes != self._modes.changes:
            self._changes, self._pages = self._modes.changes, []
        pages, before = snapshot.pod_namespaces.pages, self._pages
        kept = [
            before[number]
            if number < len(before) and before[number][0] is page
            else (page, self._of_page(page))
            for number, page in enumerate(pages)
        ]
        self._pages = kept
        return np.concatenate([observed for _, observed in kept]) if kept else NOBODY

    def _of_page(self, page: list[str]) -> Bools:
        observes = {namespace: self._modes.observes(namespace) for namespace in set(page)}
        return np.fromiter((observes[namespace] for namespace in page), np.bool_, len(page))


def with_pods_in_the_way(
    spec: PreemptionPlanSpec, instead: PreemptionPlanSpec, spared: Snapshot, snapshot: Snapshot
) -> PreemptionPlanSpec:
    """The decision, which says how many victims of another one are in observed namespaces.

    `instead`: the decision on `snapshot`, in which they may be evicted. In `spared` they may not. Users of the
    preemptor's namespace read it, so it names no other one (docs/decisions/0037).
    """
    rows = [row for uid in victim_uids(instead) if (row := snapshot.pod_rows.get(uid)) is not None]
    pods = int(np.count_nonzero((spared.pod_flags[rows] & KEPT) > (snapshot.pod_flags[rows] & KEPT)))
    if not pods:
        return spec
    are = "is" if pods == 1 else "are"
    said = f"{counted(pods, 'pod')} that would make room for it {are} in observed namespaces"
    spec.reason = f"{spec.reason}; {said}"
    return spec

"""Room that is promised to others, written into the snapshot of one search.

The live planner and the commands that read files write it with the same function. The first takes the promises from
its account, the others from the stored plans and the nominations that they read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nodes.state.columns.flags import STAYING, Int64s, is_leaving
from nodes.state.snapshot import Snapshot

__all__ = ["HeldRoom", "with_promised"]


class HeldRoom(NamedTuple):
    """What the plan of another preemptor holds."""

    claims: Sequence[tuple[str, str, Mapping[str, int]]]
    """Of each member that waits: its UID, its planned node, and what it requests by resource, `pods` included."""
    victims: Sequence[str]
    """UIDs of pods that have a node. Their room counts for this plan alone."""


def with_promised(
    snapshot: Snapshot, held: Sequence[HeldRoom], nominated: Sequence[tuple[int, int]]
) -> Snapshot:
    """The snapshot in which promised room is used.

    Victims of the plans stay and are nobody's victims. The claims that they do not cover are used, and so is what
    `nominated` pods request: (row of the pod, row of the node).
    """
    if not held and not nominated:
        return snapshot
    page = _Page(snapshot)
    for plan, room in enumerate(held):
        page.hold(plan, room)
    page.nominate(nominated)
    return page.result()


class _Page:
    """A snapshot's columns while promises are written into them.

    What each plan needs on each node is one row of `needs`. Few calls of numpy do it all: a plan may have thousands of
    claims, and this runs between two events.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._used, self._leaving = snapshot.used.copy(), snapshot.leaving.copy()
        self._flags = snapshot.pod_flags.copy()
        self._promised: dict[int, int] = {}
        self._columns = {name: column for column, name in enumerate(snapshot.resources)}
        live = np.flatnonzero(snapshot.node_live).tolist()
        self._nodes = {snapshot.node_names[row]: row for row in live}
        self._rows: dict[tuple[int, int], int] = {}
        """Row of `needs` by plan and node."""
        self._amounts: list[tuple[int, int, int]] = []
        """(row of `needs`, column, amount) of each claim."""
        self._kept: list[tuple[int, int]] = []
        """Plan and row of each victim."""

    def hold(self, plan: int, room: HeldRoom) -> None:
        """The members of a plan will use room. Its victims stay for all others, and cover what it needs there."""
        snapshot, columns = self._snapshot, self._columns
        for uid, name, requests in room.claims:
            node = self._nodes.get(name)
            if node is None:
                continue
            row = self._rows.setdefault((plan, node), len(self._rows))
            self._amounts += [
                (row, columns[name], amount) for name, amount in requests.items() if name in columns
            ]
            pod = snapshot.pod_rows.get(uid)
            if pod is not None and snapshot.pod_node[pod] < 0:
                self._promised[pod] = node
        rows = snapshot.pod_rows
        self._kept += [(plan, rows[uid]) for uid in room.victims if uid in rows]

    def nominate(self, nominated: Sequence[tuple[int, int]]) -> None:
        """Waiting pods take room where they are nominated: (pod, node)."""
        live = [(pod, node) for pod, node in nominated if self._snapshot.node_live[node]]
        pods, nodes = np.array(live, np.intp).reshape(-1, 2).T
        np.add.at(self._used, nodes, self._requests(pods))
        self._promised.update(live)

    def result(self) -> Snapshot:
        """The snapshot with what was written."""
        needs = np.zeros((len(self._rows), len(self._columns)), np.int64)
        rows, columns, amounts = np.array(self._amounts, np.int64).reshape(-1, 3).T
        np.add.at(needs, (rows, columns), amounts)
        self._keep_victims(needs)
        nodes = np.array([node for _, node in self._rows], np.intp)
        np.add.at(self._used, nodes, np.maximum(needs, 0))
        return replace(
            self._snapshot,
            used=self._used,
            leaving=self._leaving,
            pod_flags=self._flags,
            promised=self._promised,
        )

    def _keep_victims(self, needs: Int64s) -> None:
        pods = np.array([pod for _, pod in self._kept], np.intp)
        nodes, requests = self._snapshot.pod_node[pods], self._requests(pods)
        leave = is_leaving(self._snapshot.pod_flags[pods])
        np.subtract.at(self._leaving, nodes[leave], requests[leave])
        self._flags[pods] |= STAYING
        at = zip((plan for plan, _ in self._kept), nodes.tolist(), strict=True)
        rows = np.array([self._rows.get(each, -1) for each in at], np.intp)
        np.subtract.at(needs, rows[rows >= 0], requests[rows >= 0])

    def _requests(self, pods: NDArray[np.intp]) -> Int64s:
        """[len(pods), R]"""
        requests: Int64s = self._snapshot.class_requests[self._snapshot.pod_class[pods]]
        return requests

"""Domains whose plans the filters refuse: what refuses, and how many members could run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from native.codes import EXHAUSTED, UNSCHEDULABLE
from nodes.search.spreading.bounds import Shortfall
from nodes.search.spreading.cells import Cells

__all__ = ["Refusal", "Refusals"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why no plan was found in a domain."""

    known: bool
    """Whether there is none. Otherwise the search has not come to its end."""
    short: Shortfall | None = None
    fitting: int = 0
    """How many members were placed together."""

    @property
    def outcome(self) -> int:
        """The code of the domain's outcome."""
        return UNSCHEDULABLE if self.known else EXHAUSTED


class Refusals(dict[int, Refusal]):
    """By domain."""

    def __init__(self, cells: Cells) -> None:
        super().__init__()
        self._cells = cells

    def why(self, domain: int) -> tuple[int, str]:
        """How many of the required members fit, and why not all of them."""
        preemptor = self._cells.cluster.preemptor
        refusal = self[domain]
        if preemptor.kind == "Pod":
            return 0, self._of_pod(domain)
        running, what = (
            refusal.fitting + len(preemptor.bound),
            "pods" if preemptor.kind == "Workload" else "members",
        )
        return refusal.fitting, f"{running} of {preemptor.minimum} {what} can run: {self._limit(refusal)}"

    def coarsely(self, domain: int) -> str:
        """The same in fewer words, so that many domains share it."""
        short = self[domain].short
        return f"refused by {_listed(self._names(short))}"

    def _limit(self, refusal: Refusal) -> str:
        short = refusal.short
        names = _listed(self._names(short))
        if short is None:
            return f"no placement and no order obeys {names}"
        if short.share is None or short.share.shortest < 0:
            return names
        share, nodes = short.share, self._cells.nodes
        cell = int(np.flatnonzero(share.places == share.shortest)[0])
        room = f"room for {short.added}" if short.added else "no room"
        return f"{names}: {nodes.value(share.key, cell)} has {room}"

    def _names(self, short: Shortfall | None) -> list[str]:
        if short is not None and short.names:
            return list(short.names)
        cells = self._cells
        required = set(cells.cluster.preemptor.required)
        kinds = [kind for kind in cells.kinds if required.intersection(kind.members)]
        names = [name for kind in kinds for each, _ in kind.conditions for name in each.names]
        tokens = np.flatnonzero(np.logical_or.reduce([kind.forbidden for kind in kinds]))
        return list(dict.fromkeys([*names, *(cells.token_name(token) for token in tokens.tolist())]))

    def _of_pod(self, domain: int) -> str:
        """What the conditions of the only pod count on the only node."""
        cluster = self._cells.cluster
        pod, node = cluster.preemptor.required[0], int(cluster.layout.of(domain)[0])
        conditions = cluster.conditions
        for gone in ((), conditions.counted[self._lower(node)]):
            counts = conditions.counts(np.array(gone, np.intp))
            for condition, columns in conditions.of[pod]:
                if not condition.admits(conditions.nodes, counts[:, columns])[node]:
                    why = condition.why_not(conditions.nodes, counts[:, columns], node)
                    return why if not len(gone) else f"{why}, once every unit of lower priority is gone"
        return f"no choice of victims obeys {_listed(self._names(self[domain].short))}"

    def _lower(self, node: int) -> np.ndarray:
        """Which of the counted pods run on the node with a lower priority."""
        cluster = self._cells.cluster
        snapshot, counted = cluster.snapshot, cluster.conditions.counted
        lower: np.ndarray = (snapshot.pod_priority[counted] < cluster.preemptor.priority) & (
            snapshot.pod_node[counted] == node
        )
        return lower


def _listed(names: list[str]) -> str:
    return " and ".join(names)

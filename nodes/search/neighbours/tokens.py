"""Which pods keep which members off their node: the tokens of the filters that look at other pods.

A token is a column. Pods and members bring tokens, and members forbid tokens. Two pods cannot share a node if one
forbids a token that the other brings. If no member forbids a token, there are no columns and no cost.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from nodes.filters.counting import Nodes
from nodes.filters.filter import Token
from nodes.filters.registry import POD_FILTERS, RESOURCES_FIT
from nodes.search.neighbours.kinds import NOBODY, Kinds, Rows, on_nodes
from nodes.state.columns.flags import is_leaving
from nodes.state.snapshot import Snapshot

__all__ = ["Tokens", "interested"]

Int32s = NDArray[np.int32]


class Tokens:
    """The T tokens that decide where some members may be in one snapshot, and which pods bring them."""

    def __init__(self, snapshot: Snapshot, members: Collection[int]) -> None:
        self._snapshot = snapshot
        self.tokens: list[Token] = []
        self.before_resources: list[bool] = []
        """[T], whether the scheduler runs the token's filter before NodeResourcesFit."""
        rows = np.array(list(members), np.intp)
        kinds = Kinds(snapshot, rows)
        brings, forbids, brought = [], [], []
        needing = {place: interested(snapshot, place) for place, _ in POD_FILTERS}
        nobody = not any(classes.any() for classes in needing.values())
        bound, node = (NOBODY, NOBODY) if nobody else on_nodes(snapshot)
        for place, each in POD_FILTERS:
            classes = needing[place]
            running = classes[snapshot.pod_class[bound]] if classes.any() else np.zeros(len(bound), np.bool_)
            theirs = Kinds(snapshot, bound[running])
            mine = kinds.tenants(place)
            tokens = list(each.tokens(mine, theirs.tenants(place)))
            if not tokens:
                continue
            self.tokens += tokens
            self.before_resources += [place < RESOURCES_FIT] * len(tokens)
            brings.append(_matrix([[token.brought_by(kind) for token in tokens] for kind in mine]))
            forbids.append(
                _matrix([[kind.asks and token.forbidden_by(kind) for token in tokens] for kind in mine])
            )
            brought.append(_brought(snapshot, tokens, place, bound, running, theirs))
        self.brings = _by_member(rows, kinds, brings)
        """For each member [T], with 1 for each token that it brings."""
        self.forbids = _by_member(rows, kinds, forbids)
        """For each member [T], with 1 for each token that it forbids."""
        every = np.concatenate([np.zeros((len(bound), 0), np.int32), *brought], axis=1)
        some = np.flatnonzero(every.any(axis=1)) if brought else np.zeros(0, np.intp)
        self._holders, self._node, self._brought = bound[some], node[some], every[some]
        self.wide = _wide(snapshot, self.tokens)
        """By token: [N], equal numbers for nodes of one domain, -1 for nodes in none. Tokens of a node are left out."""

    def __len__(self) -> int:
        """The number of tokens, T."""
        return len(self.tokens)

    def held(self, gone: Rows = NOBODY) -> Int32s:
        """[N, T], how many pods on each node bring each token; those that leave or are `gone` do not count."""
        stays = ~self._leave()
        if len(self._holders):  # to sort those who are gone takes longer than all the rest
            stays &= ~np.isin(self._holders, gone)
        return self._count(stays)

    def leaving(self) -> Int32s:
        """[N, T], how many of those that leave bring each token."""
        return self._count(self._leave())

    def brought_by(self, pods: Rows) -> Int32s:
        """[len(pods), T], with 1 for each token that a bound pod brings."""
        place = np.full(len(self._snapshot.pod_live), -1, np.intp)
        place[self._holders] = np.arange(len(self._holders))
        every = np.concatenate([self._brought, np.zeros((1, len(self)), np.int32)])
        return every[place[pods]]

    def add(self, counts: Int32s, node: int, amounts: Int32s) -> None:
        """Add amounts [T] to counts [N, T] on the node, and for tokens of domains on all nodes of its domain."""
        if not self.wide:
            counts[node] += amounts
            return
        for token in np.flatnonzero(amounts).tolist():
            places = self.wide.get(token)
            if places is None:
                counts[node, token] += amounts[token]
            elif places[node] >= 0:
                counts[places == places[node], token] += amounts[token]

    def _leave(self) -> NDArray[np.bool_]:
        return is_leaving(self._snapshot.pod_flags[self._holders])

    def _count(self, holders: NDArray[np.bool_]) -> Int32s:
        count = np.zeros((len(self._snapshot.node_names), len(self)), np.int32)
        if len(self):
            np.add.at(count, self._node[holders], self._brought[holders])
        for token, places in self.wide.items():
            sums = np.zeros(places.max(initial=-1) + 2, np.int32)
            np.add.at(sums, places, count[:, token])
            sums[-1] = 0
            count[:, token] = sums[places]
        return count


def _wide(snapshot: Snapshot, tokens: list[Token]) -> dict[int, Rows]:
    """The domains of the tokens that have any, unless each node is a domain of its own."""
    nodes = Nodes(snapshot.node_shapes, snapshot.node_names)
    live = snapshot.node_live
    found: dict[int, Rows] = {}
    for number, token in enumerate(tokens):
        if token.topology_key is None:
            continue
        places = nodes.places(token.topology_key)
        if (places[live] < 0).any() or len(np.unique(places[live])) < np.count_nonzero(live):
            found[number] = places
    return found


def interested(snapshot: Snapshot, place: int) -> NDArray[np.bool_]:
    """[C], whether the filter at this place in the registry needs something of the class."""
    return np.array(
        [each is not None and each.needs[place] is not None for each in snapshot.classes], np.bool_
    )


def _brought(
    snapshot: Snapshot,
    tokens: list[Token],
    place: int,
    bound: Rows,
    running: NDArray[np.bool_],
    theirs: Kinds,
) -> Int32s:
    """[len(bound), len(tokens)], with 1 for each token that a pod brings."""
    brought = np.zeros((len(bound), len(tokens)), np.int32)
    if any(token.by_labels for token in tokens):
        running, theirs = np.ones(len(bound), np.bool_), Kinds(snapshot, bound)
    kinds = _matrix([[token.brought_by(kind) for token in tokens] for kind in theirs.tenants(place)])
    if len(kinds):
        brought[running] = kinds[theirs.of]
    return brought


def _matrix(rows: list[list[bool]]) -> Int32s:
    return np.array(rows, np.int32)


def _by_member(members: Rows, kinds: Kinds, parts: list[Int32s]) -> dict[int, Int32s]:
    """For each member its row of the parts, joined side by side [T]."""
    whole = np.concatenate([np.zeros((max(kinds.of, default=-1) + 1, 0), np.int32), *parts], axis=1)
    return {row: whole[kind] for row, kind in zip(members.tolist(), kinds.of.tolist(), strict=True)}

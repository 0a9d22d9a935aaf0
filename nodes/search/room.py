"""The free room on the nodes after some units are gone. It changes in place as members are placed one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from nodes.filters.node_resources import NodeResourcesFit
from nodes.search.cluster import EXCLUDED, Cluster

__all__ = ["MANY", "Room", "count_fits"]

MANY: Final = 2**31
"""How often a pod fits that requests nothing. Every pod requests one of `pods`."""

Bools = NDArray[np.bool_]


def count_fits(free: NDArray[np.int64], request: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """[N], how often the request [R] fits into each row of the free room [N, R]: from 0 to `most`."""
    asked = request > 0
    fits: NDArray[np.int64] = (free[:, asked] // request[asked]).min(axis=1, initial=most)
    return np.maximum(fits, 0)


class Room:
    """Free room [N, R], and for each token how many pods bring it and how many members forbid it [N, T]."""

    def __init__(self, cluster: Cluster, gone: Iterable[int] | NDArray[np.intp] = ()) -> None:
        pods = gone if isinstance(gone, np.ndarray) else np.array(list(gone), np.intp)
        self._cluster = cluster
        self.free = cluster.free_without(pods)
        self.held = cluster.tokens.held(pods)
        self.barred = np.zeros_like(self.held)
        self.counts = cluster.conditions.counts(pods)
        """[N, Q], see `Conditions`."""

    def copy(self) -> Room:
        """A copy that can change on its own."""
        other = Room.__new__(Room)
        other._cluster, other.free = self._cluster, self.free.copy()
        other.held, other.barred, other.counts = self.held.copy(), self.barred.copy(), self.counts.copy()
        return other

    @property
    def only_resources(self) -> bool:
        """Whether no pod can be in a member's way, or missing, but by the room and the slots that it takes."""
        return not len(self._cluster.tokens) and not len(self._cluster.conditions)

    def place_all(self, placed: Mapping[int, int]) -> None:
        """Put members (node by pod) on their nodes."""
        if not self.only_resources:
            for pod, node in placed.items():
                self.place(pod, node)
            return
        pods, nodes = np.fromiter(placed, np.intp), np.fromiter(placed.values(), np.intp)
        np.subtract.at(self.free, nodes, self._cluster.requests_of(pods))

    def place(self, pod: int, node: int, members: int = 1) -> None:
        """Put `members` members like this pod on the node."""
        tokens = self._cluster.tokens
        self.free[node] -= members * self._cluster.request(pod)
        if len(tokens):
            tokens.add(self.held, node, members * tokens.brings[pod])
            tokens.add(self.barred, node, members * tokens.forbids[pod])
        if len(self._cluster.conditions):
            self.counts[node] += members * self._cluster.conditions.brings[pod]

    def place_each(self, pod: int, nodes: NDArray[np.intp], members: NDArray[np.int64]) -> None:
        """Put `members[i]` members like this pod on `nodes[i]`, if no pod brings or forbids tokens."""
        self.free[nodes] -= np.outer(members, self._cluster.request(pod))
        if len(self._cluster.conditions):
            self.counts[nodes] += np.outer(members, self._cluster.conditions.brings[pod])

    def fits(self, pod: int, nodes: NDArray[np.intp]) -> Bools:
        """Which of the nodes take the member."""
        admitted = self._cluster.mask(pod)[nodes]
        fits: Bools = admitted & ~self._short(pod, nodes).any(axis=1)
        for _, admits in self._cluster.conditions.admit(pod, self.counts):
            fits &= admits[nodes]
        return fits & ~self._kept_off(pod, nodes).any(axis=1) if len(self._cluster.tokens) else fits

    def could_fit(self, pod: int) -> Bools:
        """[N], the nodes that take the member once other members are where it needs them."""
        nodes = np.arange(len(self.free))
        fits = self._cluster.mask(pod) & self._cluster.conditions.could_admit(pod) & self.unblocked(pod)
        could: Bools = fits & ~self._short(pod, nodes).any(axis=1)
        return could

    def unblocked(self, pod: int) -> Bools:
        """[N], the nodes on which no token keeps the member off."""
        blocked = self._kept_off(pod, np.arange(len(self.free))).any(axis=1)
        unblocked: Bools = np.logical_not(blocked)
        return unblocked

    def refusals(self, pod: int, nodes: NDArray[np.intp]) -> Counter[str]:
        """How many of the nodes the scheduler would refuse for the member, by the reason of the first such filter.

        A node with too little of several resources counts for each of them. For nodes that the filters here admit, and
        the scheduler did not take, the reason is EXCLUDED.
        """
        static = self._cluster.refusals(pod)
        counts = Counter(reason for node in nodes.tolist() if (reason := static[node]) is not None)
        admitted = nodes[self._cluster.mask(pod)[nodes]]
        conditions = self._cluster.conditions.admit(pod, self.counts)
        unmet = np.zeros((len(admitted), len(conditions)), np.bool_)
        for column, (_, admits) in enumerate(conditions):
            unmet[:, column] = ~admits[admitted]
        why = np.concatenate([self._kept_off(pod, admitted), self._short(pod, admitted), unmet], axis=1)
        if why.size:
            packed = np.packbits(why, axis=1)
            alike = packed.ravel() if packed.shape[1] == 1 else packed  # numbers are sorted faster than rows
            _, rows, sizes = np.unique(alike, axis=0, return_index=True, return_counts=True)
            for row, size in zip(rows.tolist(), sizes.tolist(), strict=True):
                reasons = [each.reason for each, _ in conditions]
                counts.update(dict.fromkeys(self._words(why[row].tolist(), reasons), size))
        return counts

    def _words(self, why: list[bool], conditions: list[str]) -> list[str]:
        """The reasons of a node that the static filters admit: [T] tokens, [R] columns and conditions that apply."""
        tokens, end = self._cluster.tokens, len(why) - len(conditions)
        kept_off, short = why[: len(tokens)], why[len(tokens) : end]
        unmet = [reason for reason, applies in zip(conditions, why[end:], strict=True) if applies]
        named = [
            (early, token.reason)
            for token, early, applies in zip(tokens.tokens, tokens.before_resources, kept_off, strict=True)
            if applies
        ]
        early = [reason for is_early, reason in named if is_early]
        resources, slots = self._cluster.resources, self._cluster.attachments.reasons
        insufficient = [
            NodeResourcesFit.reason(resource)
            for resource, is_short in zip(resources, short[: len(resources)], strict=True)
            if is_short
        ]
        full = [reason for reason, is_short in zip(slots, short[len(resources) :], strict=True) if is_short]
        late = [reason for _, reason in named]
        return early[:1] or insufficient or full[:1] or unmet[:1] or late[:1]

    def exclusions(self, pod: int, nodes: NDArray[np.intp]) -> Iterator[str]:
        """What a person reads of each of these nodes from which the member is excluded."""
        static, names = self._cluster.refusals(pod), self._cluster.snapshot.node_names
        for node in nodes.tolist():
            excluded = self._cluster.exclusion(pod, node) if static[node] == EXCLUDED else None
            if excluded is not None:
                who = f"pod {excluded.pod}" if excluded.pod else "a pod of another namespace"
                yield f"node {names[node]}: the scheduler did not take {who} there: {excluded.seen}"

    def _short(self, pod: int, nodes: NDArray[np.intp]) -> Bools:
        """[len(nodes), R]: whether the node has too little of the resource."""
        request = self._cluster.request(pod)
        short: Bools = (request > 0) & (self.free[nodes] < request)
        return short

    def _kept_off(self, pod: int, nodes: NDArray[np.intp]) -> Bools:
        """[len(nodes), T], the tokens that keep the member off each node."""
        tokens = self._cluster.tokens
        forbidden = (tokens.forbids[pod] > 0) & (self.held[nodes] > 0)
        barred: Bools = (tokens.brings[pod] > 0) & (self.barred[nodes] > 0)
        return forbidden | barred

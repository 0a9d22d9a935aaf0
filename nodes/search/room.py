"""The free room on the nodes after some units are gone. It changes in place as members are placed one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from nodes.filters.node_resources import NodeResourcesFit

if TYPE_CHECKING:
    from nodes.search.problem import Cluster

__all__ = ["Room"]

Bools = NDArray[np.bool_]


class Room:
    """Free resources [N, R], and for each token how many pods bring it and how many members forbid it [N, T]."""

    def __init__(self, cluster: Cluster, gone: Iterable[int] = ()) -> None:
        pods = np.array(list(gone), np.intp)
        self._cluster = cluster
        self.free = cluster.free_without(pods)
        self.held = cluster.tokens.held(pods.tolist())
        self.barred = np.zeros_like(self.held)

    def copy(self) -> Room:
        """A copy that can change on its own."""
        other = Room.__new__(Room)
        other._cluster, other.free = self._cluster, self.free.copy()
        other.held, other.barred = self.held.copy(), self.barred.copy()
        return other

    def place(self, pod: int, node: int, members: int = 1) -> None:
        """Put `members` members like this pod on the node."""
        tokens = self._cluster.tokens
        self.free[node] -= members * self._cluster.request(pod)
        if len(tokens):
            self.held[node] += members * tokens.brings[pod]
            self.barred[node] += members * tokens.forbids[pod]

    def fits(self, pod: int, nodes: NDArray[np.intp]) -> Bools:
        """Which of the nodes take the member."""
        request = self._cluster.request(pod)
        admitted = self._cluster.mask(pod)[nodes]
        fits: Bools = admitted & ((self.free[nodes] >= request) | (request == 0)).all(axis=1)
        return fits & ~self._kept_off(pod, nodes).any(axis=1) if len(self._cluster.tokens) else fits

    def refusals(self, pod: int, node: int) -> list[str]:
        """What the scheduler would say of a node that does not take the member: the filter that fails first.

        Of a node that its filters here admit, and the scheduler did not take: EXCLUDED.
        """
        static = self._cluster.refusal(pod, node)
        if static is not None:
            return [static]
        tokens = self._cluster.tokens
        kept_off = self._kept_off(pod, np.array([node], np.intp))[0].tolist()
        named = [
            (early, token.reason)
            for token, early, applies in zip(tokens.tokens, tokens.before_resources, kept_off, strict=True)
            if applies
        ]
        early = [reason for is_early, reason in named if is_early]
        return early[:1] or list(self._insufficient(pod, node)) or [reason for _, reason in named][:1]

    def exclusion(self, pod: int, node: int) -> str:
        """What a person reads of a node from which the member is excluded; empty if it is not."""
        excluded = self._cluster.exclusion(pod, node)
        if excluded is None:
            return ""
        name = self._cluster.snapshot.node_names[node]
        who = f"pod {excluded.pod}" if excluded.pod else "a pod of another namespace"
        return f"node {name}: the scheduler did not take {who} there: {excluded.seen}"

    def _insufficient(self, pod: int, node: int) -> Iterator[str]:
        request = self._cluster.request(pod)
        short = ((request > 0) & (self.free[node] < request)).tolist()
        for resource, is_short in zip(self._cluster.resources, short, strict=True):
            if is_short:
                yield NodeResourcesFit.reason(resource)

    def _kept_off(self, pod: int, nodes: NDArray[np.intp]) -> Bools:
        """[len(nodes), T], the tokens that keep the member off each node."""
        tokens = self._cluster.tokens
        forbidden = (tokens.forbids[pod] > 0) & (self.held[nodes] > 0)
        barred: Bools = (tokens.brings[pod] > 0) & (self.barred[nodes] > 0)
        return forbidden | barred

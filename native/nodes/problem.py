"""The input and output of the search: arrays whose rows are nodes, shapes of members, units and budgets.

Everything is an integer. Nodes are grouped by domain. Units are sorted from the most to the least important. Only the
resources that a member requests have a column, because no other resource can keep a member off a node.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["SCORE_COLUMNS", "Problem", "Solution"]

SCORE_COLUMNS: Final = ("violations", "highest", "priority_sum", "units", "pods", "age")
"""The columns of a score. They are compared from left to right, and smaller is better.

`age` is minus the earliest start (seconds) of the victims with the highest priority. The optional terms of the problem
follow, in their order.
"""

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Flags = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Problem:
    """One preemptor in one cluster: D domains, N nodes, R resources, T tokens, S shapes, U units, E pieces, B budgets.

    A shape stands for members with equal requests, admitted nodes and tokens. A unit is a set of pods that is evicted
    as a whole. A piece is the part of a unit that runs on one node. Two pods cannot share a node if one of them forbids
    a token that the other one brings. This rule does not apply to two pods that run already.
    """

    domains: Int32s
    """[D + 1], the first node of each domain."""
    free: Int64s
    """[N, R], the free room with terminating pods gone. May be negative."""
    leaving: Int64s
    """[N, R], the part of `free` that terminating pods still hold."""

    requests: Int64s
    """[S, R], the requests of one member. A node needs room for each resource with a request above zero."""
    counts: Int32s
    """[S], the number of members of the shape to place."""
    admitted: Flags
    """[S, N], 1 where the static filters admit the shape."""

    held: Int32s
    """[N, T], how many pods on the node bring each token. Terminating pods do not count."""
    held_by_leaving: Int32s
    """[N, T], how many terminating pods on the node bring each token."""
    brings: Int32s
    """[S, T], 1 where a member brings the token to its node."""
    forbids: Int32s
    """[S, T], 1 where a member cannot share a node with a pod that brings the token."""

    unit_priority: Int64s
    unit_start: Int64s
    unit_pods: Int32s
    """[U], the number of the unit's pods, including pods outside of the domain."""

    unit_pieces: Int32s
    """[U + 1], the first piece of each unit."""
    piece_unit: Int32s
    piece_node: Int32s
    piece_room: Int64s
    """[E, R], the requests of the piece's pods on its node."""
    piece_tokens: Int32s
    """[E + 1], where each piece's part of `token` and `token_pods` begins."""
    token: Int32s
    token_pods: Int32s
    """How many pods of the piece bring the token."""
    node_pieces: Int32s
    """[N + 1], where each node's part of `node_piece` begins."""
    node_piece: Int32s
    """[E], the pieces sorted by node, and on a node the most important unit first."""

    unit_budgets: Int32s
    """[U + 1], where each unit's part of `budget` and `budget_pods` begins."""
    budget: Int32s
    budget_pods: Int32s
    """How many pods of the unit count against the budget."""
    allowed: Int64s
    """[B], how many disruptions the budget allows."""

    unit_terms: Int64s = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """[K, U], what each unit adds to each optional term if it is evicted. Not negative."""
    domain_terms: Int64s = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    """[K, D], what each domain adds to each optional term, also with nobody evicted. Not negative."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The outcome of every domain, and the plan of the best one. `winner` is -1 if no domain fits or preempts."""

    outcomes: list[int]
    scores: list[list[int]]
    """[D], a list of `SCORE_COLUMNS` and of K terms for each domain. Without victims, the columns are zero."""
    bounded: list[bool]
    """[D], whether the domain was not searched because it cannot win. Its `highest` and `priority_sum` are then what
    every plan there has at least. The other columns are zeros."""
    winner: int
    victims: list[int]
    """Units to evict, most important first."""
    placed: list[list[int]]
    """[S, N], the number of members of the shape on the node."""
    work: int = 0
    """What was looked at (units, nodes and pieces) to make plans better, in all domains."""
    ended: bool = False
    """Whether everything was tried in each domain that can win: no plan costs less."""
    lowest: bool = False
    """Whether it is proven that no plan in the winning domain has a lower `highest`. False if nothing is evicted."""

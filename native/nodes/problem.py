"""What the search is given and what it answers: arrays whose rows are nodes, members' shapes, units and budgets.

Everything is an integer. Nodes are grouped by domain, units are sorted from the most to the least important, and
only the resources that a member requests have a column: no other can keep a member off a node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["SCORE_COLUMNS", "Problem", "Solution"]

SCORE_COLUMNS: Final = ("violations", "highest", "priority_sum", "units", "pods", "age")
"""Smaller is better, from left to right.

`age` is minus the earliest start among the victims of the highest priority.
"""

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]
Flags = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Problem:
    """One preemptor in one cluster: D domains, N nodes, R resources, T tokens, S shapes, U units, E pieces, B budgets.

    A shape stands for members with equal requests, admitted nodes and tokens. A unit is what may be evicted, whole;
    a piece is the part of a unit that runs on one node. Two pods cannot share a node if one of them forbids a token
    that the other one brings; of two pods that run already nothing is asked.
    """

    domains: Int32s
    """[D + 1], the first node of each domain."""
    free: Int64s
    """[N, R], with terminating pods gone; may be negative."""
    leaving: Int64s
    """[N, R], what terminating pods still hold of `free`."""

    requests: Int64s
    """[S, R]; a member fits where the room for everything it requests (more than zero of) is there."""
    counts: Int32s
    """[S], members of the shape to place."""
    admitted: Flags
    """[S, N], 1 where the static filters admit the shape."""

    held: Int32s
    """[N, T], how many pods on the node bring each token; those that terminate do not count."""
    held_by_leaving: Int32s
    """[N, T], how many pods that terminate bring it."""
    brings: Int32s
    """[S, T], 1 where a member brings the token to its node."""
    forbids: Int32s
    """[S, T], 1 where a member cannot be on a node with the token, and no pod that brings it on the member's."""

    unit_priority: Int64s
    unit_start: Int64s
    unit_pods: Int32s
    """All pods of the unit, outside of the domain as well."""

    unit_pieces: Int32s
    """[U + 1], the first piece of each unit."""
    piece_unit: Int32s
    piece_node: Int32s
    piece_room: Int64s
    """[E, R], what the piece holds on its node."""
    piece_tokens: Int32s
    """[E + 1], where each piece's part of `token` and `token_pods` begins."""
    token: Int32s
    token_pods: Int32s
    """How many pods of the piece bring that token."""
    node_pieces: Int32s
    """[N + 1], where each node's part of `node_piece` begins."""
    node_piece: Int32s
    """[E], pieces by node, most important first."""

    unit_budgets: Int32s
    """[U + 1], where each unit's part of `budget` and `budget_pods` begins."""
    budget: Int32s
    budget_pods: Int32s
    """How many pods of the unit count against that budget."""
    allowed: Int64s
    """[B], disruptions allowed."""


@dataclass(frozen=True, slots=True)
class Solution:
    """How every domain fared, and the plan of the best one (`winner` is -1 where no domain fits or preempts)."""

    outcomes: list[int]
    scores: list[list[int]]
    """Per domain, `SCORE_COLUMNS`; zeros where nobody goes."""
    winner: int
    victims: list[int]
    """Units to evict, most important first."""
    placed: list[list[int]]
    """[S, N], members of the shape on the node."""

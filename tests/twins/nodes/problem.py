"""The arrays of `native.nodes.problem.Problem` as plain lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["EXHAUSTED", "FITS", "PREEMPTS", "UNSCHEDULABLE", "Solution", "Problem"]

FITS: Final = 0
PREEMPTS: Final = 1
UNSCHEDULABLE: Final = 2
EXHAUSTED: Final = 3

Rows = list[list[int]]


@dataclass(frozen=True, slots=True)
class Problem:
    """Field for field the kernels' problem; see there."""

    domains: list[int]
    free: Rows
    leaving: Rows
    requests: Rows
    counts: list[int]
    admitted: Rows
    held: Rows
    held_by_leaving: Rows
    brings: Rows
    forbids: Rows
    unit_priority: list[int]
    unit_start: list[int]
    unit_pods: list[int]
    unit_pieces: list[int]
    piece_unit: list[int]
    piece_node: list[int]
    piece_room: Rows
    piece_tokens: list[int]
    token: list[int]
    token_pods: list[int]
    node_pieces: list[int]
    node_piece: list[int]
    unit_budgets: list[int]
    budget: list[int]
    budget_pods: list[int]
    allowed: list[int]
    unit_terms: Rows
    domain_terms: Rows


@dataclass(frozen=True, slots=True)
class Solution:
    """Field for field the kernels' answer; see there."""

    outcomes: list[int]
    scores: list[list[int]]
    bounded: list[bool]
    winner: int
    victims: list[int]
    placed: Rows
    work: int = 0
    ended: bool = False
    lowest: bool = False

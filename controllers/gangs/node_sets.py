"""Sets of nodes and of candidates as bits of an integer: 5,000 nodes take 700 bytes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

__all__ = ["Numbering"]


class Numbering:
    """Gives every node and every candidate a number, which is its bit. Sets of two numberings cannot be compared.

    A candidate is a node with the pods (UIDs) that would be evicted there. Numbers are never given back, so a numbering
    must be replaced from time to time.
    """

    def __init__(self, born: float) -> None:
        """`born`: when it was made, in monotonic seconds."""
        self.born = born
        self._nodes: dict[str, int] = {}
        self._candidates: dict[tuple[str, tuple[str, ...]], int] = {}
        self._of_node: dict[str, list[tuple[int, frozenset[str]]]] = {}

    def nodes(self, names: Sequence[str]) -> int:
        """The set of these nodes."""
        return _bits(self._nodes, names)

    def candidates(self, victims: Mapping[str, Collection[str]]) -> int:
        """The set of these candidates: UIDs of the victims by node."""
        keys = [(node, tuple(uids)) for node, uids in victims.items()]
        for key in keys:
            if key not in self._candidates:
                number = self._candidates[key] = len(self._candidates)
                self._of_node.setdefault(key[0], []).append((number, frozenset(key[1])))
        return _bits(self._candidates, keys)

    def has_node(self, nodes: int, name: str) -> bool:
        """Whether the node is in that set."""
        number = self._nodes.get(name)
        return number is not None and _has(nodes, number)

    def victims(self, candidates: int, node: str) -> list[frozenset[str]]:
        """The victims of each candidate of the node in that set."""
        return [uids for number, uids in self._of_node.get(node, ()) if _has(candidates, number)]


def _has(bits: int, number: int) -> bool:
    return bool(bits >> number & 1)


def _bits(numbers: dict[Any, int], keys: Sequence[Any]) -> int:
    """The bits of the keys; a key that is new gets the next number."""
    if not keys:
        return 0
    several = keys if len(keys) > 1 else (keys[0], keys[0])
    pick: Callable[[dict[Any, int]], tuple[int, ...]] = itemgetter(*several)
    try:
        picked = pick(numbers)
    except KeyError:
        for key in keys:
            numbers.setdefault(key, len(numbers))
        picked = pick(numbers)
    marks = np.zeros(len(numbers), np.uint8)
    marks[np.fromiter(picked, np.intp, len(picked))] = 1
    return int.from_bytes(np.packbits(marks, bitorder="little").tobytes(), "little")

"""Sets of nodes and of candidates as bits of an integer: 5,000 nodes take 700 bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter

import numpy as np

__all__ = ["Numbering", "Sought"]


class Numbering:
    """Gives every node and every candidate a number, which is its bit. Sets of two numberings cannot be compared.

    A candidate is a node with the pods (UIDs) that would be evicted there. Numbers are never given back, so a numbering
    must be replaced from time to time.
    """

    def __init__(self, born: float) -> None:
        """`born`: when it was made, in monotonic seconds."""
        self.born = born
        self._nodes: dict[str, int] = {}
        self._candidates: dict[tuple[str, ...], int] = {}
        """By node and victims, in one tuple."""
        self._of_node: dict[str, list[tuple[int, frozenset[str]]]] = {}

    def nodes(self, names: Sequence[str]) -> int:
        """The set of these nodes."""
        if not names:
            return 0
        # One call looks up all names. Every filter call of a gang's pod comes here, with as many names as nodes.
        look_up = itemgetter(*names, names[0])
        try:
            numbers = look_up(self._nodes)
        except KeyError:
            for name in names:
                self._nodes.setdefault(name, len(self._nodes))
            numbers = look_up(self._nodes)
        return _bits(numbers, len(self._nodes))

    def candidates(self, victims: Mapping[str, Collection[str]]) -> int:
        """The set of these candidates: UIDs of the victims by node."""
        numbers: list[int] = []
        known = self._candidates
        for node, uids in victims.items():
            key = (node, *uids)
            number = known.get(key)
            if number is None:
                number = known[key] = len(known)
                self._of_node.setdefault(node, []).append((number, frozenset(uids)))
            numbers.append(number)
        return _bits(numbers, len(known))

    def has_node(self, nodes: int, name: str) -> bool:
        """Whether the node is in that set."""
        number = self._nodes.get(name)
        return number is not None and _has(nodes, number)

    def seek_nodes(self, names: Iterable[str]) -> Sought:
        """Finds these nodes in sets of nodes."""
        numbers = ((self._nodes.get(name), name) for name in names)
        return Sought({number: name for number, name in numbers if number is not None})

    def seek_candidates(self, leaving: Mapping[str, Collection[str]]) -> Sought:
        """Finds the nodes of candidates whose victims all leave. `leaving`: pods (UIDs) by node."""
        return Sought(
            {
                number: node
                for node, pods in leaving.items()
                for number, victims in self._of_node.get(node, ())
                if all(uid in pods for uid in victims)
            }
        )

    def victims(self, candidates: int, node: str) -> list[frozenset[str]]:
        """The victims of each candidate of the node in that set."""
        return [uids for number, uids in self._of_node.get(node, ()) if _has(candidates, number)]


def _has(bits: int, number: int) -> bool:
    return bool(bits >> number & 1)


class Sought:
    """Some nodes or candidates of one numbering, to be found in many sets."""

    def __init__(self, nodes: Mapping[int, str]) -> None:
        """`nodes`: the node's name by number."""
        self._nodes = nodes
        self._bits = _bits([*nodes], max(nodes) + 1) if nodes else 0

    def within(self, bits: int) -> list[str]:
        """The names of the sought nodes that are in the set; a node of several candidates may be there twice."""
        common = bits & self._bits
        if not common:
            return []
        octets = np.frombuffer(common.to_bytes((common.bit_length() + 7) // 8, "little"), np.uint8)
        numbers = np.flatnonzero(np.unpackbits(octets, bitorder="little")).tolist()
        return [self._nodes[number] for number in numbers]


def _bits(numbers: Sequence[int], size: int) -> int:
    """The integer with these bits; all of them are below `size`."""
    marks = np.zeros(size, np.uint8)
    marks[np.fromiter(numbers, np.intp, len(numbers))] = 1
    return int.from_bytes(np.packbits(marks, bitorder="little").tobytes(), "little")

"""Finds the old value that a new value replaces. Faults in unchanged values are tolerated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from schema.nodes import Json, Node

__all__ = ["TYPE_META", "Correlated", "map_key", "old_entries"]

TYPE_META: Final = frozenset({"apiVersion", "kind"})
"""A fault in these fields of the object itself never counts as an old fault."""


class Correlated:
    """A new value with its old value.

    Fields correlate by name, and entries of map lists by their keys. Entries of other lists do not correlate: such a
    list changes as a whole.
    """

    __slots__ = ("_children", "_equal", "_old_entries", "new", "node", "old")

    def __init__(self, new: Json, old: Json, node: Node) -> None:
        self.new, self.old, self.node = new, old, node
        self._children: dict[str | int, Correlated | None] = {}
        self._old_entries: dict[Json, Json] | None = None
        self._equal: bool | None = None

    def key(self, name: str) -> Correlated | None:
        """The field of the new object with its old value; None if the old object does not have the field."""
        if name not in self._children:
            self._children[name] = self._field(name)
        return self._children[name]

    def index(self, index: int) -> Correlated | None:
        """The entry of the new list with its old value; None if the old list has no entry with the same keys."""
        if index not in self._children:
            self._children[index] = self._entry(index)
        return self._children[index]

    def equal(self) -> bool:
        """Whether nothing changed. The order of map lists does not count."""
        if self._equal is None:
            self._equal = self._compare()
        return self._equal

    def _field(self, name: str) -> Correlated | None:
        if not isinstance(self.old, dict):
            return None
        node = self.node.child(name)
        if node is None or name not in self.old:
            return None
        return Correlated(self.new[name], self.old[name], node)

    def _entry(self, index: int) -> Correlated | None:
        if self.node.items is None:
            return None
        if self._old_entries is None:
            self._old_entries = old_entries(self.node, self.old)
        entry = self._old_entries.get(map_key(self.node, self.new[index]))
        return None if entry is None else Correlated(self.new[index], entry, self.node.items)

    def _compare(self) -> bool:
        new, old = self.new, self.old
        if isinstance(new, dict) and isinstance(old, dict):
            return len(new) == len(old) and all(_equal(self.key(name)) for name in new)
        if isinstance(new, list) and isinstance(old, list):
            if len(new) != len(old):
                return False
            if self.node.list_type != "map":
                return _identical(new, old)
            return all(_equal(self.index(index)) for index in range(len(new)))
        return _identical(new, old)


def _equal(child: Correlated | None) -> bool:
    return child is not None and child.equal()


def old_entries(node: Node, old: Json) -> dict[Json, Json]:
    """The entries of an old map list by their keys. The first entry wins if keys repeat. Empty for any other list."""
    entries: dict[Json, Json] = {}
    if node.list_type == "map" and isinstance(old, list):
        for entry in old:
            key = map_key(node, entry)
            if key is not None:
                entries.setdefault(key, entry)
    return entries


def map_key(node: Node, entry: Json) -> Json:
    """The key that entries of a map list correlate by; None for an entry without its keys."""
    if not isinstance(entry, dict):
        return None
    values = [entry.get(name) for name in node.map_keys]
    if any(value is None or isinstance(value, dict | list) for value in values):
        return None
    return tuple((type(value), value) for value in values)


def _identical(left: Json, right: Json) -> bool:
    """Equality of JSON values in Go: 1, 1.0 and true are three different values."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_identical(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return _identical_items(left, right)
    return type(left) is type(right) and bool(left == right)


def _identical_items(left: Sequence[Json], right: Sequence[Json]) -> bool:
    return len(left) == len(right) and all(map(_identical, left, right))

"""Duplicate entries in lists (x-kubernetes-list-type set and map)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from schema import paths
from schema.nodes import Json, Node
from schema.verdict import DUPLICATE, INVALID, Cause

__all__ = ["duplicates"]


def duplicates(node: Node, value: Json, path: str = "") -> Iterator[Cause]:
    """A cause for each entry that repeats another one. An entry that occurs three times gets one cause."""
    if isinstance(value, dict):
        for name, part in value.items():
            if name in node.properties:
                yield from duplicates(node.properties[name], part, paths.child(path, name))
            elif node.additional is not None:
                yield from duplicates(node.additional, part, paths.key(path, name))
    elif isinstance(value, list):
        yield from _in_list(node, value, path)
        if node.items is not None:
            for index, item in enumerate(value):
                yield from duplicates(node.items, item, paths.index(path, index))


def _in_list(node: Node, items: list[Json], path: str) -> Iterator[Cause]:
    if node.list_type == "set":
        yield from _repeated(items, path)
    elif node.list_type == "map":
        for index, item in enumerate(items):
            if not isinstance(item, dict | None):
                yield Cause(
                    paths.index(path, index),
                    INVALID,
                    "must be an object, as the list is one of objects with keys",
                )
                return
        yield from _repeated(
            ({name: item[name] for name in node.map_keys if name in item} for item in _objects(items)), path
        )


def _objects(items: list[Json]) -> Iterator[dict[str, Json]]:
    return (item or {} for item in items)


def _repeated(keys: Iterable[Json], path: str) -> Iterator[Cause]:
    seen: dict[str, int] = {}
    for index, key in enumerate(keys):
        # Equal values have equal text. 1, 1.0 and true are three different values.
        like = json.dumps(key, sort_keys=True)
        seen[like] = seen.get(like, 0) + 1
        if seen[like] == 2:
            yield Cause(paths.index(path, index), DUPLICATE, f"{json.dumps(key)} is there already")

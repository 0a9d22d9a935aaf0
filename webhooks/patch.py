"""Computes the JSON Patch (RFC 6902) between two JSON objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["json_patch"]


def json_patch(old: Any, new: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """The operations that turn `old` into `new`. A list with another length is replaced as a whole."""
    if old is new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old.keys() - new.keys():
            yield {"op": "remove", "path": _below(path, name)}
        for name, value in new.items():
            if name in old:
                yield from json_patch(old[name], value, _below(path, name))
            else:
                yield {"op": "add", "path": _below(path, name), "value": value}
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from json_patch(before, after, f"{path}/{index}")
    elif type(old) is not type(new) or old != new:
        yield {"op": "replace", "path": path, "value": new}


def _below(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"

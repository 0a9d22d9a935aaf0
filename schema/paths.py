"""Paths of fields, such as spec.podSets[0].name. A key of a map stands in brackets, unchanged."""

from __future__ import annotations

from typing import Final

__all__ = ["NO_PATH", "child", "index", "key", "shown"]

NO_PATH: Final = "<nil>"
"""The path that API servers use for the whole object."""


def child(path: str, name: str) -> str:
    """The path of a field of the object at `path`."""
    return f"{path}.{name}" if path else name


def key(path: str, name: str) -> str:
    """The path of a value in the map at `path`."""
    return f"{path}[{name}]"


def index(path: str, number: int) -> str:
    """The path of an item in the list at `path`."""
    return f"{path}[{number}]"


def shown(path: str) -> str:
    """The path as API servers write it in a cause: NO_PATH for the whole object."""
    return path or NO_PATH

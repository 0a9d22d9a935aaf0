"""Paths of fields, as in spec.podSets[0].name; keys of maps stand in brackets as they are."""

from __future__ import annotations

from typing import Final

__all__ = ["NO_PATH", "child", "index", "key", "shown"]

NO_PATH: Final = "<nil>"
"""What API servers call the whole object."""


def child(path: str, name: str) -> str:
    """Of a field."""
    return f"{path}.{name}" if path else name


def key(path: str, name: str) -> str:
    """Of a value in a map."""
    return f"{path}[{name}]"


def index(path: str, number: int) -> str:
    """Of an item in a list."""
    return f"{path}[{number}]"


def shown(path: str) -> str:
    """As API servers have it in a cause."""
    return path or NO_PATH

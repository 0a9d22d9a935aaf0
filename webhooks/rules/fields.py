"""Reads JSON objects of unknown shape. A value of the wrong type counts as absent."""

from __future__ import annotations

from typing import Any

from webhooks.rules.request import Object

__all__ = ["child", "entries", "integer", "items", "text", "texts"]


def child(parent: Object, *names: str) -> Object:
    """The object below these names; empty if it is absent."""
    value: Any = parent
    for name in names:
        value = value.get(name)
        if not isinstance(value, dict):
            return {}
    return value  # type: ignore[no-any-return]  # a dict, by the loop; `parent` is one to begin with


def items(parent: Object, name: str) -> list[Object]:
    """The list of objects. An item of another type counts as an empty object, so that indices stay right."""
    value = parent.get(name)
    if not isinstance(value, list):
        return []
    # Nearly always all items are objects, and then nothing is copied.
    if set(map(type, value)) <= {dict}:
        return value
    return [item if type(item) is dict else {} for item in value]


def texts(parent: Object, name: str) -> list[str]:
    """The list of strings. An item of another type counts as an empty string, so that indices stay right."""
    value = parent.get(name)
    return [item if isinstance(item, str) else "" for item in value] if isinstance(value, list) else []


def entries(parent: Object, name: str) -> dict[str, str]:
    """The map of strings. Values of other types are left out."""
    return {key: value for key, value in child(parent, name).items() if isinstance(value, str)}


def text(parent: Object, name: str) -> str:
    """The string; empty if it is absent."""
    value = parent.get(name)
    return value if isinstance(value, str) else ""


def integer(parent: Object, name: str) -> int | None:
    """The integer; None if it is absent. JSON may write 3 as 3.0."""
    value = parent.get(name)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None

"""The step before an object is checked: refuse unknown fields, drop nulls, fill in defaults."""

from __future__ import annotations

import math
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final

from api.words import shown
from schema import paths
from schema.correlation import TYPE_META
from schema.metadata import METADATA, decoded
from schema.nodes import Json, Node
from schema.values import value_causes
from schema.verdict import INVALID, Cause

__all__ = ["DECODE_ERROR", "MANAGED", "UNKNOWN_FIELD", "completed", "decoding_causes", "pruned"]

UNKNOWN_FIELD: Final = "UnknownField"
DECODE_ERROR: Final = "DecodeError"
"""Cause types of our own. API servers answer these requests with BadRequest, which has no causes."""
META_FIELDS: Final = TYPE_META | {"metadata"}
MANAGED: Final = "managedFields"
"""API servers maintain this field. `kubectl get` prints it, so users send it back."""
LONGEST_NAME: Final = 64
"""The longest field name that is compared with others. It leaves room for a spelling mistake."""
ALIKE: Final = 0.7
"""How alike two names must be (`difflib`) for a hint that one is a misspelling of the other."""
MAX_INT64: Final = 2**63 - 1


def decoding_causes(node: Node, api_version: str, kind: str, value: dict[str, Json]) -> list[Cause]:
    """The reasons why the object cannot be read at all."""
    causes = [
        Cause(name, INVALID, f"must be {expected}, not {shown(value.get(name))}")
        for name, expected in (("apiVersion", api_version), ("kind", kind))
        if value.get(name) != expected
    ]
    metadata = decoded(value.get("metadata"))
    if not causes and metadata is not None:
        wrong = value_causes(METADATA, metadata, None, "metadata")
        causes = [Cause(cause.field, DECODE_ERROR, cause.message) for cause in wrong]
    if not causes:
        causes = list(_unknown(node, value))
    return causes


def _unknown(node: Node, value: dict[str, Json]) -> Iterator[Cause]:
    metadata = value.get("metadata") or {}
    own = {name: part for name, part in metadata.items() if name != MANAGED}
    yield from _unknown_fields(METADATA, own, "metadata")
    yield from _unknown_fields(
        node, {name: part for name, part in value.items() if name not in META_FIELDS}, ""
    )


def _unknown_fields(node: Node | None, value: Json, path: str) -> Iterator[Cause]:
    if isinstance(value, dict):
        for name, part in value.items():
            known = node.child(name) if node is not None else None
            if known is None:
                yield Cause(paths.child(path, name), UNKNOWN_FIELD, _no_field(node, name))
            else:
                yield from _unknown_fields(known, part, paths.child(path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unknown_fields(
                node.items if node is not None else None, item, paths.index(path, index)
            )


def _no_field(node: Node | None, name: str) -> str:
    """The message for an unknown field, with a hint if a known name is alike.

    Users misspell names, and Kueue's v1beta1 has other names for some fields.
    """
    known = node.properties if node is not None and len(name) <= LONGEST_NAME else ()
    alike = get_close_matches(name, known, 1, ALIKE)
    return f"there is no such field; is {alike[0]} meant?" if alike else "there is no such field"


def pruned(node: Node | None, value: Json) -> Any:
    """A copy without unknown fields. API servers read stored objects in this way."""
    if isinstance(value, dict):
        parts = ((name, part, node.child(name)) for name, part in value.items()) if node is not None else ()
        return {name: pruned(known, part) for name, part, known in parts if known is not None}
    if isinstance(value, list):
        return [pruned(node.items if node is not None else None, item) for item in value]
    return value


def completed(node: Node, value: Json) -> Any:
    """A copy as the API server keeps it: without nulls that mean "absent", and with defaults."""
    if isinstance(value, dict):
        fields = {name: part for name, part in value.items() if not _is_absent(node.child(name), part)}
        for name, part in node.properties.items():
            if part.default is not None:
                fields.setdefault(name, part.default)
        return {name: _completed(node.child(name), part) for name, part in fields.items()}
    if isinstance(value, list):
        return [_completed(node.items, item) for item in value]
    if isinstance(value, int) and not -MAX_INT64 - 1 <= value <= MAX_INT64:
        return _float(value)  # Go reads it as a float
    return value


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _completed(node: Node | None, value: Json) -> Json:
    if node is not None and value is None and not node.nullable:
        value = node.default
    return value if node is None else completed(node, value)


def _is_absent(node: Node | None, value: Json) -> bool:
    return value is None and node is not None and not node.nullable and node.default is None

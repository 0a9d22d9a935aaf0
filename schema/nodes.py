"""Structural schemas, read once: the parts of `openAPIV3Schema` that decide about an object."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from api.crds import schema_of
from schema.cel import Program, compile_rule
from schema.formats import go_pattern

__all__ = ["Json", "Node", "CompiledRule", "node_of", "read_node"]

Json = Any
"""Any value that JSON can express."""

TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean"})
IGNORED: Final = frozenset({"description", "x-kubernetes-map-type"})
"""These have no effect here. Atomic and granular maps differ only in server-side apply."""
READ: Final = frozenset(
    {"type", "format", "nullable", "properties", "additionalProperties", "items", "required", "enum"}
    | {"pattern", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
    | {"minimum", "maximum", "anyOf", "default", "x-kubernetes-int-or-string", "x-kubernetes-list-type"}
    | {"x-kubernetes-list-map-keys", "x-kubernetes-validations"}
)
FORMATS: Final = {"string": ("date-time",), "integer": ("int32", "int64"), "number": ("double",)}


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """An entry of x-kubernetes-validations, with its expression compiled."""

    text: str
    program: Program
    message: str
    field_path: str
    optional_old_self: bool


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """The schema of one value. Nodes compare by identity, so that they can be keys of caches."""

    types: tuple[str, ...] = ()
    """JSON types: two for int-or-string; empty if only `any_of` names the types."""
    format: str = ""
    nullable: bool = False
    properties: Mapping[str, Node] = field(default_factory=dict)
    additional: Node | None = None
    """The schema of a map's values; None if the value is not a map."""
    items: Node | None = None
    required: tuple[str, ...] = ()
    enum: tuple[Json, ...] = ()
    pattern: re.Pattern[str] | None = None
    pattern_text: str = ""
    lengths: tuple[int | None, int | None] = (None, None)
    """The least and the greatest length of a string, in characters."""
    sizes: tuple[int | None, int | None] = (None, None)
    """The least and the greatest number of items in a list."""
    counts: tuple[int | None, int | None] = (None, None)
    """The least and the greatest number of keys in an object."""
    bounds: tuple[float | None, float | None] = (None, None)
    """The least and the greatest value of a number. Both are allowed."""
    any_of: tuple[Node, ...] = ()
    default: Json = None
    """None means that there is no default. A default cannot be null."""
    list_type: str = ""
    map_keys: tuple[str, ...] = ()
    rules: tuple[CompiledRule, ...] = ()

    def child(self, name: str) -> Node | None:
        """The schema of a property or of a map's value."""
        return self.properties.get(name) or self.additional


@cache
def node_of(kind: str) -> Node:
    """The schema of a kind, read once. Raises KeyError for a kind without a schema."""
    return read_node(schema_of(kind))


def read_node(schema: Mapping[str, Json]) -> Node:
    """Read a schema. Raises ValueError for a keyword that is not read here, so that no rule is skipped silently."""
    if unread := set(schema) - READ - IGNORED:
        raise ValueError(f"schema keywords that are not known: {', '.join(sorted(unread))}")
    types = _types(schema)
    pattern = schema.get("pattern", "")
    return Node(
        types=types,
        format=_format(schema, types),
        nullable=schema.get("nullable", False),
        properties={name: read_node(part) for name, part in schema.get("properties", {}).items()},
        additional=_optional(schema.get("additionalProperties")),
        items=_optional(schema.get("items")),
        required=tuple(schema.get("required", ())),
        enum=tuple(schema.get("enum", ())),
        pattern=go_pattern(pattern) if pattern else None,
        pattern_text=pattern,
        lengths=(schema.get("minLength"), schema.get("maxLength")),
        sizes=(schema.get("minItems"), schema.get("maxItems")),
        counts=(schema.get("minProperties"), schema.get("maxProperties")),
        bounds=(schema.get("minimum"), schema.get("maximum")),
        any_of=tuple(map(read_node, schema.get("anyOf", ()))),
        default=schema.get("default"),
        list_type=schema.get("x-kubernetes-list-type", ""),
        map_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        rules=tuple(_rules(schema.get("x-kubernetes-validations", ()))),
    )


def _optional(schema: Mapping[str, Json] | None) -> Node | None:
    return None if schema is None else read_node(schema)


def _types(schema: Mapping[str, Json]) -> tuple[str, ...]:
    if schema.get("x-kubernetes-int-or-string"):
        return ("integer", "string")
    kind = schema.get("type")
    if kind is not None and kind not in TYPES:
        raise ValueError(f"no such type: {kind!r}")
    return () if kind is None else (kind,)


def _format(schema: Mapping[str, Json], types: tuple[str, ...]) -> str:
    """The format if API servers check it for this type; "" if not."""
    text: str = schema.get("format", "")
    if not text or len(types) != 1:
        return ""
    if text not in FORMATS.get(types[0], ()):
        raise ValueError(f"nothing checks the format {text!r} of type {types[0]}")
    return text


def _rules(entries: Sequence[Mapping[str, Json]]) -> list[CompiledRule]:
    return [
        CompiledRule(
            text=entry["rule"],
            program=compile_rule(entry["rule"]),
            message=entry.get("message") or f"failed rule: {entry['rule']}",
            field_path=entry.get("fieldPath", "").removeprefix("."),
            optional_old_self=entry.get("optionalOldSelf", False),
        )
        for entry in entries
    ]

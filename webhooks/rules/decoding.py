"""Finds values that an API server stores but Kueue's client cannot read.

A schema's pattern for quantities and its format for times accept values that Go cannot parse. A stored value of the
wrong type also stays. A program that reads such an object fails on the whole object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from api.crds import schema_of
from api.quantity import QuantityError, parse
from api.times import instant
from api.words import shown
from schema._shape import Shape
from schema.verdict import INVALID, TYPE_INVALID, Cause
from webhooks.rules.quantities import quantity
from webhooks.rules.request import Object

__all__ = ["TYPES", "Node", "decoding_causes", "root_node", "value_causes"]

TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int, float),
    "number": (int, float),
    "object": (dict,),
    "quantity": (str, int, float),
    "integer or string": (str, int, float),
    "string": (str,),
    "date-time": (str,),
}


def _is_quantity(text: str) -> bool:
    return quantity(text) is not None


def _is_time(text: str) -> bool:
    return instant(text) is not None


CHECKS: Final[Mapping[str, Callable[[str], bool]]] = {"quantity": _is_quantity, "date-time": _is_time}


class Node:
    """The part of a schema that decoding needs."""

    __slots__ = ("fields", "items", "shape", "type")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.type = _type(schema)
        self.fields = {name: Node(field) for name, field in schema.get("properties", {}).items()}
        items = schema.get("additionalProperties") or schema.get("items")
        self.items = Node(items) if isinstance(items, dict) else None
        self.shape: Shape = Shape(
            self.type,
            {name: field.shape for name, field in self.fields.items()},
            self.items.shape if self.items is not None else None,
            CHECKS.get(self.type),
        )
        """A quick check. A value that fits it has no cause, and nearly all values fit."""


def decoding_causes(kind: str, value: Object) -> Iterator[Cause]:
    """A cause for each value below spec and status that has the wrong type, or is not a valid quantity or time."""
    for part in ("spec", "status"):
        node, content = root_node(kind).fields.get(part), value.get(part)
        if node is not None and not node.shape.fits(content):
            yield from value_causes(node, content, part)


@cache
def root_node(kind: str) -> Node:
    """The schema of a whole object, read once. Raises KeyError for a kind without a schema."""
    return Node(schema_of(kind))


def _type(schema: Mapping[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity" if "pattern" in schema else "integer or string"
    return "date-time" if schema.get("format") == "date-time" else str(schema.get("type", ""))


def value_causes(node: Node, value: Any, path: str) -> Iterator[Cause]:
    """The causes in one value. The value is not null."""
    expected = TYPES.get(node.type)
    if expected is not None and (
        not isinstance(value, expected) or (isinstance(value, bool) and node.type != "boolean")
    ):
        yield Cause(path, TYPE_INVALID, f"{shown(value)} is no {node.type}")
    elif isinstance(value, dict):
        yield from _of_object(node, value, path)
    elif isinstance(value, list):
        if node.items is not None:
            for index, item in enumerate(value):
                if item is not None:
                    yield from value_causes(node.items, item, f"{path}[{index}]")
    elif fault := _fault(node.type, value):
        yield Cause(path, INVALID, fault)


def _of_object(node: Node, value: Object, path: str) -> Iterator[Cause]:
    for name, item in value.items():
        if item is None:
            continue
        field = node.fields.get(name)
        if field is not None:
            yield from value_causes(field, item, f"{path}.{name}")
        elif node.items is not None:
            yield from value_causes(node.items, item, f"{path}[{name}]")


def _fault(kind: str, value: Any) -> str | None:
    if kind == "quantity":
        try:
            parse(value)
        except QuantityError as error:
            return str(error)
    elif kind == "date-time" and instant(value) is None:
        return f"{shown(value)} is no time, such as 2006-01-02T15:04:05Z"
    elif kind == "integer" and isinstance(value, float) and not value.is_integer():
        return f"{shown(value)} is no integer"
    return None

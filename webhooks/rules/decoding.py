"""What Kueue's own client cannot read, though an API server stores it.

A schema's pattern for quantities and its format for times let through what Go does not parse, and a value of the
wrong type that is stored already stays. Whoever reads such an object fails on all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from api.crds import schema_of
from api.quantity import QuantityError, parse
from api.words import shown
from webhooks.rules.request import Object
from webhooks.rules.times import instant
from webhooks.verdict import INVALID, TYPE_INVALID, Cause

__all__ = ["SOUND", "TYPES", "Node", "decoding_causes", "root_node", "value_causes"]

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

SOUND: Final[Mapping[str, Any]] = {
    "boolean": bool,
    "integer": int,
    "number": int | float,
    "integer or string": int | str,
    "string": str,
    "quantity": int
    | Annotated[
        str,
        Meta(
            max_length=64,
            pattern=r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]?|[eE][+-]?[0-9]{1,3})\Z",
        ),
    ],
    "date-time": Annotated[
        str,
        Meta(
            pattern=r"^[0-9]{4}-((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)"
            r"T([01][0-9]|2[0-3])(:[0-5][0-9]){2}Z\Z"
        ),
    ],
}
"""Of these every value is right, and most that are right are of these."""


class Node:
    """A schema, as far as decoding goes."""

    __slots__ = ("fields", "items", "sound", "type")

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.type = _type(schema)
        self.fields = {name: Node(field) for name, field in schema.get("properties", {}).items()}
        every = schema.get("additionalProperties") or schema.get("items")
        self.items = Node(every) if isinstance(every, dict) else None
        self.sound = _sound(self)
        """A type that msgspec converts nothing to in which there is a cause, and nearly everything else."""


def decoding_causes(kind: str, value: Object) -> Iterator[Cause]:
    """A cause for each value below spec and status that is not of its field's type, or no quantity or time."""
    for part in ("spec", "status"):
        node, content = root_node(kind).fields.get(part), value.get(part)
        if node is not None and content is not None and not _is_sound(node, content):
            yield from value_causes(node, content, part)


@cache
def root_node(kind: str) -> Node:
    """The schema of a whole object, read once. Raises KeyError for a kind that is none of ours."""
    return Node(schema_of(kind))


def _is_sound(node: Node, value: Any) -> bool:
    try:
        msgspec.convert(value, node.sound)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def _type(schema: Mapping[str, Any]) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity" if "pattern" in schema else "integer or string"
    return "date-time" if schema.get("format") == "date-time" else str(schema.get("type", ""))


def _sound(node: Node) -> Any:
    every = node.items.sound | None if node.items is not None else Any
    if node.type == "object" and not node.fields:
        return dict[str, every]  # type: ignore[valid-type]  # made at run time, for msgspec
    if node.type == "object":
        names = {f"field_{index}": name for index, name in enumerate(node.fields)}
        fields = [(field, node.fields[name].sound | None, None) for field, name in names.items()]
        return msgspec.defstruct("Sound", fields, rename=names, gc=False)
    if node.type == "array":
        return list[every]  # type: ignore[valid-type]  # as above
    return SOUND.get(node.type, Any)


def value_causes(node: Node, value: Any, path: str) -> Iterator[Cause]:
    """The causes in one value, which is not null."""
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

"""Types, bounds and required fields, as API servers check them (kube-openapi's validation).

On update, faults in a value that did not change are tolerated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from api.crds.fixed import QUANTITY
from api.words import counted, shown
from schema import paths
from schema.correlation import TYPE_META, Correlated
from schema.formats import is_date_time, matches
from schema.nodes import Json, Node
from schema.verdict import INVALID, NOT_SUPPORTED, REQUIRED, TOO_LONG, TOO_MANY, TYPE_INVALID, Cause

__all__ = ["value_causes"]

RANGES: Final = {"int32": 2**31, "int64": 2**63, "": 2**63}
"""By format: the smallest integer that is too large."""
MAX_EXACT: Final = 2**53 - 1
"""A float counts as an integer only up to this absolute value."""
CLOSE: Final = 1e-9
"""A float counts as an integer if its relative distance from the next integer is below this."""


class Fault(NamedTuple):
    """A cause without the path of the root. The path is None if API servers report the fault without a path."""

    path: str | None
    type: str
    message: str


def value_causes(node: Node, value: Json, correlated: Correlated | None, root: str = "") -> list[Cause]:
    """The faults of the value. `root` is the path of the value; `correlated` is the value with its old value."""
    found = dict.fromkeys(_faults(node, value, "", correlated))
    return [Cause(_full(root, fault.path), fault.type, fault.message) for fault in found]


def _full(root: str, path: str | None) -> str:
    return paths.shown(f"{root}.{path}" if root and path else root or path or "")


def _faults(node: Node, value: Json, path: str, correlated: Correlated | None) -> list[Fault]:
    found = list(_all_faults(node, value, path, correlated))
    return [] if found and correlated is not None and correlated.equal() else found


def _all_faults(node: Node, value: Json, path: str, correlated: Correlated | None) -> Iterator[Fault]:
    yield from _type_faults(node, value, path)
    if value is not None:
        yield from _any_of_faults(node, value, path)
        if isinstance(value, str):
            yield from _text_faults(node, value, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield from _number_faults(node, value, path)
        elif isinstance(value, list):
            yield from _list_faults(node, value, path, correlated)
    if node.enum and not any(type(value) is type(choice) and value == choice for choice in node.enum):
        choices = ", ".join(map(str, node.enum))
        yield Fault(path, NOT_SUPPORTED, f"{shown(value)} is not one of {choices}")
    if isinstance(value, dict):
        yield from _object_faults(node, value, path, correlated)


def _type_faults(node: Node, value: Json, path: str) -> Iterator[Fault]:
    if not node.types:
        return
    found = _type_of(value)
    if found == "null":
        fits = node.nullable
    elif found == "array" and node.format and node.types == ("string",):
        fits = True  # API servers leave this to the check of the format, which looks only at strings
    else:
        fits = found in node.types or _counts_as(found, value, node)
    if not fits:
        yield Fault(path, TYPE_INVALID, f"must be of type {' or '.join(node.types)}, not {found}")


def _counts_as(found: str, value: Json, node: Node) -> bool:
    if found == "number" and "integer" in node.types:
        return _is_integral(value)
    return found == "integer" and "number" in node.types


def _type_of(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _is_integral(value: float) -> bool:
    if not math.isfinite(value) or abs(value) > MAX_EXACT:
        return False
    nearest = round(value)
    return abs(value - nearest) < CLOSE * abs(nearest) or value == nearest


def _any_of_faults(node: Node, value: Json, path: str) -> Iterator[Fault]:
    """If no alternative fits, the faults of the first one are reported."""
    if not node.any_of:
        return
    tries = [_faults(choice, value, path, None) for choice in node.any_of]
    if all(tries):
        yield Fault(None, INVALID, f"{path} is none of what it may be")
        yield from tries[0]


def _text_faults(node: Node, value: str, path: str) -> Iterator[Fault]:
    shortest, longest = node.lengths
    if longest is not None and len(value) > longest:
        yield Fault(path, TOO_LONG, _most(longest, "character", len(value)))
    elif shortest is not None and len(value) < shortest:
        yield Fault(path, INVALID, _least(shortest, "character", len(value)))
    elif node.pattern is not None and not matches(node.pattern, value):
        yield Fault(path, INVALID, _mismatch(value, node.pattern_text))
    if node.format == "date-time" and not is_date_time(value):
        yield Fault(path, TYPE_INVALID, f"{shown(value)} is no time as in 2026-01-02T03:04:05Z")


def _number_faults(node: Node, value: float, path: str) -> Iterator[Fault]:
    if node.types == ("integer",) and not _in_range(value, RANGES[node.format]):
        yield Fault(None, INVALID, f"{path} must be an integer of {node.format or 'int64'}, not {value}")
    least, most = node.bounds
    if most is not None and value > most:
        yield Fault(path, INVALID, f"must be {most} or less, not {value}")
    if least is not None and value < least:
        yield Fault(path, INVALID, f"must be {least} or more, not {value}")


def _mismatch(value: str, pattern: str) -> str:
    if pattern == QUANTITY["pattern"]:
        return f"{shown(value)} is no quantity, such as 40, 500m or 40Gi"
    return f"{shown(value)} does not match {pattern}"


def _least(bound: int, what: str, found: int) -> str:
    return f"must have {counted(bound, what)} or more, not {found}"


def _most(bound: int, what: str, found: int) -> str:
    return f"may have {counted(bound, what)} at most, not {found}"


def _in_range(value: float, end: int) -> bool:
    return math.isfinite(value) and value == int(value) and -end <= int(value) < end


def _list_faults(node: Node, items: list[Json], path: str, correlated: Correlated | None) -> Iterator[Fault]:
    if node.items is not None:
        for index, item in enumerate(items):
            related = None if correlated is None else correlated.index(index)
            yield from _faults(node.items, item, paths.index(path, index), related)
    fewest, most = node.sizes
    if fewest is not None and len(items) < fewest:
        yield Fault(path, INVALID, _least(fewest, "item", len(items)))
    if most is not None and len(items) > most:
        yield Fault(path, TOO_MANY, _most(most, "item", len(items)))


def _object_faults(
    node: Node, fields: dict[str, Json], path: str, correlated: Correlated | None
) -> Iterator[Fault]:
    fewest, most = node.counts
    if fewest is not None and len(fields) < fewest:
        yield Fault(path, INVALID, _least(fewest, "key", len(fields)))
    if most is not None and len(fields) > most:
        yield Fault(path, TOO_MANY, _most(most, "key", len(fields)))
    for name, value in fields.items():
        part = node.child(name)
        if part is not None:
            related = None if correlated is None or _is_type_meta(path, name) else correlated.key(name)
            yield from _faults(part, value, paths.child(path, name), related)
    yield from (
        Fault(paths.child(path, name), REQUIRED, "is missing") for name in _missing(node.required, fields)
    )


def _missing(required: Iterable[str], fields: dict[str, Json]) -> Iterator[str]:
    return (name for name in required if name not in fields)


def _is_type_meta(path: str, name: str) -> bool:
    return not path and name in TYPE_META

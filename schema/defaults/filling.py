"""Fills the table of defaults into objects that were read.

What is to be done for a type is found out once: which rows are about it, and which of its fields lead to others.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from api.core import Namespace, Node, Pod, PriorityClass, Quantities
from api.jobs import Job
from api.limits import LimitRange, RuntimeClass
from api.meta import Struct
from api.storage import CSIDriver, PersistentVolume, PersistentVolumeClaim, StorageClass
from schema.defaults.amounts import rounded
from schema.defaults.rows import ROWS

__all__ = ["KINDS", "filled"]

T = TypeVar("T")
Fill = Callable[[Any], None]

KINDS: Final[tuple[type[Struct], ...]] = (
    Pod,
    Node,
    Namespace,
    LimitRange,
    RuntimeClass,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSIDriver,
    PriorityClass,
    Job,
)
"""Kinds with rows, or with quantities. A kind that is a CustomResourceDefinition has its defaults in its struct."""


def filled(thing: T) -> T:
    """The object as an API server would store it. It is changed in place. Other kinds stay as they are."""
    fill = _of_object(type(thing))
    if fill is not None:
        fill(thing)
    return thing


@cache
def _of_object(kind: type[Any]) -> Fill | None:
    return _of(kind) if issubclass(kind, KINDS) else None


@cache
def _of(kind: type[Struct]) -> Fill | None:
    """What is done for a struct of this type; None if nothing is."""
    own = [row.fill for row in ROWS if row.fill is not None and issubclass(kind, row.of)]
    parts = []
    for name, hint in get_type_hints(kind).items():
        if name in kind.__struct_fields__ and (part := _of_hint(hint)) is not None:
            parts.append((name, part))
    if not own and not parts:
        return None

    def fill(thing: Any) -> None:
        for each in own:
            each(thing)
        for name, part in parts:
            value = getattr(thing, name)
            if value:
                changed = part(value)
                if changed is not None:
                    setattr(thing, name, changed)

    return fill


def _of_hint(hint: Any) -> Callable[[Any], Any] | None:
    """What is done with a value of this type. The function returns another value, or None if it is the same one."""
    if hint == Quantities:
        return _rounded
    if get_origin(hint) in (Union, types.UnionType):
        found = [part for each in get_args(hint) if (part := _of_hint(each)) is not None]
        return found[0] if len(found) == 1 else None
    if get_origin(hint) is list:
        inner = _of_hint(get_args(hint)[0])
        return None if inner is None else _each(inner)
    return _of(hint) if isinstance(hint, type) and issubclass(hint, msgspec.Struct) else None


def _each(inner: Callable[[Any], Any]) -> Fill:
    def fill(items: list[Any]) -> None:
        for item in items:
            inner(item)

    return fill


def _rounded(quantities: dict[str, Any]) -> dict[str, Any] | None:
    changed = rounded(quantities)
    return None if changed is quantities else changed

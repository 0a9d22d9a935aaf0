"""Fills the table of defaults into objects that were read.

What is to be done for a type is found out once: which rows are about it, and which of its fields lead to others.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints

from api.core import Namespace, Node, Pod, PriorityClass, Quantities
from api.foreign_owners import JobSet, LeaderWorkerSet, MPIJobV2, RayCluster, ReplicaSet
from api.jobs import Job
from api.limits import LimitRange
from api.meta import Struct
from api.storage import CSIDriver, PersistentVolume, PersistentVolumeClaim, StorageClass
from api.workloads import Workload
from schema.defaults.amounts import rounded
from schema.defaults.rows import ROWS

__all__ = ["KINDS", "SHALLOW", "filled", "filled_for_admission", "unset"]

T = TypeVar("T", bound=Struct)
Fill = Callable[[Any], None]

KINDS: Final[tuple[type[Struct], ...]] = (
    Pod,
    Node,
    Namespace,
    LimitRange,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSIDriver,
    PriorityClass,
    Job,
    ReplicaSet,
)
"""Kinds with rows, or with quantities that are rounded."""
SHALLOW: Final[tuple[type[Struct], ...]] = (Workload, JobSet, LeaderWorkerSet, RayCluster, MPIJobV2)
"""Kinds with rows whose parts have other defaults than those of the same types elsewhere."""


def filled(thing: T) -> T:
    """The object as an API server would store it. It is changed in place. Other kinds stay as they are."""
    fill = _of_object(type(thing), True)
    if fill is not None:
        fill(thing)
    return thing


def filled_for_admission(thing: T) -> T:
    """The object as admission plugins see it. It is changed in place. Other kinds stay as they are."""
    fill = _of_object(type(thing), False)
    if fill is not None:
        fill(thing)
    return thing


def unset(kind: type[T]) -> T:
    """A part of an object, such as its status, in which nothing is set but the defaults."""
    thing = kind()
    fill = _of(kind, True)
    if fill is not None:
        fill(thing)
    return thing


@cache
def _of_object(kind: type[Struct], whole: bool) -> Fill | None:
    if not issubclass(kind, (*KINDS, *SHALLOW)):
        return None
    return _of(kind, whole)


@cache
def _of(kind: type[Struct], whole: bool) -> Fill | None:
    """What is done for a struct of this type; None if nothing is. `whole`: also what comes after admission."""
    rows = (row for row in ROWS if issubclass(kind, row.of) and (whole or not row.after_admission))
    own = [row.fill for row in rows if row.fill is not None]
    parts = []
    for name, hint in () if issubclass(kind, SHALLOW) else get_type_hints(kind).items():
        if name in kind.__struct_fields__ and (part := _of_hint(hint, whole)) is not None:
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


def _of_hint(hint: Any, whole: bool) -> Callable[[Any], Any] | None:
    """What is done with a value of this type. The function returns another value, or None if it is the same one."""
    if hint == Quantities:
        return _rounded
    if get_origin(hint) in (Union, types.UnionType):
        found = [part for each in get_args(hint) if (part := _of_hint(each, whole)) is not None]
        return found[0] if len(found) == 1 else None
    if get_origin(hint) is list:
        inner = _of_hint(get_args(hint)[0], whole)
        return None if inner is None else _each(inner)
    if not (isinstance(hint, type) and issubclass(hint, Struct)):
        return None
    return _of(hint, whole)


def _each(inner: Callable[[Any], Any]) -> Fill:
    def fill(items: list[Any]) -> None:
        for item in items:
            inner(item)

    return fill


def _rounded(quantities: dict[str, Any]) -> dict[str, Any] | None:
    changed = rounded(quantities)
    return None if changed is quantities else changed

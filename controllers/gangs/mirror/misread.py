"""Annotations of owners and namespaces that say something of groups, and cannot be read. They count as absent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from api.meta import ObjectMeta
from api.owner_annotations import BY_OWNER_ANNOTATION, GANG_ANNOTATION, parse_by_owner, parse_gang
from controllers.gangs.writing.writer import Reference

__all__ = ["Fault", "Misread", "faults_of"]

PARSERS: Final[dict[str, Callable[[str], object]]] = {
    GANG_ANNOTATION: parse_gang,
    BY_OWNER_ANNOTATION: parse_by_owner,
}


class Fault(NamedTuple):
    """What is wrong with the annotations of an object."""

    regarding: Reference
    text: str


class Misread:
    """The faults of the objects that exist. A projection of watched objects, kept in every process."""

    def __init__(self) -> None:
        self._faults: dict[str, Fault] = {}
        """By UID."""

    def __iter__(self) -> Iterator[Fault]:
        return iter(list(self._faults.values()))

    def seen(self, api_version: str, kind: str, uid: str, meta: ObjectMeta | None) -> Fault | None:
        """There is a newer state of an object; None when it is gone. Returns what is wrong, if that is new."""
        text = faults_of(meta.annotations, *PARSERS) if meta is not None else ""
        if meta is None or not text:
            self._faults.pop(uid, None)
            return None
        fault = Fault(Reference(api_version, kind, meta.namespace, meta.name, uid), text)
        before, self._faults[uid] = self._faults.get(uid), fault
        return fault if fault != before else None


def faults_of(annotations: Mapping[str, str] | None, *names: str) -> str:
    """What is wrong with those of these annotations that are there; empty if nothing is."""
    return "; ".join(_faults(annotations, names)) if annotations else ""


def _faults(annotations: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name not in annotations:
            continue
        try:
            PARSERS[name](annotations[name])
        except ValueError as error:
            yield f"metadata.annotations[{name}]: {error}: it counts as if it were absent"

"""The list of all stored plans: those of nodes and of quota, and the turns of worker clusters."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from answers.names import Listed, Names, right
from answers.picture import Picture
from answers.stored.rows import Row, row_of, turn_row
from answers.stored_plans import StoredPlans

__all__ = ["Plans", "missing_rights", "plans"]

SHOWN: Final[tuple[Listed, ...]] = ("preemptionplans", "dispatchplans")


@dataclass(frozen=True, slots=True)
class Plans:
    """All rows that the reader may see: what goes on first, and the newest first."""

    rows: Sequence[Row]
    oldest: str
    """When the oldest of them was made (RFC 3339); empty without rows."""
    missing: Sequence[str]
    """Rights that would show more."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "plans": [each.plain() for each in self.rows],
            "oldestPlan": self.oldest or None,
            "missing": list(self.missing),
        }


def plans(
    picture: Picture,
    stored: Mapping[str, StoredPlans],
    names: Names,
    namespaces: Collection[str] | None = None,
) -> Plans:
    """The plans of these namespaces; None: of all. `stored`: by namespace. `names`: what the reader may list."""
    found = sorted(_rows(picture, stored, names, namespaces), key=lambda each: (each.namespace, each.name))
    found.sort(key=lambda each: each.decided, reverse=True)
    found.sort(key=lambda each: each.standing != "GoesOn")
    oldest = min((each.decided for each in found if each.decided), default="")
    return Plans(found, oldest, missing_rights(names, namespaces, SHOWN))


def _rows(
    picture: Picture,
    stored: Mapping[str, StoredPlans],
    names: Names,
    namespaces: Collection[str] | None,
) -> Iterator[Row]:
    for namespace, its in stored.items():
        if _may(names, namespaces, "preemptionplans", namespace):
            yield from (row_of(each.brief) for each in its)
    for turn in picture.worker_clusters.plans:
        if _may(names, namespaces, "dispatchplans", turn.metadata.namespace):
            yield turn_row(turn)


def _may(names: Names, namespaces: Collection[str] | None, what: Listed, namespace: str) -> bool:
    return (namespaces is None or namespace in namespaces) and names.lists(what, namespace)


def missing_rights(
    names: Names, namespaces: Collection[str] | None, kinds: Collection[Listed]
) -> Sequence[str]:
    """The rights to list these kinds that the reader lacks: in all namespaces, or in those that are asked about."""
    if namespaces is None:
        return [right(what) for what in kinds if not names.lists(what)]
    return [
        right(what, namespace)
        for what in kinds
        for namespace in sorted(namespaces)
        if not names.lists(what, namespace)
    ]

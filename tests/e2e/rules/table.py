"""A rule with an object that it accepts and one that it refuses: both differ from a base in what the rule is about."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["ABSENT", "Edits", "Rule", "edited"]

Json = dict[str, Any]
Edits = Mapping[str, Any]
"""Path, with slashes and indices, to value."""

Pairs = frozenset[tuple[str, str]]
"""(field, type)."""

ABSENT: Final = object()
"""As a value: the field is removed."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a table."""

    name: str
    """Where it is from, if not everything of the kind is from there: Kueue's CRD or webhook, or a KEP."""
    base: Json
    """Is accepted, and is what is stored before an update."""
    good: Edits
    bad: Edits
    causes: Pairs
    """What is wrong with the base once `bad` is put in."""
    update_causes: Pairs
    """The same on an update."""
    creates: bool
    """Whether it holds when objects are created, too."""
    subresource: str
    user: str
    """Who writes; the administrator, by default."""

    @classmethod
    def of(
        cls,
        name: str,
        base: Json,
        bad: Edits,
        *causes: str,
        good: Edits | None = None,
        on_update: str = "",
        creates: bool = True,
        subresource: str = "",
        user: str = "",
    ) -> Rule:
        """`causes`, `on_update` (with commas): `FIELD TYPE`, the type without the FieldValue that all begin with.

        By default it is the base itself that is accepted, and an update is refused for the same causes.
        """
        return cls(
            name,
            base,
            good or {},
            bad,
            _pairs(*causes),
            _pairs(*on_update.split(", ")) if on_update else _pairs(*causes),
            creates and not subresource,
            subresource,
            user,
        )

    def __str__(self) -> str:
        return f"{self.base['kind']} {self.name}"


def _pairs(*causes: str) -> Pairs:
    return frozenset(
        (field, f"FieldValue{kind}") for field, _, kind in (each.rpartition(" ") for each in causes)
    )


def edited(base: Json, edits: Edits) -> Json:
    """A copy with these values."""
    made = copy.deepcopy(base)
    for path, value in edits.items():
        *parents, last = path.split("/")
        place: Any = made
        for step in parents:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
        key = int(last) if isinstance(place, list) else last
        if value is ABSENT:
            del place[key]
        elif isinstance(place, list) and key == len(place):
            place.append(value)
        else:
            place[key] = value
    return made

"""Merges documents of several files into one. Two files that give one field different values are an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final, TypeAlias

from api.validation import FieldError, join
from api.yaml import Json

__all__ = ["Merged"]

Section: TypeAlias = "dict[str, Json]"
MOST_SHOWN: Final = 60
"""The length of a value in a message."""


class Merged:
    """One document, made of parts. Mappings are merged, to any depth; everything else is one value, lists too.

    `whole`: the paths of mappings that are one value. Paths have the form of `api.validation.join`.
    """

    def __init__(self, whole: frozenset[str] = frozenset()) -> None:
        self.document: Section = {}
        self._whole = whole
        self._names: dict[str, list[str]] = {"": []}
        """By path, the parts that have the field."""

    def add(self, part: Section, name: str) -> None:
        """Add the fields of a part. Raises FieldError, with both names, where an earlier part has another value."""
        self._join(self.document, part, "", lambda _: [name], refuse=True)

    def complete(self, other: Merged) -> None:
        """Add the fields that only the other one has. Where both have a value, this one's stays."""
        self._join(self.document, other.document, "", other.names, refuse=False)

    def names(self, field: str) -> list[str]:
        """The name of the part that a field comes from. If no part has it: all with the innermost section around it."""
        if exact := field and self._names.get(field):
            return exact[:1]
        around = [path for path in self._names if not path or field.startswith((f"{path}.", f"{path}["))]
        return self._names[max(around, key=len)]

    def _join(
        self, into: Section, part: Section, path: str, names: Callable[[str], list[str]], *, refuse: bool
    ) -> None:
        self._note(path, names)
        for key, value in part.items():
            here = join(path, key)
            section = self._is_section(value, here)
            old = into.setdefault(key, {} if section else value)
            if section and self._is_section(old, here):
                self._join(old, value, here, names, refuse=refuse)  # type: ignore[arg-type]  # both are mappings
            elif old is value or _same(old, value):
                self._note(here, names)
            elif refuse:
                first, second = self._names[here][0], names(here)[0]
                raise FieldError(here, f"is {_shown(old)} in {first}, and {_shown(value)} in {second}")

    def _note(self, path: str, names: Callable[[str], list[str]]) -> None:
        known = self._names.setdefault(path, [])
        known += [name for name in names(path) if name not in known]

    def _is_section(self, value: Json, path: str) -> bool:
        return isinstance(value, dict) and path not in self._whole


def _same(one: Json, other: Json) -> bool:
    """Whether two values are the same in JSON. In Python true is 1, too."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _shown(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."

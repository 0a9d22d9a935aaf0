"""The result of a check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

__all__ = [
    "DUPLICATE",
    "FORBIDDEN",
    "INVALID",
    "NOT_FOUND",
    "NOT_SUPPORTED",
    "REQUIRED",
    "TOO_LONG",
    "TOO_MANY",
    "TYPE_INVALID",
    "Cause",
    "Verdict",
]

INVALID: Final = "FieldValueInvalid"
REQUIRED: Final = "FieldValueRequired"
DUPLICATE: Final = "FieldValueDuplicate"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
NOT_FOUND: Final = "FieldValueNotFound"
FORBIDDEN: Final = "FieldValueForbidden"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"
TYPE_INVALID: Final = "FieldValueTypeInvalid"
"""meta/v1 CauseType, the values that our rules use."""


@dataclass(frozen=True, slots=True)
class Cause:
    """One fault (meta/v1 StatusCause)."""

    field: str
    """The path, such as `spec.podSets[0].name`. A key of a map stands in brackets, unchanged."""
    type: str
    message: str
    """A text for people, without the field. It names every value that the rule depends on (see
    `webhooks.rules.ratchet`)."""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a request. It is allowed if there are no causes."""

    causes: tuple[Cause, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def allowed(self) -> bool:
        """Whether there are no causes; warnings do not count."""
        return not self.causes

    @classmethod
    def of(cls, causes: Iterable[Cause], warnings: Iterable[str] = ()) -> Verdict:
        """The verdict with these causes and warnings, in this order."""
        return cls(tuple(causes), tuple(warnings))

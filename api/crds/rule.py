"""One rule in CEL, and the forms that several rules share."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["ValidationRule", "exactly_one", "unchanged"]


class ValidationRule(NamedTuple):
    """An entry of `x-kubernetes-validations`."""

    rule: str
    """CEL over `self`, and over `oldSelf` where it is about a change."""
    message: str
    """What is said when it does not hold."""
    field_path: str = ""
    """The field below that is at fault, such as `.priority`; by default what the rule stands at."""
    optional_old_self: bool = False
    """Also holds of what is new: `oldSelf` is an optional then."""

    def entry(self) -> dict[str, Any]:
        """As the CRD has it."""
        entry: dict[str, Any] = {"rule": self.rule, "message": self.message}
        if self.field_path:
            entry["fieldPath"] = self.field_path
        if self.optional_old_self:
            entry["optionalOldSelf"] = True
        return entry


def unchanged(field: str) -> ValidationRule:
    """The field is neither set, changed nor removed."""
    same = f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
    return ValidationRule(same, f"{field} is immutable")


def exactly_one(first: str, second: str) -> ValidationRule:
    """One of two optional fields is set."""
    return ValidationRule(
        f"has(self.{first}) != has(self.{second})", f"exactly one of {first} and {second} must be set"
    )

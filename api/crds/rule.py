"""A validation rule of a CRD in CEL, and two forms that several rules share."""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["ValidationRule", "exactly_one", "unchanged"]


class ValidationRule(NamedTuple):
    """An entry of `x-kubernetes-validations`."""

    rule: str
    """A CEL expression over `self`. A rule about a change also uses `oldSelf`."""
    message: str
    """The API server's message if the rule does not hold."""
    field_path: str = ""
    """The path of the field at fault below the rule's place, such as `.priority`. Empty means the place itself."""
    optional_old_self: bool = False
    """True if the rule also applies to new objects. Then `oldSelf` is an optional."""

    def entry(self) -> dict[str, Any]:
        """The rule in JSON form."""
        entry: dict[str, Any] = {"rule": self.rule, "message": self.message}
        if self.field_path:
            entry["fieldPath"] = self.field_path
        if self.optional_old_self:
            entry["optionalOldSelf"] = True
        return entry


def unchanged(field: str) -> ValidationRule:
    """The rule that nobody sets, changes or removes the field after the creation of the object."""
    same = f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || self.{field} == oldSelf.{field})"
    return ValidationRule(same, f"{field} is immutable")


def exactly_one(first: str, second: str) -> ValidationRule:
    """The rule that exactly one of two optional fields is set."""
    return ValidationRule(
        f"has(self.{first}) != has(self.{second})", f"exactly one of {first} and {second} must be set"
    )

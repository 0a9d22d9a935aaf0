"""What the rules are asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from webhooks.facts import NO_FACTS, Facts
from webhooks.settings import Settings

__all__ = ["Object", "Operation", "Request"]

Object: TypeAlias = dict[str, Any]
"""A JSON object. What is stored may be of any shape: rules read it through `webhooks.rules.fields`."""
Operation = Literal["CREATE", "UPDATE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to create or update an object, as an API server puts it: nothing in it may be changed."""

    kind: str
    operation: Operation
    new: Object
    """The object as it would be stored."""
    old: Object | None = None
    """What is stored; None on CREATE."""
    subresource: str = ""
    """`status`, or empty."""
    user: str = ""
    """Whose request it is; empty if that is not known."""
    facts: Facts = NO_FACTS
    settings: Settings = field(default_factory=Settings)
    now: str = ""
    """RFC 3339, whole seconds, Z. Only defaulting needs it."""

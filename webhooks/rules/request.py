"""The request that rules are asked about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from webhooks.facts import NO_FACTS, Facts
from webhooks.settings import Settings

__all__ = ["Object", "Operation", "Request"]

Object: TypeAlias = dict[str, Any]
"""A JSON object. A stored object may have any shape, so rules read it through `webhooks.rules.fields`."""
Operation = Literal["CREATE", "UPDATE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to create or update an object, as an API server sends it. Nothing in it may be changed."""

    kind: str
    operation: Operation
    new: Object
    """The object as it would be stored."""
    old: Object | None = None
    """The stored object; None on CREATE."""
    subresource: str = ""
    """`status`, or ""."""
    user: str = ""
    """The user who sends the request; "" if not known."""
    facts: Facts = NO_FACTS
    settings: Settings = field(default_factory=Settings)
    now: str = ""
    """The time in RFC 3339, with whole seconds and Z. Only defaulting needs it."""

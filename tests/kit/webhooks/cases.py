"""What Kueue's API answers: requests to write its objects, good and bad, with the verdict of its schemas and webhooks.

Recorded from Kueue's CRDs on an API server 1.37.1 and from Kueue's webhook code (kubernetes-sigs/kueue at ff69552e,
default feature gates).
"""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

__all__ = ["DEPARTURES", "UNREADABLE", "Case", "Cause", "Expected", "cases"]

Json = dict[str, Any]

FILE: Final = Path(__file__).parents[2] / "conformance" / "webhooks" / "cases.jsonl.xz"

DEPARTURES: Final = {
    "workload-3251": "KEP-8303: the name of a gate is a qualified name",
    "workload-4959": "KEP-8303: the name of a gate is a qualified name",
    "clusterqueue-1412": "what is stored and cannot be read may be repaired; Kueue's decoder fails on the old object",
}
"""Cases in which we allow what Kueue refuses, or refuse what it allows, and why."""
UNREADABLE: Final = [("", "DecodeError")]
"""Kueue's decoder refuses the object as a whole; ours name the field."""


class Cause(Struct, frozen=True):
    """One thing that is wrong, and where."""

    field: str
    type: str

    @property
    def is_field(self) -> bool:
        """Whether the field is one: API servers also answer `<nil>`, or `status` for what they cannot place."""
        return self.field not in ("<nil>", "status", "")


class Expected(Struct):
    """The verdict."""

    allowed: bool
    stage: Literal["schema", "webhook"] | None
    """Who refused: the API server by itself (decoding, metadata, schema, CEL), or the webhook."""
    causes: list[Cause]
    messages: list[str]

    def fields(self) -> set[str]:
        """The fields at fault."""
        return {cause.field for cause in self.causes if cause.is_field}


class Case(Struct, rename="camel"):
    """A request."""

    id: str
    kind: str
    operation: Literal["CREATE", "UPDATE"]
    subresource: Literal["", "status"]
    object: Json
    """What the client sends, before any defaulting."""
    old_object: Json | None
    """What is stored, after defaulting; without uid, resourceVersion, creationTimestamp and generation."""
    expect: Expected
    tags: list[str]
    """The first is the rule that the case is about."""


@cache
def cases() -> tuple[Case, ...]:
    """All of them, in the file's order."""
    return tuple(msgspec.json.decode(line, type=Case) for line in lzma.open(FILE))

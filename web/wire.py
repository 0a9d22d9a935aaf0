"""The JSON of the page's API that no command has. `web.openapi` describes it by these structs."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = [
    "Answer",
    "Fault",
    "Found",
    "FoundObject",
    "LogIn",
    "Mode",
    "Namespaces",
    "NewSession",
    "Row",
    "SessionAnswer",
    "Waiting",
]


class Wire(msgspec.Struct, rename="camel"):
    """Base class: names in camelCase."""


class LogIn(Wire, forbid_unknown_fields=True):
    """How somebody logs in: with one of both."""

    code: str = ""
    """Printed by `reprieve page`. It works once, within five minutes."""
    token: str = ""
    """Of the API server."""


class NewSession(Wire):
    """Somebody is logged in."""

    session: str
    """For the header `Authorization: Bearer`."""
    user: str
    expires: str
    """RFC 3339."""


class Mode(Wire):
    """What reprieve does in the cluster."""

    mode: str
    """Off, Observe or Enforce; empty if no process says it."""
    sentence: str
    enforced_namespace_selector: Any = None
    """If only some namespaces are enforced: their label selector."""
    pauses: list[str] = msgspec.field(default_factory=list)
    limits: list[str] = msgspec.field(default_factory=list)


class Namespaces(Wire):
    """The namespaces where the reader sees anything."""

    all: bool
    named: list[str]
    """Those of `asked` where the reader may list anything."""
    asked: list[str]


class SessionAnswer(Wire):
    """Who is logged in, and what they see."""

    user: str
    groups: list[str]
    expires: str
    """RFC 3339; empty for a token that the browser has of elsewhere."""
    cluster: str
    """The context, or the names of the files."""
    live: bool
    mode: Mode
    namespaces: Namespaces
    missing: list[str]
    """The rights that would show more."""
    command: str
    """The options by which a command reads the same."""


class Row(Wire):
    """Something that waits."""

    kind: str
    namespace: str
    name: str
    place: int | None
    """In the order in which gangs are planned. It is no promise."""
    state: str
    sentence: str
    since: str
    priority: int | None
    min_count: int | None
    members: int | None
    bound: int | None
    plan: str
    queue: str


class Waiting(Wire):
    """All that waits, and the reader may list."""

    version: str
    moment: str
    """RFC 3339."""
    trouble: str
    """Why this may be old. Empty if it is not."""
    groups: list[Row]
    pods: list[Row]
    workloads: list[Row]
    missing: list[str]
    """The rights that would show more."""


class Place(Wire):
    """A domain or a flavor, and why it does not take what waits."""

    name: str
    outcome: str
    reason: str


class PodCount(Wire):
    """How many pods of a pod set get quota."""

    name: str
    count: int
    asked_count: int


class Answer(Wire):
    """Why an object waits: what `reprieve why -o json` prints."""

    kind: str
    name: str
    waits: bool
    state: str
    sentence: str
    source: str
    since: str
    numbers: dict[str, int | str]
    missing: list[str]
    places: list[Place]
    waits_for: list[str]
    would_help: list[str]
    stays: list[str]
    notes: list[str]
    tried_again: str
    pod_sets: list[PodCount]
    not_modelled: list[str]
    plan: str
    decision: dict[str, Any] | None
    depends: list[Answer]


class FoundObject(Wire):
    """An object that has an answer."""

    kind: str
    namespace: str
    name: str


class Found(Wire):
    """What a search has found."""

    found: list[FoundObject]
    more: bool
    """Whether there are more than these."""


class Fault(Wire):
    """Why there is no answer."""

    reason: str
    """One word in CamelCase."""
    message: str
    right: str
    """What the reader would need. Empty if no right helps."""

"""Who is logged in, and what they see."""

from __future__ import annotations

from typing import Any

import msgspec

from answers.modes import ModeName
from web.wire.base import Wire

__all__ = ["LogIn", "Mode", "Namespaces", "NewSession", "SessionAnswer"]


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

    mode: ModeName
    """Empty if no process says it."""
    sentence: str
    enforced_namespace_selector: Any = None
    """If only some namespaces are enforced: their label selector. For a reader who may list pods in all of them."""
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
    trouble: str
    """Why what is shown may be old. Empty if it is not."""
    mode: Mode
    namespaces: Namespaces
    missing: list[str]
    """The rights that would show more."""
    command: str
    """The options by which a command reads and decides the same."""
    reads: str
    """Those of them that say what is read, and when."""

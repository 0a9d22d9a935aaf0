"""Who is logged in, and what they see: the top of each view."""

from __future__ import annotations

from dataclasses import dataclass

from answers.modes import mode_of
from api.times import rfc3339
from web.readers.door import Reader
from web.readers.rights import Granted
from web.sources.source import Source
from web.wire.session import Mode, Namespaces, SessionAnswer

__all__ = ["Place", "session_answer"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the process reads."""

    cluster: str
    """The context, or the names of the files; empty in a cluster."""
    command: str = ""
    """The options by which a command reads and decides the same."""
    reads: str = ""
    """Those of them that say what is read, and when: every command that reads a cluster takes them."""


def session_answer(reader: Reader, granted: Granted, source: Source, place: Place) -> SessionAnswer:
    """What the page says of the reader."""
    mode = mode_of(source.lease, lambda namespace: granted.lists("pods", namespace))
    return SessionAnswer(
        user=reader.user.name,
        groups=sorted(reader.user.groups),
        expires=rfc3339(reader.session.ends_at) if reader.session is not None else "",
        cluster=place.cluster,
        live=source.is_live,
        trouble=source.trouble,
        mode=Mode(mode.mode, mode.sentence, mode.selector, list(mode.pauses), list(mode.limits)),
        namespaces=Namespaces(granted.all_namespaces, list(granted.named), list(granted.asked)),
        missing=granted.missing(),
        command=place.command,
        reads=place.reads,
    )

"""Pauses: annotations of a Namespace by which reprieve evicts nobody for a while."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from api.times import parse_rfc3339

__all__ = ["PAUSED", "PAUSED_UNTIL", "RESUMED", "Pause", "pause_of", "pauses_in", "pauses_text", "resumed_at"]

PAUSED: Final = "reprieve.dev/paused"
"""Annotation: why reprieve evicts nobody of the namespace, and nobody for it. On reprieve's own namespace: nobody at
all."""
PAUSED_UNTIL: Final = "reprieve.dev/paused-until"
"""Annotation: when that ends (RFC 3339). Without it, or if it cannot be read, the pause has no end."""

RESUMED: Final = "reprieve.dev/resumed"
"""Annotation of reprieve's own namespace: when somebody last resumed evictions (RFC 3339). Plans that evicted in vain
before do not count any longer (`planning.limits.plansInVainPerHour`)."""

MOST_PAUSES: Final = 50
"""On the Lease. All others are in the Namespaces."""
MOST_CHARACTERS: Final = 200
"""Of the reason: it lands in conditions, in annotations of the Lease, and on terminals."""


@dataclass(frozen=True, slots=True)
class Pause:
    """What a Namespace says."""

    namespace: str
    why: str
    """One line; empty if no reason is given."""
    until: float | None = None
    """When it ends, in seconds since the epoch; None: it has no end."""
    end: str = ""
    """The same as it is written; empty without an end."""
    fault: str = ""
    """Why its end cannot be read. Then it has none."""

    def holds(self, now: float) -> bool:
        """Whether it has not ended. `now` is in seconds since the epoch."""
        return self.until is None or now < self.until

    @property
    def reason(self) -> str:
        """What follows the words "are paused": its end and its reason."""
        end = f" until {self.end}" if self.end else ""
        return f"{end}: {self.why or 'no reason is given'}"


class _Told(msgspec.Struct, omit_defaults=True):
    namespace: str
    why: str
    until: str = ""
    fault: str = ""


def pauses_text(pauses: Sequence[Pause]) -> str:
    """The first pauses as a JSON list. Each has `namespace` and `why`, and `until` if it has an end."""
    told = [_Told(each.namespace, each.why, each.end, each.fault) for each in pauses[:MOST_PAUSES]]
    return msgspec.json.encode(told).decode()


def pauses_in(text: str) -> list[Pause]:
    """The same, read again, without the moments of their ends. Text that somebody else wrote says nothing."""
    try:
        told = msgspec.json.decode(text or "[]", type=list[_Told])
    except msgspec.DecodeError:
        return []
    return [Pause(each.namespace, each.why, end=each.until, fault=each.fault) for each in told]


def pause_of(namespace: str, annotations: Mapping[str, str] | None) -> Pause | None:
    """The pause of a namespace, whether or not it has ended; None if nobody has paused it."""
    said = annotations or {}
    why = said.get(PAUSED)
    if why is None:
        return None
    why, text = " ".join(why.split())[:MOST_CHARACTERS], said.get(PAUSED_UNTIL)
    if text is None:
        return Pause(namespace, why)
    try:
        return Pause(namespace, why, parse_rfc3339(text, PAUSED_UNTIL), text)
    except ValueError:
        return Pause(namespace, why, fault="is no time as in RFC 3339, such as 2026-11-26T18:30:00Z")


def resumed_at(annotations: Mapping[str, str] | None) -> float:
    """When evictions were last resumed, in seconds since the epoch. 0 without a time, or if it cannot be read."""
    try:
        return parse_rfc3339((annotations or {}).get(RESUMED, ""), RESUMED)
    except ValueError:
        return 0.0

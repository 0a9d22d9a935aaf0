"""What becomes of a gang that never ran whole and has members bound. A pure function of what is known of the gang.

Its bound members run without the others, and take room that could serve a whole gang. They are released only where it
is certain that the gang never ran whole, that they come back, and that nobody counts their eviction as a failure.

See docs/decisions/0033.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from controllers.gangs.lifecycle.settings import RELEASE_SECONDS, PartialGangs

__all__ = ["HELD_SECONDS", "Keep", "Member", "NotYet", "Pieces", "Release", "Verdict", "resolve"]


HELD_SECONDS: Final = 2.0
"""How long a gang says that it waits, and is not bound, until it counts as held. Times are in whole seconds."""


@dataclass(frozen=True, slots=True)
class Member:
    """A member that has neither ended nor begun to terminate. Times are seconds since the epoch."""

    name: str
    created: float
    bound: float | None = None
    """When it was bound; None if it waits."""
    controlled: bool = True
    """It has a controller, which creates it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """A gang that may be in pieces. Times of day are seconds since the epoch."""

    minimum: int
    """minCount."""
    members: tuple[Member, ...]
    ended: int = 0
    """Members that were bound, and terminate or have failed."""
    succeeded: int = 0
    """Members that Succeeded."""
    has_run: bool = False
    """Its PodGroup says so."""
    held_since: float | None
    """Since when its condition PodGroupInitiallyScheduled is False; None if it is not, or if we did not write it."""
    known_since: float
    """Since when this process leads."""
    makes_room: bool = False
    """It has a plan that makes room for the others, as far as that is known."""
    seconds: float
    """For how long it has been in pieces, as far as this process knows."""
    patience: float
    """`planning.partialGangSeconds`."""
    setting: PartialGangs = "Release"
    """`planning.partialGangs`."""
    released: float | None = None
    """How many seconds ago its members were last released; None if they never were."""
    budget: str = ""
    """A PodDisruptionBudget that does not allow the eviction of all bound members."""
    limit: str = ""
    """Why an owner of bound members does not bear their eviction."""
    called: bool = True
    """Its scheduler has asked us about a pod, or was seen to try a member, since this process leads."""
    paused: str = ""
    """Why nobody may be evicted now."""
    limited: str = ""
    """The limit on evictions that does not allow it now."""

    @property
    def bound(self) -> tuple[Member, ...]:
        """The members that would be evicted."""
        return tuple(member for member in self.members if member.bound is not None)


@dataclass(frozen=True, slots=True)
class Release:
    """The bound members are evicted."""


@dataclass(frozen=True, slots=True)
class Keep:
    """They stay, and users learn why. That may change."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotYet:
    """There is nothing to decide now."""


Verdict = Release | Keep | NotYet


def resolve(pieces: Pieces) -> Verdict:
    """Whether the bound members are evicted."""
    if not 0 < len(pieces.bound) < pieces.minimum or pieces.has_run or pieces.seconds < pieces.patience:
        return NotYet()
    if pieces.makes_room:
        return NotYet()
    reason = next((reason for rule in RULES if (reason := rule(pieces))), "")
    return Keep(reason) if reason else Release()


# ---- why they stay: the first rule that says something


def _setting(pieces: Pieces) -> str:
    return "planning.partialGangs is Keep" if pieces.setting == "Keep" else ""


def _paused(pieces: Pieces) -> str:
    return pieces.paused


def _limited(pieces: Pieces) -> str:
    return pieces.limited


def _not_held(pieces: Pieces) -> str:
    if pieces.held_since is not None:
        return ""
    return "reprieve has never said of this PodGroup that it waits"


def _not_known(pieces: Pieces) -> str:
    """A condition that was written after a member had been bound does not say that the gang had not run before."""
    first = _first_bound(pieces)
    if first.bound is None or min(pieces.held_since or first.bound, pieces.known_since) <= first.bound:
        return ""
    return f"pod {first.name} was bound before reprieve said that the gang waits"


def _has_succeeded(pieces: Pieces) -> str:
    return "a member has succeeded" if pieces.succeeded else ""


def _has_ended(pieces: Pieces) -> str:
    if len(pieces.bound) + pieces.ended < pieces.minimum:
        return ""
    return "with its members that terminate or have failed, the gang may have run whole"


def _replaced(pieces: Pieces) -> str:
    """A member that was created later may replace one with which the gang ran whole."""
    first = _first_bound(pieces)
    for member in pieces.members:
        if member.bound is None and first.bound is not None and member.created > first.bound:
            return (
                f"pod {member.name} was created after pod {first.name} was bound: the gang may have run whole"
            )
    return ""


def _not_controlled(pieces: Pieces) -> str:
    name = next((member.name for member in pieces.bound if not member.controlled), "")
    return f"pod {name} has no controller that would create it again" if name else ""


def _released(pieces: Pieces) -> str:
    if pieces.released is None or pieces.released >= RELEASE_SECONDS:
        return ""
    return f"its members were released less than {RELEASE_SECONDS / 60:.0f} minutes ago"


def _budget(pieces: Pieces) -> str:
    return f"PodDisruptionBudget {pieces.budget} does not allow it" if pieces.budget else ""


def _limit(pieces: Pieces) -> str:
    return pieces.limit


def _not_called(pieces: Pieces) -> str:
    """Somebody must hold the members that come back.

    On a quiet cluster the scheduler has nothing to ask: it does not call an extender about a pod for which no node
    passes its own filters. Then it counts that it did not bind the members while we held them, and did once we were
    away. A release in vain does not repeat: the next time the members are bound while this process leads.
    """
    first = _first_bound(pieces).bound or 0.0
    held = pieces.held_since is not None and first - pieces.held_since >= HELD_SECONDS
    if pieces.called or (held and first < pieces.known_since):
        return ""
    return "its scheduler has not called since reprieve started"


RULES: Final[tuple[Callable[[Pieces], str], ...]] = (
    _setting,
    _paused,
    _limited,
    _not_held,
    _not_known,
    _has_succeeded,
    _has_ended,
    _replaced,
    _not_controlled,
    _released,
    _budget,
    _limit,
    _not_called,
)


def _first_bound(pieces: Pieces) -> Member:
    return min(pieces.bound, key=lambda member: (member.bound or 0.0, member.name))

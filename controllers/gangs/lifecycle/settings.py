"""What operators set about a gang's life, and the times that its rules know."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, Literal, NamedTuple

from api.backoff import Backoff
from controllers.gangs.scheduler.attempts import Backoffs

__all__ = [
    "ASKED_SECONDS",
    "ASK_AGAIN_SECONDS",
    "ESTIMATES",
    "FITS_SECONDS",
    "LEAST_ESTIMATE_SECONDS",
    "OBSERVED_SECONDS",
    "REPLANS_AT_ONCE",
    "REGATHER_SECONDS",
    "RELEASE_SECONDS",
    "PASS_SECONDS",
    "REMIND_SECONDS",
    "REWRITE_SECONDS",
    "SETTLED_SECONDS",
    "VAIN_AT_MOST",
    "TURNED_DOWN_SECONDS",
    "Confirmation",
    "GatesMode",
    "NativeGroups",
    "PartialGangs",
    "PiecesRule",
    "Settings",
]

Confirmation = Literal["Prefer", "Require", "Off"]
"""What follows for a member that the scheduler says nothing about: Prefer waits a while and then believes our model,
Require evicts nothing, Off believes the model at once."""

GatesMode = Literal["Gathering", "UntilPlanned", "Off"]
"""When the scheduling gate of a gang's members is removed. Gathering: as soon as minCount members exist. UntilPlanned:
as soon as our model finds a place for the gang. Off: at once, and the webhook adds none."""

NativeGroups = Literal["Steer", "Drive", "Off"]
"""What is done for gangs of kube-scheduler's own kind. Steer: the scheduler evicts where we say, if its rule evicts the
plan's victims, and otherwise we do. Drive: we evict and reserve, and the scheduler finds free room.
Off: they are no preemptors of ours."""

PartialGangs = Literal["Release", "Keep"]
"""What becomes of a gang that never ran whole and has members bound. Release: they are evicted, so that it waits as a
whole. Keep: they stay."""


class PiecesRule(NamedTuple):
    """What becomes of gangs in pieces, and when."""

    setting: PartialGangs
    seconds: float
    """How long a gang that never ran whole may have members bound, while no plan frees room for the others."""


ASKED_SECONDS: Final = 30.0
"""How long a plan waits at most for the scheduler's word after it was asked."""

ASK_AGAIN_SECONDS: Final = 1.5
"""A member that the scheduler refused right after a change of its node is asked about once more after this time.

By then the scheduler knows of the change (`controllers.gangs.scheduler.offers.SETTLE_SECONDS`)."""

REPLANS_AT_ONCE: Final = 5
"""Number of plans in a row that are followed by another one at once. After that the gang waits between plans."""

TURNED_DOWN_SECONDS: Final = 2.0
"""After an offer, a member's new rejection counts only when this time has passed: an older one may be on its way."""

ESTIMATES: Final = 2
"""A steered plan gives its room back when nobody has presented it for this number of estimates of the next attempt."""

LEAST_ESTIMATE_SECONDS: Final = 30.0
"""An estimate counts as this at least: the attempts on other groups come in between."""

LATER_SECONDS: Final = 5.0
"""The time of the next attempt is stored for people if it is at least as far away."""

PASS_SECONDS: Final = 120.0
"""A pass of the scheduler is over after this time, and its victims are marked. With 100 members it takes some 11 s.

What was stored before was not stored in the pass that goes on."""

SETTLED_SECONDS: Final = 2.0
"""After this time without a new mark the scheduler has marked all pods that it evicts in one attempt.

It marks them one after the other, at some 100 in a second, and nominates the members meanwhile."""

REMIND_SECONDS: Final = 5.0
"""How long a Ready plan's members may stay unbound before they are brought back again. It doubles each time."""

VAIN_AT_MOST: Final = 2
"""Number of evicting plans in vain after which the gang evicts nothing for a long while."""

REGATHER_SECONDS: Final = 2.0
"""How long a gang that has run and has no bound member waits after each new member, until minCount are there.

A Job that is resumed creates its pods one after the other. Nobody promises that all of them come."""

RELEASE_SECONDS: Final = 1800.0
"""The bound members of a gang are released at most once in this time."""

OBSERVED_SECONDS: Final = 60.0
"""A gang that is observed gets at most one new plan in this time, and is decided again after it."""

FITS_SECONDS: Final = 5.0
"""How long a gang that is observed, and fits, is not decided again. Its members are bound one after the other then."""

REWRITE_SECONDS: Final = 1.0
"""How long a phase that could not be written waits."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What operators set. Times are seconds."""

    backoff: Backoff
    """Between plans in vain."""
    plan_seconds: float
    """How long a plan may take."""
    confirmation: Confirmation = "Prefer"
    confirmation_seconds: float = 5.0
    """How long an unknown member's plan waits, from the later of being asked and its last attempt."""
    vain_seconds: float = 1800.0
    """How long a gang evicts nobody after VAIN_AT_MOST plans in vain. Before that, a delay doubles up to it."""

    untried_seconds: float = 5.0
    """How long a plan that evicts waits at most for the scheduler to try every member once."""

    partial_seconds: float = 120.0
    """How long a gang that never ran whole may have members bound, while no plan frees room for the others."""

    attempts: Backoffs = field(default_factory=Backoffs)
    """How long kube-scheduler lets a gang of its own kind wait between attempts."""

    def vain_delay(self, setbacks: int) -> float:
        """How long a gang that evicted in vain evicts nothing, after this number of setbacks."""
        return replace(self.backoff, last=self.vain_seconds).delay(setbacks)

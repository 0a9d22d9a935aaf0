"""What the scheduler did instead of an observed plan: `status.instead`."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, UnsetType

from api.meta import Struct

__all__ = ["Instead", "InsteadVictims", "StateOfDecision"]

StateOfDecision = Literal["Same", "Changed", "Unknown"]


class InsteadVictims(Struct, omit_defaults=False):
    """The pods that a scheduler preempted for the preemptor."""

    pods: int = 0
    """The number of pods."""
    units: int = 0
    """The number of units: a group that is evicted whole counts once, also if only a part of it was preempted."""
    highest_priority: int | UnsetType = UNSET
    """The highest priority of a unit. Absent without victims, and if no priority is known."""
    priority_sum: int = 0
    """The sum over all units of priority plus 2**31, as in the score of a domain."""


class Instead(Struct, omit_defaults=False):
    """What was seen from the time when the preemptor was complete until it was bound or gone."""

    victims: InsteadVictims
    """Whom a scheduler preempted for it."""
    state: StateOfDecision = "Unknown"
    """Same: the plan was decided on the state before the scheduler began. Changed: it was not, so both cannot be
    compared. Unknown: not all of what the scheduler did was seen."""
    groups_broken: int = 0
    """The number of groups that lost only a part of their pods, although they are evicted whole by rule."""
    served_nobody: int = 0
    """The number of pods that were preempted, and on whose node no pod of the preemptor was bound in time, or whose
    preemptor did not run whole in time. The time is observing.episodeSeconds."""
    in_pieces: bool = False
    """Whether for a second or more some members were bound, and fewer than minCount."""
    in_pieces_seconds: int = 0
    """For how many seconds in all."""
    bound: bool = False
    """Whether minCount members were bound at the same time."""
    seconds_until_bound: int | UnsetType = UNSET
    """From the first decision until then. Absent if it is not bound."""
    unattributed: int = 0
    """The number of pods that a scheduler preempted on nodes of the preemptor for somebody who is not known. They are
    not counted as victims."""
    concluded: bool = False
    """Whether nothing of this will change."""
    as_of: str = ""
    """When this was true (RFC 3339)."""

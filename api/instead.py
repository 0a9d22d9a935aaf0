"""What the scheduler did instead of an observed plan: `status.instead`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import UNSET, UnsetType, field

from api.meta import Struct

__all__ = [
    "LINES",
    "MOST_SECONDS",
    "Costs",
    "Instead",
    "InsteadVictims",
    "ResourceSeconds",
    "StateOfDecision",
    "beyond_ours",
    "sum_of",
]

StateOfDecision = Literal["Same", "Changed", "Unknown"]
ResourceSeconds = dict[str, int]
"""By resource: cpu in core-seconds, memory in GiB-seconds, devices in device-seconds. Zero may be left out."""
LINES: Final = ("served_nobody", "idle_remainders", "held_in_pieces", "victims", "ours")
"""The fields of `Costs` that are amounts."""
MOST_SECONDS: Final = 2**53 - 1
"""No amount is higher: every reader of JSON can hold it."""


class Costs(Struct, omit_defaults=False):
    """What was lost, as far as requests and ages are known. Each amount is by resource: cpu in core-seconds, memory in
    GiB-seconds, devices in device-seconds. The first three and the victims beyond ours have nothing in common."""

    served_nobody: ResourceSeconds = field(default_factory=dict)
    """The work that was lost of the victims that served nobody: requests times the time from the start of the pod to
    its preemption. It is a part of victims."""
    idle_remainders: ResourceSeconds = field(default_factory=dict)
    """The requests of the pods that stayed of a broken group, times the time until they went too, or the group ran
    whole again. The time is observing.episodeSeconds at most."""
    held_in_pieces: ResourceSeconds = field(default_factory=dict)
    """The requests of the bound members, times the time in which the gang was in pieces."""
    victims: ResourceSeconds = field(default_factory=dict)
    """The work that was lost of all victims of the scheduler."""
    ours: ResourceSeconds = field(default_factory=dict)
    """The work that the victims of our decision would have lost, as of the time of the decision."""
    unknown: int = 0
    """The number of the scheduler's victims that are in no amount, because their requests or their age are not
    known."""
    unknown_ours: int = 0
    """The number of victims of our decision that are in no amount for the same reason."""


def sum_of(costs: Iterable[Costs]) -> Costs:
    """The sum of each amount, `MOST_SECONDS` at most. Without any: zero. An amount below zero counts as none."""
    total = Costs()
    for each in costs:
        for line in LINES:
            amounts: ResourceSeconds = getattr(total, line)
            for resource, seconds in getattr(each, line).items():
                amounts[resource] = min(MOST_SECONDS, amounts.get(resource, 0) + max(0, seconds))
        total.unknown += each.unknown
        total.unknown_ours += each.unknown_ours
    return total


def beyond_ours(costs: Costs) -> ResourceSeconds:
    """The work that was lost of victims beyond ours, by resource. What served nobody counts by itself, and not here."""
    lost = {name: costs.victims[name] - costs.served_nobody.get(name, 0) for name in costs.victims}
    return {name: max(0, seconds - costs.ours.get(name, 0)) for name, seconds in lost.items()}


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
    costs: Costs = field(default_factory=Costs)
    """What it cost, at most."""
    concluded: bool = False
    """Whether nothing of this will change."""
    as_of: str = ""
    """When this was true (RFC 3339)."""

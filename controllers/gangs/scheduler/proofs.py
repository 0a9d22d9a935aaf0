"""Proofs: whether the scheduler agrees that a member will fit on its planned node.

This follows "Delayed preemption" of KEP-5710: nobody is evicted for a placement that the scheduler would not make. Each
member is proven alone. That the members fit together stays the claim of our model.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from controllers.gangs.scheduler.messages import PreemptionOutcome
from controllers.gangs.scheduler.offers import Absence, Shown

__all__ = ["Doubt", "PlannedMember", "Proof", "Verdict", "prove"]


class Proof(StrEnum):
    """What the scheduler says of a planned member."""

    CONFIRMED = "Confirmed"
    """It showed that the member fits on its node, at the latest once the plan's victims are gone."""
    CONTRADICTED = "Contradicted"
    """It showed that the member does not fit on its node, also if the plan's victims are gone."""
    UNKNOWN = "Unknown"
    """Neither."""


class Doubt(StrEnum):
    """A complete attempt refused the node, but the node has changed since, or just before."""

    STALE = "Stale"
    """Another attempt tells."""
    STANDS = "Stands"
    """The attempt ended with a message. An attempt that ends with the same message shows nothing: the scheduler does
    not write it again. So its silence is no consent."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A proof, and in a few words what was seen."""

    proof: Proof
    seen: str
    doubt: Doubt | None = None
    """Of an unknown member that the scheduler has refused."""

    @property
    def is_refusal(self) -> bool:
        """The scheduler has refused the member, now or before the node changed."""
        return self.proof is Proof.CONTRADICTED or self.doubt is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedMember:
    """A member of a gang as its plan sees it."""

    node: str
    """Where the plan places it."""
    priority: int
    """The member's own, not its group's: the scheduler goes by it."""
    gone: Mapping[str, int] = field(default_factory=dict)
    """The pods on the node that the plan counts as gone: its victims there, and pods that terminate already. Their own
    priority by UID. Empty if the plan needs no room of others there."""
    victims: Collection[str] = ()
    """UIDs of all victims of the plan, on whatever node."""
    never: bool = False
    """The member's preemptionPolicy is Never: the scheduler looks for no victims for it."""
    asks_about_others: bool = False
    """A filter of the member asks about pods of other nodes: affinity, spread, anti-affinity in a wider topology. The
    anti-affinity may be that of running pods which select the member."""
    kept_away: bool = False
    """managedResources keeps the member away from our filter or preempt verb."""
    nomination_changes: int = 0
    """The number of the last change of nominations to the node, of the same sequence as the absence's."""


EXPECTED_VICTIM: Final = "the scheduler's dry run of evictions failed: it found a node with room"
UNFINISHED: Final = {
    None: "the scheduler listed only a part of the nodes",
    PreemptionOutcome.NO_CANDIDATES: "the scheduler listed only a part of the nodes",
    PreemptionOutcome.NEVER: "the scheduler evicts nobody for the pod: its preemptionPolicy is Never",
    PreemptionOutcome.TERMINATING: "the scheduler waits for a pod that terminates on the pod's nominated node",
    PreemptionOutcome.EXPECTED_VICTIM: EXPECTED_VICTIM,
    PreemptionOutcome.EMPTY_ANSWER: "the scheduler's candidates are not known",
    PreemptionOutcome.OTHER: "the scheduler did not say what evictions would bring",
}
"""Why an attempt that ended so is not complete."""


def prove(shown: Shown, member: PlannedMember) -> Verdict:
    """What the scheduler's attempts on the member, as far as they showed its node, prove.

    An offer that still counts confirms, also if a later attempt did not repeat it.
    """
    if (seen := _confirmation(shown, member)) is not None:
        return Verdict(Proof.CONFIRMED, seen)
    if (why := _open_question(shown, member)) is not None:
        return Verdict(Proof.UNKNOWN, why, _doubt(shown, member))
    evicting = ", not even with pods evicted" if member.gone else ""
    return Verdict(
        Proof.CONTRADICTED, f"the scheduler tried the pod and did not offer {member.node}{evicting}"
    )


def _confirmation(shown: Shown, member: PlannedMember) -> str | None:
    """What confirms the member, None if nothing does."""
    if shown.is_offered:
        return f"filter was offered {member.node}"
    if member.gone and any(_all_leave(victims, member) for victims in shown.candidates):
        return f"preempt was offered {member.node} with pods that leave"
    return None


def _all_leave(victims: Collection[str], member: PlannedMember) -> bool:
    return all(uid in member.gone or uid in member.victims for uid in victims)


def _open_question(shown: Shown, member: PlannedMember) -> str | None:
    """Why the scheduler may still take the node, None if it will not."""
    node = member.node
    if member.kept_away:
        return "managedResources of the scheduler's extender keeps the pod away"
    if member.never:
        return UNFINISHED[PreemptionOutcome.NEVER]
    if shown.candidates and not member.gone:
        return f"filter was not offered {node}, but preempt was: pods would have to be evicted"
    if shown.candidates:
        return f"preempt was offered {node} with other victims than the plan's"
    if shown.absence is None:
        return _no_absence(shown)
    return _not_comparable(shown.absence, member)


def _no_absence(shown: Shown) -> str:
    if shown.last is None:
        return "no scheduler was seen to finish an attempt on the pod"
    if shown.last.is_complete:
        return "the node has changed since the scheduler tried the pod, or that was too long ago"
    return UNFINISHED[shown.last.outcome]


def _doubt(shown: Shown, member: PlannedMember) -> Doubt | None:
    """What an attempt says that would contradict if the node had not changed."""
    last, is_silent = shown.last, not (shown.candidates or shown.absence)
    if last is None or not last.is_complete or not is_silent or member.kept_away or member.never:
        return None
    if _other_room(member) is not None:
        return None
    return Doubt.STANDS if last.outcome is PreemptionOutcome.NO_CANDIDATES else Doubt.STALE


def _not_comparable(absence: Absence, member: PlannedMember) -> str | None:
    """Why the scheduler's attempt was not about the room that the plan means."""
    if (why := _other_room(member)) is not None:
        return why
    if member.nomination_changes > absence.change:
        return f"a nomination to {member.node} has changed since the scheduler tried the pod"
    return None


def _other_room(member: PlannedMember) -> str | None:
    """Why no attempt of the scheduler's can be about the room that the plan means."""
    staying = [uid for uid, priority in member.gone.items() if priority >= member.priority]
    if staying:
        return f"the scheduler does not count pod {min(staying)} as gone: its own priority is not below the member's"
    if member.asks_about_others:
        return "a filter of the pod asks about pods of other nodes"
    return None

"""How far a plan has come: each phase with its time, who confirmed it, and its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from api.meta import Condition
from api.plans import PreemptionPlan
from api.stored_plans import ACTIVE, FORGIVEN, IN_VAIN, holds_room, is_observed, is_proposal, phase_of

__all__ = [
    "GOT_IT",
    "Phase",
    "Standing",
    "conditions_of",
    "confirmed_by",
    "evicted_in_vain",
    "phases_of",
    "standing_of",
]

Standing = Literal["GoesOn", "Over", "Observed", "Proposed"]
"""Whether a plan is carried out. Observed and Proposed: nobody carries it out, and it evicts nobody."""
GOT_IT: Final = frozenset({"Bound", "QuotaReserved"})
"""Phases in which the preemptor has what others left for."""
ORDER: Final = ("Planned", "Confirmed", "Evicting", "Ready")
BY_ITSELF: Final = "kube-scheduler itself: its own attempt on the whole gang shows that all members fit."
NOBODY: Final = "Nobody."
NOBODY_YET: Final = "Nobody yet."


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase that a plan has come to."""

    name: str
    time: str
    """RFC 3339; empty if it is not known."""
    reason: str
    message: str
    is_last: bool
    """Whether the plan is in it."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "name": self.name,
            "time": self.time,
            "reason": self.reason,
            "message": self.message,
            "isLast": self.is_last,
        }


def conditions_of(plan: PreemptionPlan) -> Mapping[str, Condition]:
    """The conditions of the plan that are True, by their type."""
    conditions = (plan.status.conditions if plan.status is not None else None) or ()
    return {each.type: each for each in conditions if each.status == "True"}


def standing_of(plan: PreemptionPlan) -> Standing:
    """Whether the plan is carried out."""
    if is_observed(plan):
        return "Observed"
    if is_proposal(plan):
        return "Proposed"
    return "GoesOn" if phase_of(plan) in ACTIVE or holds_room(plan) else "Over"


def phases_of(plan: PreemptionPlan) -> Sequence[Phase]:
    """The phases of the plan in their order. The first one is that it was written."""
    said, last = conditions_of(plan), phase_of(plan)
    created = plan.metadata.creation_timestamp or ""
    first = "Planned" if standing_of(plan) in ("GoesOn", "Over") else last
    names = sorted((name for name in said if name not in (first, last, IN_VAIN)), key=_place)
    if last and last != first:
        names.append(last)
    found = [_phase(first or "Planned", said.get(first), created, last)]
    return [*found, *(_phase(name, said.get(name), "", last) for name in names)]


def _place(name: str) -> tuple[int, str]:
    return ORDER.index(name) if name in ORDER else len(ORDER), name


def _phase(name: str, said: Condition | None, time: str, last: str) -> Phase:
    reason = said.reason if said is not None else ""
    return Phase(
        name=name,
        time=(said.last_transition_time if said is not None else "") or time,
        reason=reason if reason != name else "",
        message=said.message if said is not None else "",
        is_last=name == (last or "Planned"),
    )


def confirmed_by(plan: PreemptionPlan) -> str:
    """Who says, besides the search, that the preemptor fits; empty if nobody is asked about such a plan."""
    if plan.spec.preemptor.kind == "Workload" or standing_of(plan) in ("Observed", "Proposed"):
        return ""
    if plan.spec.evicted_by == "Scheduler":
        return BY_ITSELF
    said = conditions_of(plan)
    if "Confirmed" in said:
        message = said["Confirmed"].message
        return f"{message[:1].upper()}{message[1:]}." if message else "It was confirmed."
    if not plan.spec.placements or "Evicting" in said:
        return ""
    return NOBODY_YET if standing_of(plan) == "GoesOn" else NOBODY


def evicted_in_vain(plan: PreemptionPlan) -> bool | None:
    """Whether what the plan has evicted served nobody; None if it is not known, and of a plan that evicted nobody."""
    said, phase = conditions_of(plan), phase_of(plan)
    if "Evicting" not in said or standing_of(plan) in ("Observed", "Proposed"):
        return None
    if phase in GOT_IT or (phase in said and said[phase].reason in FORGIVEN):
        return False
    conditions = (plan.status.conditions if plan.status is not None else None) or ()
    verdict = next((each for each in conditions if each.type == IN_VAIN), None)
    return None if verdict is None else verdict.status == "True"

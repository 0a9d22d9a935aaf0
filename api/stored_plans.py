"""Stored plans: which of them is about a preemptor now, and how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from api.plans import PreemptionPlan, PreemptionPlanStatus, PreemptorKind

__all__ = [
    "ACTIVE",
    "FORGIVEN",
    "IN_VAIN",
    "PreemptorKey",
    "carried_out",
    "current_plan",
    "holds_room",
    "is_judged",
    "is_observed",
    "is_proposal",
    "phase_of",
    "preemptor_key",
    "proposal_of",
]

PreemptorKey = tuple[PreemptorKind, str, str, str]
"""Kind, namespace and name; of a pod also its UID, else that is empty."""
NOT_PLANNED: Final = ("Unschedulable", "SearchBudgetExhausted")
"""Outcomes by which nothing is evicted."""
ACTIVE: Final = ("Planned", "Confirmed", "Evicting", "Ready")
"""Phases of plans that are being carried out."""
IN_VAIN: Final = "InVain"
"""The condition of an ended plan that evicted: whether that was in vain. Missing until it is known."""
FORGIVEN: Final = frozenset({"ModeChanged", "Overrun", "Paused", "PodDeleted", "PodGroupDeleted"})
"""Endings after which it was not: the room was handed over, nobody wants it any longer, or a pause or another mode came
between."""


def phase_of(plan: PreemptionPlan) -> str:
    """How far it is; empty if its status was not written."""
    return (plan.status.phase if plan.status is not None else None) or ""


def is_proposal(plan: PreemptionPlan) -> bool:
    """Whether it only says what a preemption would cost. The spec says so, because a plan may have no status yet."""
    return plan.spec.outcome == "Proposes"


def is_observed(plan: PreemptionPlan) -> bool:
    """Whether it only says what would be done in another mode. The spec says so, whatever the status is."""
    return plan.spec.mode == "Observe"


def is_judged(status: PreemptionPlanStatus) -> bool:
    """Whether nothing is owed: a plan that evicted and has ended early gets a verdict whether that was in vain."""
    reasons = {each.type: each.reason for each in status.conditions or ()}
    ended = status.phase in ("Aborted", "Expired") and reasons.get(status.phase) not in FORGIVEN
    return not ended or "Evicting" not in reasons or IN_VAIN in reasons


def proposal_of(plans: Iterable[PreemptionPlan], uid: str) -> PreemptionPlan | None:
    """What is proposed for the Workload of this UID."""
    its = (each for each in plans if is_proposal(each) and each.spec.preemptor.uid == uid)
    return max(its, key=lambda each: (_decided(each), each.metadata.name), default=None)


def current_plan(
    plans: Sequence[PreemptionPlan], kind: PreemptorKind, uid: str, *, active: bool = False
) -> PreemptionPlan | None:
    """The newest decision for this preemptor; one that is being carried out comes first. `active`: no other counts."""
    its = [each for each in plans if (each.spec.preemptor.kind, each.spec.preemptor.uid) == (kind, uid)]
    its = [each for each in its if not is_proposal(each)]
    if active:
        its = [each for each in its if _goes_on(each)]
    return max(its, key=lambda each: (_goes_on(each), _decided(each)), default=None)


def carried_out(plans: Iterable[PreemptionPlan]) -> list[PreemptionPlan]:
    """The newest decision for each PodGroup and pod, if that plan holds room: it goes on, or has no status yet.

    What only says that nothing is evicted has a status soon after, and holds no room before either. A plan that names a
    preemptor of another namespace counts for nothing.
    """
    newest = dict[PreemptorKey, PreemptionPlan]()
    for plan in plans:
        if (key := preemptor_key(plan)) is not None:
            newest[key] = max(newest.get(key, plan), plan, key=_order)
    return [plan for plan in newest.values() if holds_room(plan)]


def preemptor_key(plan: PreemptionPlan) -> PreemptorKey | None:
    """Names the preemptor: of all plans with the same key, only one is carried out. None for one that never is."""
    preemptor = plan.spec.preemptor
    if preemptor.kind == "Workload" or preemptor.namespace != plan.metadata.namespace:
        return None
    uid = preemptor.uid if preemptor.kind == "Pod" else ""
    return preemptor.kind, preemptor.namespace, preemptor.name, uid


def _order(plan: PreemptionPlan) -> tuple[str, bool, str]:
    return _decided(plan), holds_room(plan), plan.metadata.name


def holds_room(plan: PreemptionPlan) -> bool:
    """Whether it goes on, or has no status yet and says that something is to be done."""
    phase = phase_of(plan)
    if is_proposal(plan) or is_observed(plan):
        return False
    return phase in ACTIVE or (not phase and plan.spec.outcome not in NOT_PLANNED)


def _goes_on(plan: PreemptionPlan) -> bool:
    return phase_of(plan) in ACTIVE and not is_observed(plan)


def _decided(plan: PreemptionPlan) -> str:
    last = plan.status.last_decision_time if plan.status is not None else None
    return last or plan.metadata.creation_timestamp or ""

"""Stored plans: which of them is about a preemptor now, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from api.plans import PreemptionPlan, PreemptorKind

__all__ = ["ACTIVE", "current_plan", "phase_of"]

ACTIVE: Final = ("Planned", "Confirmed", "Evicting", "Ready")
"""Phases of plans that are being carried out."""


def phase_of(plan: PreemptionPlan) -> str:
    """How far it is; empty if its status was not written."""
    return (plan.status.phase if plan.status is not None else None) or ""


def current_plan(
    plans: Sequence[PreemptionPlan], kind: PreemptorKind, uid: str, *, active: bool = False
) -> PreemptionPlan | None:
    """The newest decision for this preemptor; one that is being carried out comes first. `active`: no other counts."""
    its = [each for each in plans if (each.spec.preemptor.kind, each.spec.preemptor.uid) == (kind, uid)]
    if active:
        its = [each for each in its if phase_of(each) in ACTIVE]
    return max(its, key=lambda each: (phase_of(each) in ACTIVE, _decided(each)), default=None)


def _decided(plan: PreemptionPlan) -> str:
    last = plan.status.last_decision_time if plan.status is not None else None
    return last or plan.metadata.creation_timestamp or ""

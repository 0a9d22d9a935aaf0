"""Observed decisions, as far as a report counts them: of a long plan, little is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from api.instead import Instead
from api.plans import PreemptionPlan
from api.reports import PreemptionReport
from api.stored_plans import is_observed
from nodes.groups.keys import short_name

__all__ = ["NO_ACCOUNT", "Account", "Decision", "decision_of", "decisions_of"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What an observed plan decided, and what a scheduler did instead."""

    namespace: str
    """Of the preemptor, and so of the plan."""
    plan: str
    uid: str
    """Of the plan."""
    preemptor: str
    priority: int
    decided: str
    """When it was made, as the plan says (RFC 3339)."""
    ours: int
    """Pods that reprieve would have evicted."""
    instead: Instead

    @property
    def key(self) -> str:
        """The namespace and the name of its preemptor."""
        return f"{self.namespace}/{self.preemptor}"


def decision_of(plan: PreemptionPlan) -> Decision | None:
    """The decision of a plan whose victims are not compressed; None if there is nothing to compare."""
    instead = plan.status.instead if plan.status is not None else None
    if instead is None or not is_observed(plan):
        return None
    return Decision(
        plan.metadata.namespace,
        plan.metadata.name,
        plan.metadata.uid,
        short_name(plan.spec.preemptor.name),
        plan.spec.preemptor.priority,
        plan.metadata.creation_timestamp or "",
        sum(len(each.pods) for each in plan.spec.victims),
        instead,
    )


def decisions_of(plans: Iterable[PreemptionPlan]) -> Iterator[Decision]:
    """Those of all plans that have one."""
    return (found for plan in plans if (found := decision_of(plan)) is not None)


@dataclass(frozen=True, slots=True)
class Account:
    """All that a report is made from."""

    decisions: Sequence[Decision] = ()
    reports: Sequence[PreemptionReport] = ()


NO_ACCOUNT: Final = Account()

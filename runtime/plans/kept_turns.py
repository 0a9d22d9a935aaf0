"""Which DispatchPlans stay, and how long: as long as plans that evicted (`runtime.plans.plan_retention`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from api.dispatch import DispatchPlan
from api.plan_names import PlanKey
from api.times import parse_rfc3339
from runtime.plans.plan_retention import Retention, surplus

__all__ = ["surplus_turns"]


@dataclass(frozen=True, slots=True)
class _KeptTurn:
    """A DispatchPlan as it ages (`runtime.plans.plan_retention.Aging`)."""

    plan: DispatchPlan
    has_ended: bool
    touched: float
    evicted: bool = True
    """The cluster may have preempted others in its turn."""
    remembered_seconds: float = 0.0

    @property
    def key(self) -> PlanKey:
        return self.plan.metadata.namespace, self.plan.metadata.name

    @property
    def made_for(self) -> tuple[str, ...]:
        return (self.plan.spec.workload.uid,)


def surplus_turns(
    plans: Iterable[DispatchPlan], attempt_of: Callable[[str], str], now: float, seconds: float
) -> list[DispatchPlan]:
    """The DispatchPlans that are to be deleted at `now` (seconds since the epoch), oldest first.

    Those of a present attempt stay, because its turns are counted. `attempt_of`: the present attempt of the Workload of
    this UID, empty if there is none. `seconds`: how long the others stay after their turn. Raises ValueError for times
    that cannot be read.
    """
    kept = [_kept(plan, attempt_of(plan.spec.workload.uid)) for plan in plans]
    return [each.plan for each in surplus(kept, now, Retention(seconds, 0))]


def _kept(plan: DispatchPlan, attempt: str) -> _KeptTurn:
    """A turn that lasts until its attempt ends may end before `until`. Where nobody has said when, `until` counts."""
    status = plan.status
    ended = status.ended if status is not None else None
    touched = parse_rfc3339(ended if isinstance(ended, str) else plan.spec.until)
    return _KeptTurn(plan, plan.spec.workload.attempt != attempt, touched)

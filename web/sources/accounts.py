"""What stored plans say of schedulers: little of each plan, so that a report needs none of them whole."""

from __future__ import annotations

from collections.abc import Sequence

from answers.reports.decisions import Decision, decision_of
from api.compression import expand
from api.plans import PreemptionPlan

__all__ = ["KeptDecisions"]


class KeptDecisions:
    """A store of PreemptionPlans (`runtime.mirror.view.Store`)."""

    def __init__(self) -> None:
        self._decisions: dict[tuple[str, str], Decision] = {}
        """By namespace and name of the plan."""
        self._shared: Sequence[Decision] | None = None
        """As long as nothing has changed."""

    def shared(self) -> Sequence[Decision]:
        """All of them. Later events do not change them."""
        if self._shared is None:
            self._shared = tuple(self._decisions.values())
        return self._shared

    def upsert(self, item: PreemptionPlan) -> bool:
        """See `Store`."""
        decision = _decision_of(item)
        if decision is None:
            return self.delete(item.metadata.namespace, item.metadata.name)
        self._decisions[item.metadata.namespace, item.metadata.name] = decision
        self._shared = None
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        if self._decisions.pop((namespace, name), None) is None:
            return False
        self._shared = None
        return True


def _decision_of(plan: PreemptionPlan) -> Decision | None:
    """A plan whose compressed victims are damaged has none."""
    if decision_of(plan) is None:
        return None
    try:
        plan.spec = expand(plan.spec)
    except ValueError:
        return None
    return decision_of(plan)

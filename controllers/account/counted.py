"""Stored plans that count in a report: what was only observed when it is concluded, and what evicted when it has ended.

A store behind a watch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from api.instead import Instead
from api.plan_names import PlanKey
from api.plans import PreemptionPlan
from api.stored_plans import IN_VAIN, is_judged, is_observed, phase_of
from controllers.account.decisions import seconds_of, victim_pods
from controllers.account.tally import Counting

__all__ = ["CountedPlans"]

ENDED: Final = ("Bound", "Released", "Aborted", "Expired")


class CountedPlans:
    """All stored plans, as far as reports need them."""

    def __init__(self, counts: Callable[[Counting], object]) -> None:
        """`counts` gets each plan that begins to count."""
        self._counts = counts
        self._plans: dict[PlanKey, tuple[str, Counting | None]] = {}
        """The UID, and what it adds; None as long as it does not count."""
        self._uids: dict[str, PlanKey] = {}

    def __iter__(self) -> Iterator[Counting]:
        """Those that count."""
        return (each for _, each in self._plans.values() if each is not None)

    def knows(self, uid: str) -> bool:
        """Whether the plan is stored."""
        return uid in self._uids

    def upsert(self, item: PreemptionPlan) -> bool:
        """See `runtime.mirror.views.Store`."""
        meta = item.metadata
        key, uid = (meta.namespace, meta.name), meta.uid
        known_uid, known = self._plans.get(key, ("", None))
        if known_uid != uid:
            self._drop(key)
            known = None
        counting = _counting(item)
        self._plans[key], self._uids[uid] = (uid, counting), key
        if counting is not None and known is None:
            self._counts(counting)
        return False

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`."""
        self._drop((namespace, name))
        return False

    def _drop(self, key: PlanKey) -> None:
        uid, _ = self._plans.pop(key, ("", None))
        self._uids.pop(uid, None)


def _counting(plan: PreemptionPlan) -> Counting | None:
    status, meta, preemptor = plan.status, plan.metadata, plan.spec.preemptor
    if status is None or preemptor.kind == "Workload" or preemptor.namespace != meta.namespace:
        return None
    created = seconds_of(meta.creation_timestamp or "")
    if is_observed(plan):
        instead = _concluded(plan)
        if instead is None:
            return None
        return Counting(meta.uid, created, meta.namespace, victim_pods(plan.spec), instead)
    conditions = {each.type: each.status for each in status.conditions or ()}
    if phase_of(plan) not in ENDED or "Evicting" not in conditions or not is_judged(status):
        return None
    return Counting(
        meta.uid,
        created,
        meta.namespace,
        victim_pods(plan.spec),
        None,
        bound=phase_of(plan) == "Bound",
        in_vain=conditions.get(IN_VAIN) == "True",
    )


def _concluded(plan: PreemptionPlan) -> Instead | None:
    said = plan.status.instead if plan.status is not None else None
    return said if phase_of(plan) == "Observed" and said is not None and said.concluded else None

"""The stored plans that are only observed, and which of them counts for a preemptor: a store behind a watch.

A preemptor is decided about again and again while it waits. One of these plans is compared: the last one that was made
before a scheduler did anything for it. What was said of it is stored with it, so a new leader resumes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from api.compression import expand
from api.instead import Instead
from api.plan_names import PlanKey
from api.plans import PreemptionPlan, PreemptionPlanSpec
from api.stored_plans import is_observed, phase_of
from api.times import parse_rfc3339
from controllers.account.cases import Decision
from controllers.account.costs import Lost
from runtime.exchange.accounted import Owner

__all__ = ["Decisions", "StoredDecision", "current", "seconds_of", "victim_pods"]


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """What is kept of a plan."""

    decision: Decision
    created: float
    """In seconds since the epoch, without fractions."""
    instead: Instead | None

    @property
    def ended(self) -> float:
        """When it was concluded; 0 if it is not."""
        return seconds_of(self.instead.as_of) if self.instead is not None and self.instead.concluded else 0.0

    @property
    def goes_on(self) -> bool:
        """Whether something was said of it, and it is not concluded."""
        return self.instead is not None and not self.instead.concluded


def current(stored: Iterable[StoredDecision]) -> StoredDecision | None:
    """The one that counts now for a preemptor that has these; None if none does.

    What was decided before another one was concluded belongs to that, and is counted.
    """
    ordered = sorted(stored, key=lambda each: (each.created, each.decision.plan))
    for each in reversed(ordered):
        if each.goes_on:
            return each
    ended = max((each.ended for each in ordered), default=0.0)
    newest = ordered[-1] if ordered else None
    return newest if newest is not None and newest.instead is None and newest.created > ended else None


def seconds_of(text: str) -> float:
    """RFC 3339 as seconds since the epoch; 0 if it cannot be read."""
    try:
        return parse_rfc3339(text)
    except ValueError:
        return 0.0


def victim_pods(spec: PreemptionPlanSpec) -> int:
    """How many pods the decision evicts. The list of a stored plan may be compressed."""
    return spec.victim_pods or sum(len(each.pods) for each in spec.victims)


class Decisions:
    """All of them, by preemptor."""

    def __init__(
        self,
        owner_of: Callable[[PreemptionPlanSpec], Owner],
        lost: Callable[[list[str], float], Lost],
        changed: Callable[[str], object],
    ) -> None:
        """`lost` says what these pods (UIDs) would have lost at that time. `changed` gets the UID of the preemptor of
        each plan that comes or changes."""
        self._owner_of, self._lost, self._changed = owner_of, lost, changed
        self._early: dict[PlanKey, list[str]] | None = {}
        """The victims (UIDs) of plans that came before all pods were known."""
        self._stored: dict[PlanKey, StoredDecision] = {}
        self._of: dict[str, set[PlanKey]] = {}

    def __len__(self) -> int:
        return len(self._stored)

    def owners(self) -> list[str]:
        """UIDs of the preemptors that have a plan."""
        return list(self._of)

    def of(self, owner: str) -> list[StoredDecision]:
        """The plans of a preemptor (UID)."""
        return [self._stored[key] for key in self._of.get(owner, ())]

    def find(self, plan: PlanKey) -> StoredDecision | None:
        """The plan of this name."""
        return self._stored.get(plan)

    def all_pods_are_known(self) -> None:
        """What victims lose can be said from now on."""
        early, self._early = self._early or {}, None
        for key, victims in early.items():
            known = self._stored.get(key)
            if known is not None:
                ours = self._lost(victims, known.created)
                self._stored[key] = replace(known, decision=replace(known.decision, ours=ours))

    def upsert(self, item: PreemptionPlan) -> bool:
        """See `runtime.mirror.views.Store`."""
        meta, status = item.metadata, item.status
        key = meta.namespace, meta.name
        before = self._stored.get(key)
        self._drop(key)
        if not is_observed(item) or phase_of(item) != "Observed" or status is None:
            return False
        if item.spec.preemptor.namespace != meta.namespace:
            return False  # see `controllers.gangs.writing.stored`
        owner = self._owner_of(item.spec)
        changed = any((each.type, each.reason) == ("Observed", "Changed") for each in status.conditions or ())
        created = seconds_of(meta.creation_timestamp or "")
        known = before.decision.ours if before is not None and before.decision.uid == meta.uid else None
        ours = known if known is not None else self._ours(item, created)
        decision = Decision(key, meta.uid, owner, changed, ours, created, victim_pods(item.spec))
        self._stored[key] = StoredDecision(decision, created, status.instead)
        self._of.setdefault(owner.uid, set()).add(key)
        self._changed(owner.uid)
        return False

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`."""
        self._drop((namespace, name))
        return False

    def _ours(self, item: PreemptionPlan, created: float) -> Lost:
        """What the victims of this decision would have lost. It is said once: a decision never changes."""
        try:
            victims = [pod.uid for unit in expand(item.spec).victims for pod in unit.pods]
        except ValueError:
            return Lost(unknown=1)
        if self._early is not None:
            self._early[item.metadata.namespace, item.metadata.name] = victims
        return self._lost(victims, created)

    def _drop(self, key: PlanKey) -> None:
        known = self._stored.pop(key, None)
        if known is None:
            return
        plans = self._of[known.decision.owner.uid]
        plans.discard(key)
        if not plans:
            del self._of[known.decision.owner.uid]

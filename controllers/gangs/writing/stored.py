"""The stored PreemptionPlans, followed by a watch: what every process knows of them, whether or not it leads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import structlog

from api.compression import expand
from api.meta import Condition
from api.plan_names import PlanKey
from api.plans import PreemptionPlan, PreemptionPlanSpec, PreemptionPlanStatus
from controllers.gangs.keys import key_of
from controllers.gangs.lifecycle.effects import record_of
from controllers.gangs.lifecycle.stored_plan import (
    ACTIVE,
    FINALIZER,
    IN_VAIN,
    InVain,
    Owner,
    StoredPlan,
    is_open,
    owner_of,
    seconds_of,
)

__all__ = ["StoredPlans"]

log = structlog.get_logger(__name__)


def _read(plan: PreemptionPlan, before: StoredPlan | None) -> StoredPlan:
    """What is kept of the object. A part that cannot be read counts as missing, for anybody may have written it."""
    meta, spec, status = plan.metadata, plan.spec, plan.status or PreemptionPlanStatus()
    record = record_of(spec)
    conditions = status.conditions or []
    created = seconds_of(meta.creation_timestamp) or 0.0
    decided = seconds_of(status.last_decision_time)
    times = {each.type: seconds_of(each.last_transition_time) or 0.0 for each in conditions}
    return StoredPlan(
        meta=meta,
        owner=owner_of((meta.namespace, key_of(spec.preemptor)[1])),
        preemptor=spec.preemptor.uid,
        status=status,
        finalized=FINALIZER in (meta.finalizers or ()),
        committed=times.get("Planned") or created,
        touched=max([created, decided or 0.0, *(when for type_, when in times.items() if type_ != IN_VAIN)]),
        evicting=(times["Evicting"] or created or 1.0) if "Evicting" in times else 0.0,
        bound=times.get("Bound", 0.0),
        in_vain=_in_vain(conditions),
        releases=spec.outcome in ("Releases", "Withdraws"),
        spec=_spec(plan, status, before) if record is None else None,
        unwritten=record if status.phase is None else None,
    )


def _in_vain(conditions: Iterable[Condition]) -> InVain | None:
    for each in conditions:
        if each.type == IN_VAIN and each.status == "True":
            return InVain(seconds_of(each.last_transition_time) or 0.0, each.observed_generation)
    return None


def _spec(
    plan: PreemptionPlan, status: PreemptionPlanStatus, before: StoredPlan | None
) -> PreemptionPlanSpec | None:
    meta, spec = plan.metadata, plan.spec
    is_active = (status.phase or "Planned") in ACTIVE
    may_hold = FINALIZER in (meta.finalizers or ())
    if not (is_active or may_hold or is_open(status)):
        return None
    if spec.preemptor.namespace != meta.namespace:
        log.warning("a plan names a preemptor of another namespace", namespace=meta.namespace, plan=meta.name)
        return None
    if before is not None and before.meta.uid == meta.uid and before.spec is not None:
        return before.spec  # a spec never changes, and a large one takes long to expand
    try:
        return expand(spec)
    except ValueError as error:
        log.warning("a plan cannot be read", namespace=meta.namespace, plan=meta.name, error=str(error))
        return None


class StoredPlans:
    """All plans of the nodes plane by name and by preemptor. A store behind a watch.

    `on_owner` hears of each changed preemptor.
    """

    def __init__(self, on_owner: Callable[[Owner], None]) -> None:
        self._plans: dict[PlanKey, StoredPlan] = {}
        self._by_owner: dict[Owner, set[PlanKey]] = {}
        self._evicted: dict[str, dict[PlanKey, StoredPlan]] = {}
        """Plans that evicted others, by the UID of their preemptor."""
        self._taken: dict[PlanKey, StoredPlan] = {}
        self._on_owner = on_owner
        self._on_plan: list[Callable[[PreemptionPlan, StoredPlan], None]] = []
        self.changes = 0
        """Grows with every change."""

    def __len__(self) -> int:
        return len(self._plans)

    def __iter__(self) -> Iterator[StoredPlan]:
        return iter(self._plans.values())

    def on_plan(self, hook: Callable[[PreemptionPlan, StoredPlan], None]) -> None:
        """Call `hook` with every plan that is stored or changed, and with what is kept of it."""
        self._on_plan.append(hook)

    def get(self, key: PlanKey) -> StoredPlan | None:
        """The plan of that name, if it exists."""
        return self._plans.get(key)

    def of(self, owner: Owner) -> list[StoredPlan]:
        """The preemptor's plans, in the order in which they changed last."""
        plans = (self._plans[key] for key in self._by_owner.get(owner, ()))
        return sorted(plans, key=lambda plan: (plan.touched, plan.meta.name))

    def to_carry_out(self, owner: Owner) -> StoredPlan | None:
        """The preemptor's current decision, unless it has ended or is not one to act on."""
        plans = (self._plans[key] for key in self._by_owner.get(owner, ()))
        current = max(plans, key=lambda plan: plan.order, default=None)
        return current if current is not None and current.active is not None else None

    def owners(self) -> Iterable[Owner]:
        """Every preemptor that has a plan."""
        return list(self._by_owner)

    def evicted_for(self, preemptor: str) -> Iterable[StoredPlan]:
        """The plans of this preemptor (UID) that evicted others."""
        return self._evicted.get(preemptor, {}).values()

    @property
    def with_taken_nodes(self) -> Iterable[StoredPlan]:
        """Plans whose room was taken by pods that never came to us."""
        return self._taken.values()

    # ---- the store behind the watch

    def upsert(self, item: PreemptionPlan) -> bool:
        """See `runtime.mirror.views.Store`. Plans of the quota plane are none of these."""
        meta = item.metadata
        if item.spec.preemptor.kind == "Workload":
            return self.delete(meta.namespace, meta.name)
        before = self._plans.get((meta.namespace, meta.name))
        plan = _read(item, before)
        if before is not None and (before.owner, before.preemptor) != (plan.owner, plan.preemptor):
            self._forget(before)
        self._plans[plan.key] = plan
        if plan.evicted and not plan.releases:
            self._evicted.setdefault(plan.preemptor, {})[plan.key] = plan
        if plan.status.taken_nodes:
            self._taken[plan.key] = plan
        self._by_owner.setdefault(plan.owner, set()).add(plan.key)
        for hook in self._on_plan:
            hook(item, plan)
        self._changed(plan.owner)
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`."""
        plan = self._plans.get((namespace, name))
        if plan is not None:
            self._forget(plan)
        return plan is not None

    def _forget(self, plan: StoredPlan) -> None:
        del self._plans[plan.key]
        self._taken.pop(plan.key, None)
        evicted = self._evicted.get(plan.preemptor, {})
        evicted.pop(plan.key, None)
        if not evicted:
            self._evicted.pop(plan.preemptor, None)
        keys = self._by_owner[plan.owner]
        keys.discard(plan.key)
        if not keys:
            del self._by_owner[plan.owner]
        self._changed(plan.owner)

    def _changed(self, owner: Owner) -> None:
        self.changes += 1
        self._on_owner(owner)

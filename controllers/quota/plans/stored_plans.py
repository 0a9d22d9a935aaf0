"""The stored PreemptionPlans of the quota plane: what every process knows of them, and how they are written.

See docs/decisions/0037 and 0041.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import structlog

from api.clock import Clock
from api.compression import expand
from api.meta import Condition, ObjectMeta
from api.plan_names import PlanKey
from api.plans import PREEMPTOR_KIND, Phase, PreemptionPlan, PreemptionPlanSpec, PreemptionPlanStatus
from api.stored_plans import is_proposal
from api.times import parse_rfc3339, rfc3339
from controllers.quota.life.plan_life import Ending
from controllers.quota.life.planned import Planned, read
from controllers.quota.metrics import PLANS
from runtime.failpoints import failpoint
from runtime.listeners import Listenable
from runtime.plans.plan_objects import PlanNotStoredError, PlanObjects
from runtime.plans.plan_retention import Retention, surplus
from runtime.plans.plan_writer import PlanWriter
from runtime.plans.whole_plans import WholePlans

__all__ = ["PlanStore", "StoredPlan", "StoredPlans", "StoredProposal"]

log = structlog.get_logger(__name__)

EVICTING: Final[Phase] = "Evicting"
PROPOSED: Final[Phase] = "Proposed"
ENDS: Final[frozenset[Phase | None]] = frozenset({"QuotaReserved", "Aborted", "Expired"})
SECOND: Final = 1_000_000
SWEEP_SECONDS: Final = 60.0
"""How often old plans are looked for."""
AT_ONCE: Final = 500
"""Deletions in one sweep. The rest waits for the next one."""


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """What is kept of a PreemptionPlan. It ages as a `runtime.plans.plan_retention.Aging`."""

    meta: ObjectMeta
    owner: tuple[str, str, str]
    touched: float
    has_ended: bool
    conditions: tuple[Condition, ...]
    plan: Planned | None
    """The decision, if the plan has not ended. None also if it cannot be read."""
    reserved: bool = False
    """Whether it ended because its preemptor got the quota."""
    evicted: bool = True
    remembered_seconds: float = 0.0

    @property
    def key(self) -> PlanKey:
        """(namespace, name)."""
        return self.meta.namespace, self.meta.name

    @property
    def made_for(self) -> tuple[str, ...]:
        """See `runtime.plans.plan_retention.Aging`."""
        return self.owner

    @property
    def preemptor(self) -> str:
        """`namespace/name`."""
        return "/".join(self.owner[1:])


@dataclass(frozen=True, slots=True)
class StoredProposal:
    """What is kept of a plan that is only proposed. It promises nothing, and no process carries it out."""

    key: PlanKey
    preemptor: str
    """`namespace/name`."""
    created: float
    """In seconds since the epoch."""
    says: PreemptionPlanSpec | None
    """The decision; None if it is damaged, or not complete: its process died before it wrote the phase."""


def _proposal(item: PreemptionPlan) -> StoredProposal:
    meta, status = item.metadata, item.status or PreemptionPlanStatus()
    try:
        says = expand(item.spec) if status.phase == PROPOSED else None
    except ValueError:
        says = None
    created = _seconds(meta.creation_timestamp)
    key = meta.namespace, meta.name
    return StoredProposal(key, f"{meta.namespace}/{item.spec.preemptor.name}", created, says)


def _stored(item: PreemptionPlan) -> StoredPlan:
    meta, status = item.metadata, item.status or PreemptionPlanStatus()
    conditions = tuple(status.conditions or ())
    created = _seconds(meta.creation_timestamp)
    times = {each.type: _seconds(each.last_transition_time) for each in conditions}
    has_ended = status.phase in ENDS
    # A process may die before it writes the phase.
    decided = int(times.get(EVICTING) or created) * SECOND
    return StoredPlan(
        meta=meta,
        owner=("Workload", meta.namespace, item.spec.preemptor.name),
        touched=max(created, *times.values()) if times else created,
        has_ended=has_ended,
        conditions=conditions,
        plan=None if has_ended else _read(meta, item.spec, decided),
        reserved=status.phase == "QuotaReserved",
    )


def _read(meta: ObjectMeta, spec: PreemptionPlanSpec, decided: int) -> Planned | None:
    try:
        if spec.preemptor.namespace != meta.namespace:
            raise ValueError("spec.preemptor.namespace: it is another one than the plan's")  # noqa: TRY301 - one log
        return read(spec, (meta.namespace, meta.name), decided)
    except ValueError as error:
        log.warning("a plan cannot be read", namespace=meta.namespace, plan=meta.name, error=str(error))
        return None


def _seconds(text: str | None) -> float:
    try:
        return parse_rfc3339(text) if text else 0.0
    except ValueError:
        return 0.0


class StoredPlans(Listenable[[PlanKey]]):
    """All plans of the quota plane by name. A store behind a watch. Listeners get each plan that is deleted.

    Those that are only proposed are kept apart: whoever goes through the plans does not meet them.
    """

    def __init__(self, changed: Callable[[str], None] = lambda _: None) -> None:
        """`changed` gets the preemptor (key) of each plan that comes, changes or goes."""
        super().__init__()
        self._changed = changed
        self._by_preemptor: dict[str, set[PlanKey]] = {}
        self._plans: dict[PlanKey, StoredPlan] = {}
        self._proposals: dict[PlanKey, StoredProposal] = {}

    def __len__(self) -> int:
        return len(self._plans)

    def __iter__(self) -> Iterator[StoredPlan]:
        return iter(self._plans.values())

    def get(self, key: PlanKey) -> StoredPlan | None:
        """The plan of that name, if it exists."""
        return self._plans.get(key)

    def active(self, preemptor: str, uid: str) -> Planned | None:
        """The plan of the preemptor (key, UID) that was decided last, of those that have not ended."""
        known = (self._plans[key].plan for key in self._by_preemptor.get(preemptor, ()))
        plans = (plan for plan in known if plan is not None and plan.uid == uid)
        return max(plans, key=lambda plan: (plan.decided, plan.key), default=None)

    def proposals(self) -> Iterator[StoredProposal]:
        """Those that are only proposed."""
        return iter(list(self._proposals.values()))

    def overdue_seconds(self, now: float, deadline: float) -> float:
        """How much older than `deadline` the oldest plan is that has not ended; 0 if none is. `now`: wall clock."""
        plans = (plan.plan for plan in self._plans.values())
        oldest = min((plan.decided / SECOND for plan in plans if plan is not None), default=now)
        return max(0.0, now - oldest - deadline)

    def upsert(self, item: PreemptionPlan) -> bool:
        """See `runtime.mirror.views.Store`. Plans of the nodes plane are none of these."""
        meta = item.metadata
        if item.spec.preemptor.kind != "Workload":
            return self.delete(meta.namespace, meta.name)
        if is_proposal(item):
            self._proposals[meta.namespace, meta.name] = _proposal(item)
            return True
        before = self._plans.get((meta.namespace, meta.name))
        if before is not None and before.meta.uid != meta.uid:
            self.delete(meta.namespace, meta.name)
        stored = self._plans[meta.namespace, meta.name] = _stored(item)
        self._by_preemptor.setdefault(stored.preemptor, set()).add(stored.key)
        self._changed(stored.preemptor)
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`."""
        if self._proposals.pop((namespace, name), None) is not None:
            self._tell((namespace, name))
            return True
        gone = self._plans.pop((namespace, name), None)
        if gone is None:
            return False
        keys = self._by_preemptor[gone.preemptor]
        keys.discard(gone.key)
        if not keys:
            del self._by_preemptor[gone.preemptor]
        self._changed(gone.preemptor)
        self._tell((namespace, name))
        return True


class PlanStore:
    """Writes the plans, in one term. A plan has no finalizer: its deletion ends it, and nothing is to be undone."""

    def __init__(
        self,
        writer: PlanWriter,
        stored: StoredPlans,
        apply: Callable[[PreemptionPlan], object],
        retention: Retention,
        clock: Clock,
    ) -> None:
        """`apply` gets every object that the API server answers with: it is newer than what the watch shows."""
        self.stored: Final = stored
        """What the API server has."""
        self._retention, self._clock = retention, clock
        whole = WholePlans(
            writer, lambda: (plan.key for plan in stored), clock, selector=f"{PREEMPTOR_KIND}=Workload"
        )
        self._objects = PlanObjects(writer, whole, apply)

    async def begin(self, spec: PreemptionPlanSpec) -> None:
        """Store the decision, and that its evictions begin. Raises PlanNotStoredError."""
        key = await self._objects.store(spec)
        await self._enter(key, EVICTING, EVICTING, spec.reason)

    async def end(self, key: PlanKey, ending: Ending) -> None:
        """Store how the plan ended. Raises PlanNotStoredError."""
        await self._enter(key, ending.phase, ending.reason, ending.message)

    async def propose(self, spec: PreemptionPlanSpec) -> None:
        """Store a decision that is not carried out. Raises PlanNotStoredError."""
        key = await self._objects.store(spec)
        await failpoint("quota.proposal_stored")
        await self._objects.patch(key, PreemptionPlanStatus(phase=PROPOSED))
        PLANS.labels(PROPOSED).inc()

    async def withdraw(self, key: PlanKey) -> None:
        """Delete what was proposed. One that is gone is no error. Raises PlanNotStoredError."""
        await self._objects.delete(key)
        self.stored.delete(*key)

    async def _enter(self, key: PlanKey, phase: Phase, reason: str, message: str) -> None:
        stored = self.stored.get(key)
        others = [each for each in stored.conditions if each.type != phase] if stored is not None else []
        said = Condition(
            type=phase,
            status="True",
            reason=reason,
            message=message,
            last_transition_time=rfc3339(self._clock.wall()),
        )
        await self._objects.patch(key, PreemptionPlanStatus(phase=phase, conditions=[*others, said]))
        PLANS.labels(phase).inc()

    async def sweep(self) -> None:
        """Delete plans that are old enough, and whole decisions whose plan has gone. Faults are logged: the next sweep
        tries again."""
        now = self._clock.wall()
        old = surplus(
            (
                each
                for each in self.stored
                if each.has_ended and now - each.touched >= self._retention.seconds
            ),
            now,
            self._retention,
        )
        for plan in old[:AT_ONCE]:
            try:
                await self._objects.delete(plan.key)
            except PlanNotStoredError as error:
                log.warning("an old plan could not be deleted", plan="/".join(plan.key), error=str(error))
                break
        await self._objects.whole.sweep()

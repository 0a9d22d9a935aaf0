"""Writes PreemptionPlan objects. Nothing is done for a plan before it is stored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from http import HTTPStatus
from typing import Final

from api.clock import Clock
from api.meta import Condition
from api.plan_names import PlanKey, plan_name
from api.plans import PREEMPTOR_KIND, Phase, PreemptionPlan, PreemptionPlanSpec, PreemptionPlanStatus
from api.times import rfc3339
from controllers.gangs.lifecycle.effects import Judge, SayAttempt
from controllers.gangs.lifecycle.life import ActivePlan, Ending
from controllers.gangs.lifecycle.stored_plan import ACTIVE, FINALIZER, IN_VAIN
from controllers.gangs.metrics import PLANS
from controllers.gangs.writing.stored import StoredPlans
from controllers.gangs.writing.writer import Writer
from kube.errors import ApiError
from runtime.plans.plan_objects import PlanNotStoredError, PlanObjects
from runtime.plans.whole_plans import WholePlans

__all__ = ["PlanStore"]

AGAIN_SECONDS: Final = 60.0
"""The minimum time between two writes of the same decision's time."""
CHANGED: Final = "Changed"
"""The reason of an observed plan that was not made on the state before the scheduler began."""
DECIDED: Final[frozenset[Phase]] = frozenset({"Planned", "Blocked", "Unschedulable", "Observed"})
"""Phases in which a decision is stored first."""


class PlanStore:
    """One object per decision, in the preemptor's namespace, and a whole one where that withholds names."""

    def __init__(
        self, writer: Writer, stored: StoredPlans, apply: Callable[[PreemptionPlan], object], clock: Clock
    ) -> None:
        """`apply` gets every object that the API server answers with: it is newer than what the watch shows."""
        self._writer, self._stored, self._apply, self._clock = writer, stored, apply, clock
        self._given_up: dict[PlanKey, set[str]] = {}
        self.whole = WholePlans(
            writer, lambda: (plan.key for plan in stored), clock, selector=f"!{PREEMPTOR_KIND}"
        )
        self._objects = PlanObjects(writer, self.whole, apply)

    async def record(
        self, spec: PreemptionPlanSpec, phase: Phase, message: str, *, changed: str = ""
    ) -> None:
        """Store a decision, or only its status if the same decision is stored already. Raises PlanNotStoredError.

        `changed`: see `controllers.gangs.lifecycle.observations.Decided`. The condition of the phase has it.

        A decision by which nothing is evicted is not posted again: its object gets the time, at most once a minute.
        """
        key = (spec.preemptor.namespace, plan_name(spec))
        if phase not in ACTIVE and await self._decided_again(key, spec.preemptor.uid, phase):
            return
        await self._objects.store(spec, finalizer=FINALIZER if phase in ACTIVE else None)
        if changed:
            message = f"{message}; the state before its scheduler began is not known: {changed}"
        await self._touch(key, phase, CHANGED if changed else phase, message)

    async def complete(self, key: PlanKey) -> None:
        """Write the phase of a stored decision by which nothing is evicted, if it has none. Raises PlanNotStoredError.

        Its times say when the object was created, so that no later decision becomes the older one.
        """
        stored = self._stored.get(key)
        if stored is not None and stored.unwritten is not None:
            phase, message = stored.unwritten.phase, stored.unwritten.reason
            await self._touch(key, phase, phase, message, at=stored.committed)

    async def _decided_again(self, key: PlanKey, preemptor: str, phase: Phase) -> bool:
        """Whether this decision of the preemptor (UID) is known to be stored, in this phase. Its name tells."""
        known, now = self._stored.get(key), self._clock.wall()
        if known is None or (known.preemptor, known.status.phase) != (preemptor, phase):
            return False
        if known.decided is not None and 0.0 <= now - known.decided < AGAIN_SECONDS:
            return True
        try:
            self._apply(
                await self._writer.patch_plan_status(
                    *key, PreemptionPlanStatus(last_decision_time=rfc3339(now))
                )
            )
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return False  # it has just been deleted
            raise PlanNotStoredError.of(key, error) from error
        return True

    async def advance(
        self, plan: ActivePlan, phase: Phase, message: str, *, owners: list[str] | None = None
    ) -> None:
        """The plan enters a phase. `owners`: of its victims (UIDs). Raises PlanNotStoredError."""
        skipped = plan.skipped_dry_runs if phase == "Evicting" else None
        await self._touch((plan.namespace, plan.name), phase, phase, message, owners, skipped=skipped)

    async def end(
        self,
        key: PlanKey,
        ending: Ending,
        *,
        evicting: Container[PlanKey] = (),
        owners: list[str] | None = None,
    ) -> None:
        """The plan is over. `owners`: of its victims, if it evicted nobody. Raises PlanNotStoredError.

        `evicting`: plans whose evictions go on, also while this is written. Their finalizers stay for now.
        """
        await self._touch(key, ending.phase, ending.reason, ending.message, owners)
        if key not in evicting:
            await self.let_go(key)

    async def judge(
        self, key: PlanKey, verdict: Judge, message: str, *, generation: int, taken: Collection[str]
    ) -> None:
        """Store the verdict on a plan that has ended. `taken`: nodes where its room was taken by others.

        Raises PlanNotStoredError.
        """
        stored = self._stored.get(key)
        before = (stored.status.conditions if stored is not None else None) or ()
        said = Condition(
            type=IN_VAIN,
            status="True" if verdict.in_vain else "False",
            reason=verdict.reason,
            message=message,
            last_transition_time=rfc3339(self._clock.wall()),
            observed_generation=generation,
        )
        conditions = [*(each for each in before if each.type != IN_VAIN), said]
        nodes = sorted(taken) if verdict.in_vain and taken else None
        await self._objects.patch(key, PreemptionPlanStatus(conditions=conditions, taken_nodes=nodes))

    async def unplanned(self, key: PlanKey, pods: Collection[str]) -> None:
        """Store that the scheduler has evicted these pods (UIDs), and others before. Raises PlanNotStoredError."""
        stored = self._stored.get(key)
        before = (stored.status.unplanned if stored is not None else None) or ()
        await self._objects.patch(key, PreemptionPlanStatus(unplanned=sorted({*before, *pods})))

    async def attempt(self, key: PlanKey, said: SayAttempt) -> None:
        """Store when the scheduler tries the preemptor again. Raises PlanNotStoredError."""
        now, since = self._clock.wall(), said.handed_over
        status = PreemptionPlanStatus(
            next_attempt=rfc3339(now + said.seconds),
            next_attempt_known=said.is_known,
            handed_over=rfc3339(now - since) if since is not None else "",
        )
        await self._objects.patch(key, status)

    def begun(self, key: PlanKey) -> frozenset[str]:
        """Units (UIDs) of several pods that may be evicted in part, and have to be finished."""
        stored = self._stored.get(key)
        begun = frozenset(stored.status.begun or ()) if stored is not None else frozenset()
        return begun - self._given_up.get(key, set())

    async def begin(self, key: PlanKey, units: Collection[str]) -> None:
        """Store that these units (UIDs) have begun, and no others have to be finished. Raises PlanNotStoredError."""
        if self.begun(key) != frozenset(units):
            self._given_up.pop(key, None)
            await self._objects.patch(key, PreemptionPlanStatus(begun=sorted(units)))

    def give_up(self, key: PlanKey, unit: str) -> None:
        """The plan's unit (UID) cannot be finished: its pods stay."""
        self._given_up.setdefault(key, set()).add(unit)

    async def let_go(self, key: PlanKey) -> None:
        """Remove our finalizer, if the plan has it and has ended. Raises PlanNotStoredError.

        An active plan keeps it until its end is written, unless the same decision was made again.
        """
        plan = self._stored.get(key)
        if plan is not None and plan.phase in ACTIVE:
            return
        self._given_up.pop(key, None)
        if plan is None or not plan.finalized:
            return
        try:
            self._apply(await self._writer.remove_plan_finalizer(plan.meta, FINALIZER))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise PlanNotStoredError.of(key, error) from error

    async def delete(self, key: PlanKey) -> None:
        """Delete the plan; one that is gone is no error. Raises PlanNotStoredError."""
        await self._objects.delete(key)

    async def _touch(
        self,
        key: PlanKey,
        phase: Phase,
        reason: str,
        message: str,
        owners: list[str] | None = None,
        *,
        skipped: int | None = None,
        at: float | None = None,
    ) -> None:
        """The plan is in this phase since `at` (seconds since the epoch; now if it is not given).

        `skipped`: of its dry runs; None: as it is stored.
        """
        stored = self._stored.get(key)
        before = stored.status if stored is not None else PreemptionPlanStatus()
        if before.phase == phase and phase not in ACTIVE:
            return
        conditions = [condition for condition in before.conditions or [] if condition.type != phase]
        now = rfc3339(self._clock.wall() if at is None else at)
        conditions.append(
            Condition(type=phase, status="True", reason=reason, message=message, last_transition_time=now)
        )
        status = PreemptionPlanStatus(
            phase=phase, conditions=conditions, victim_owners=owners, skipped_dry_runs=skipped
        )
        if phase in DECIDED:
            status.last_decision_time = now
        if phase == "Planned" and before.begun:
            status.begun = []  # the same decision was carried out before, and ended
        if phase == "Planned" and before.unplanned:
            status.unplanned = []
        await self._objects.patch(key, status)
        PLANS.labels(phase).inc()

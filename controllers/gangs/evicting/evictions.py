"""Evictions and rehearsals that run beside everything else, one task for a plan; and units that are finished anyway.

A unit that has begun is finished even when its plan has ended, unless one of its pods may not be evicted any longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Coroutine, Iterable, Sequence, Set
from typing import Any, Final

import structlog

from api.backoff import Backoff
from api.plan_names import PlanKey
from api.plans import Victim, VictimPod
from controllers.gangs.evicting.evictor import Evictor
from controllers.gangs.evicting.refused_evictions import lacks_right
from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.keys import spoken_in
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.lifecycle.observations import Compared, DeletionRefused, EvictorStopped, Rehearsed
from controllers.gangs.looking.comparison import difference, over_budget, protected, unit_changed
from controllers.gangs.mirror.mirror import Mirror
from controllers.gangs.mirror.pausing import namespaces, why_paused
from controllers.gangs.promised.account import Account
from controllers.gangs.telling.events import Reporter
from controllers.gangs.writing.plan_store import PlanStore
from kube.errors import ApiError
from runtime.plans.plan_objects import PlanNotStoredError
from runtime.work.background import stop_all

__all__ = ["Evictions"]

log = structlog.get_logger(__name__)

NOT_ENFORCED: Final = "its namespace is not enforced any longer"
RETRY_SECONDS: Final = 1.0
NO_RIGHT_SECONDS: Final = 10.0
"""Between two attempts to finish a unit, while the right to do that is missing."""
PATIENT_SECONDS: Final = 60.0
"""The longest time between two attempts to write a condition."""


class Evictions:
    """Who evicts at this moment. Made for one term, and closed at its end."""

    def __init__(
        self,
        evictor: Evictor,
        store: PlanStore,
        reporter: Reporter,
        gangs: Gangs,
        mirror: Mirror,
        account: Account,
        nudge: Callable[[], None],
    ) -> None:
        """`nudge`: have the planner look again."""
        self.evictor, self.store, self.reporter = evictor, store, reporter
        self.gangs, self.mirror, self.roster, self.account = gangs, mirror, mirror.roster, account
        self._nudge = nudge
        self._tasks: dict[PlanKey, asyncio.Task[None]] = {}
        self._victims: dict[PlanKey, frozenset[str]] = {}
        """Of the plans at work: UIDs."""
        self._proven: dict[PlanKey, set[str]] = {}
        """By plan, until its evictions are over: units (UIDs) that were begun, as their marks show or have shown."""
        self._rehearsals: set[asyncio.Task[None]] = set()
        self._notices: dict[str, asyncio.Task[None]] = {}
        """Units (UIDs) that were left in pieces, and whose PodGroup does not say so yet."""

    @property
    def at_work(self) -> Set[PlanKey]:
        """Plans whose evictions go on, whether or not the plan does. Always as it is now."""
        return self._tasks.keys()

    async def close(self) -> None:
        """Stop, wherever that is; the next term goes on."""
        await stop_all([*self._tasks.values(), *self._rehearsals, *self._notices.values()])

    def rehearse(self, gang: Gang, plan: ActivePlan) -> None:
        """Have the API server check the plan's evictions. Observed as Rehearsed."""
        task = asyncio.create_task(self._rehearse(gang, plan), name=f"rehearse {plan.name}")
        self._rehearsals.add(task)
        task.add_done_callback(self._rehearsals.discard)

    def start(self, gang: Gang, plan: ActivePlan) -> None:
        """Evict the plan's victims. Observed as EvictorStopped."""
        former = self._tasks.get((plan.namespace, plan.name))
        self._spawn(plan, self._evict(gang, plan, former))

    def is_victim(self, uid: str) -> bool:
        """Whether a plan at work evicts the pod, or withdraws its mark."""
        return any(uid in victims for victims in self._victims.values())

    def finish(self, plan: ActivePlan) -> None:
        """The plan has ended: finish the units that have begun, and withdraw the marks of the pods that stay.

        While that lasts, its finalizer stays.
        """
        key = (plan.namespace, plan.name)
        self.evictor.rehearsals.forget(plan)
        if key not in self._tasks and (self.unfinished(plan) or self.evictor.marked(plan)):
            self._spawn(plan, self._finish(plan))
        elif key not in self._tasks:
            self._proven.pop(key, None)

    async def left_in_pieces(
        self, plan: ActivePlan, victim: Victim, left: Sequence[VictimPod], why: str
    ) -> None:
        """A unit was not evicted whole: tell its owner what is left of it, later if need be."""
        message = self.reporter.left_in_pieces(plan, victim, left, why)
        former = self._notices.get(victim.uid)
        if former is not None:
            former.cancel()
        if await self.reporter.write_stopped(victim, message):
            return
        work = self._write_stopped(victim, message)
        task = self._notices[victim.uid] = asyncio.create_task(work, name=f"notify {victim.name}")
        task.add_done_callback(lambda done: self._noticed(victim.uid, done))

    def is_current(self, gang: Gang, plan: ActivePlan) -> bool:
        """Whether this is still the plan that is being carried out: the same decision may be committed again."""
        current = gang.life.plan
        return current is not None and (current.name, current.deadline) == (plan.name, plan.deadline)

    # ---- tasks

    def _spawn(self, plan: ActivePlan, work: Coroutine[Any, Any, None]) -> None:
        key = (plan.namespace, plan.name)
        self._victims[key] = plan.victims
        task = self._tasks[key] = asyncio.create_task(work, name=f"evict {plan.name}")
        task.add_done_callback(lambda done: self._done(key, done))

    def _done(self, key: PlanKey, task: asyncio.Task[None]) -> None:
        self._leave(key, task)
        self._nudge()

    def _leave(self, key: PlanKey, task: asyncio.Task[None] | None) -> None:
        if self._tasks.get(key) is task:
            self._tasks.pop(key, None)
            self._victims.pop(key, None)

    async def _write_stopped(self, victim: Victim, message: str) -> None:
        backoff, failures = Backoff(RETRY_SECONDS, PATIENT_SECONDS, jitter=0.0), 1
        await asyncio.sleep(backoff.delay(failures))
        while not await self.reporter.write_stopped(victim, message):
            failures += 1
            await asyncio.sleep(backoff.delay(failures))

    def _noticed(self, unit: str, task: asyncio.Task[None]) -> None:
        if self._notices.get(unit) is task:
            del self._notices[unit]

    async def _rehearse(self, gang: Gang, plan: ActivePlan) -> None:
        try:
            refused = await self.evictor.rehearse(plan)
            answer = Rehearsed(refused, self.evictor.rehearsals.left_out(plan))
        except Exception as error:
            log.warning(
                "a plan could not be rehearsed and will be tried again", plan=plan.name, error=str(error)
            )
            await asyncio.sleep(RETRY_SECONDS)
            answer = Rehearsed(None)
        if self.is_current(gang, plan):
            self.gangs.observe(gang, answer)
        else:
            self.evictor.rehearsals.forget(plan)
        self._nudge()

    async def _evict(self, gang: Gang, plan: ActivePlan, former: asyncio.Task[None] | None) -> None:
        """`former`: an earlier run of the same decision may still be finishing."""
        if former is not None:
            await asyncio.wait([former])
        permission = _Permission(self, plan, gang)
        done = await self._try(plan, plan.spec.victims, permission)
        paused = permission.is_paused() or permission.was_paused
        if paused:
            await self._withdraw_others(plan, self.unfinished(plan))
        if self.is_current(gang, plan):
            self._leave((plan.namespace, plan.name), asyncio.current_task())
            self.gangs.observe(gang, EvictorStopped(done, paused))
        else:
            await self._finish(plan)

    async def _finish(self, plan: ActivePlan) -> None:
        while (unfinished := self.unfinished(plan)) or self.evictor.marked(plan):
            if unfinished and self._is_paused(plan):
                await self._withdraw_others(plan, unfinished)
                await self.mirror.pauses.wait(plan.namespace, namespaces(plan.spec))
            elif unfinished:
                await self._try(plan, unfinished, _Permission(self, plan, None))
            elif not await self.evictor.withdraw(self.evictor.marked(plan)):
                await asyncio.sleep(RETRY_SECONDS)
        key = plan.namespace, plan.name
        self._proven.pop(key, None)
        try:
            await self.store.let_go(key)
        except PlanNotStoredError as error:
            log.warning(
                "the housekeeping removes the finalizer of a plan later", plan=plan.name, error=str(error)
            )
        finally:
            # At once: if the plan's end is not written yet, its writer removes the finalizer.
            self._leave(key, asyncio.current_task())

    def _is_paused(self, plan: ActivePlan) -> bool:
        return bool(why_paused(self.mirror.pauses, plan.spec))

    async def _withdraw_others(self, plan: ActivePlan, unfinished: Iterable[Victim]) -> None:
        """Take our marks off the pods that are not evicted when the pause is over."""
        finished_later = {pod.uid for victim in unfinished for pod in victim.pods}
        await self.evictor.withdraw(pod for pod in self.evictor.marked(plan) if pod.uid not in finished_later)

    async def _try(self, plan: ActivePlan, victims: Iterable[Victim], permission: _Permission) -> bool:
        try:
            return await self.evictor.evict(plan, victims, permission)
        except (ApiError, PlanNotStoredError) as error:
            log.warning("an eviction failed and will be tried again", plan=plan.name, error=str(error))
            if isinstance(error, ApiError) and lacks_right(error):
                await asyncio.sleep(NO_RIGHT_SECONDS)
                return False
        except Exception:
            log.exception("an eviction failed and will be tried again", plan=plan.name)
        await asyncio.sleep(RETRY_SECONDS)
        return False

    def unfinished(self, plan: ActivePlan) -> list[Victim]:
        """Partly evicted units that have begun: at least one pod is gone, and at least one is left.

        All pods that are left have, or had, our mark: it was written before the first one was evicted. The plan alone
        proves nothing.
        """
        key = plan.namespace, plan.name
        begun = self.store.begun(key)
        return [each for each in plan.spec.victims if each.uid in begun and self._is_in_pieces(key, each)]

    def left(self, plan: ActivePlan, begun: Container[str]) -> set[str]:
        """Those of the units (UIDs) that have begun, and have pods left whose deletion was not accepted yet."""
        return {
            victim.uid
            for victim in plan.spec.victims
            if victim.uid in begun and any(map(self.evictor.remains, victim.pods))
        }

    def _is_in_pieces(self, plan: PlanKey, victim: Victim) -> bool:
        left = [pod for pod in victim.pods if self.evictor.remains(pod)]
        if left and all(map(self.evictor.may_be_marked, left)):
            self._proven.setdefault(plan, set()).add(victim.uid)
        return 0 < len(left) < len(victim.pods) and victim.uid in self._proven.get(plan, ())


class _Permission:
    """See `controllers.gangs.evicting.evictor.Permission`. Without a gang, the plan has ended."""

    def __init__(self, evictions: Evictions, plan: ActivePlan, gang: Gang | None) -> None:
        self._all, self._plan, self._gang = evictions, plan, gang
        self._key = plan.namespace, plan.name
        self._former = evictions.store.begun(self._key)
        self._namespaces = namespaces(plan.spec)
        self.was_paused = False
        """A pause has stopped the run."""

    @property
    def insists(self) -> bool:
        """Half a unit is of no use to anybody, and nobody would remember it."""
        return self._gang is None

    def is_paused(self) -> bool:
        """If it is, the run stops, however soon the pause ends."""
        pauses = self._all.mirror.pauses
        is_paused = pauses.any and bool(pauses.why(self._plan.namespace, self._namespaces))
        self.was_paused |= is_paused
        return is_paused

    def may_begin(self, victim: Victim) -> bool:
        """Before the first pod of all, the plan must still be what a new look would give."""
        if self.is_paused():
            return False
        if self._gang is None:
            return True
        current = self._gang.life.plan
        if current is None or not self._is_current():
            return False
        if not current.may_evict or not self._all.mirror.is_trusted():
            return False
        # As long as nobody has gone, the whole plan is compared: much may change while a begun unit is stored.
        goes_on = current.begun and not current.resumed and not self._all_remain(current)
        changed = unit_changed(victim, current, self._all.roster) if goes_on else self._difference(current)
        left = [victim] if goes_on else current.spec.victims
        changed = changed or over_budget(left, current, self._all.roster)
        self._all.gangs.observe(self._gang, Compared(changed))
        return not changed

    def _all_remain(self, plan: ActivePlan) -> bool:
        return all(self._all.evictor.remains(pod) for victim in plan.spec.victims for pod in victim.pods)

    def _difference(self, plan: ActivePlan) -> str:
        """What has changed since the plan was made; room that a plan of higher priority has taken included."""
        by = self._all.account.overrun(plan.group)
        if by is not None:
            return f"{spoken_in(by, plan.namespace)} of higher priority takes its room"
        return difference(plan, self._all.roster)

    def why_stays(self, pod: VictimPod) -> str:
        """Priority and the mode of its namespace decide, in whatever state the plan is."""
        why = protected(self._plan, pod, self._all.roster)
        if not why and not self._all.evictor.may_end(pod):
            return NOT_ENFORCED
        if why and self._gang is not None and self._is_current():
            self._all.gangs.observe(self._gang, Compared(why))
        return why

    async def begin(self, victims: Sequence[Victim]) -> None:
        """Those that a former run has begun are kept, too, until nobody of them is left. Raises PlanNotStoredError."""
        begun = self._former | {victim.uid for victim in victims if len(victim.pods) > 1}
        await self._all.store.begin(self._key, self._all.left(self._plan, begun))

    def refused(self, pod: VictimPod, why: str) -> None:
        """The plan ends."""
        if self._gang is not None and self._is_current():
            self._all.gangs.observe(self._gang, DeletionRefused(pod.uid, why))

    def over_budget(self, why: str) -> None:
        """The plan ends."""
        if self._gang is not None and self._is_current():
            self._all.gangs.observe(self._gang, Compared(why))

    async def stopped(self, victim: Victim, left: Sequence[VictimPod], why: str) -> None:
        """The unit is left as it is."""
        if len(victim.pods) > 1:
            self._all.store.give_up((self._plan.namespace, self._plan.name), victim.uid)
        if 0 < len(left) < len(victim.pods):
            await self._all.left_in_pieces(self._plan, victim, left, why)

    def _is_current(self) -> bool:
        return self._gang is not None and self._all.is_current(self._gang, self._plan)

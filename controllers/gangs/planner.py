"""When to plan, on which snapshot, and what follows from a plan: the one loop that moves gangs through their lives."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final, Literal, get_args

import structlog

from api.plans import PreemptionPlanSpec, VictimPod
from controllers.gangs.events import Reporter
from controllers.gangs.evictor import Evictor
from controllers.gangs.gangs import Ending, Gang, GangPhase, Gangs, assess, is_free
from controllers.gangs.metrics import GANGS, PLANNING_SECONDS
from controllers.gangs.plans import ActivePlan, PlanNotStoredError, PlanStore
from controllers.gangs.refusals import Refusals
from controllers.gangs.release import Waker
from controllers.gangs.reservations import Claim, Ledger, Reservation
from controllers.gangs.roster import Roster
from controllers.gangs.verify import difference, protected
from nodes.search.decision import DecisionError, decide_group
from nodes.state.snapshot import Snapshot
from runtime.failpoints import failpoint
from runtime.watched_tables import WatchedTables

__all__ = ["Planner", "Planning"]

log = structlog.get_logger(__name__)

TICK_SECONDS: Final = 1.0
"""How often plans being carried out are looked at when the mirror is quiet: for deadlines and missed wake-ups."""

RETRY_SECONDS: Final = 1.0

TURNED_DOWN: Final = (
    "the scheduler turned the last plan down, and nothing has changed since: nobody else is evicted"
)


@dataclass(frozen=True, slots=True)
class Planning:
    """What bounds planning: states a search may visit, seconds a plan may take from its commit to its end."""

    search_budget: int
    plan_seconds: float


@dataclass(frozen=True, slots=True)
class Hands:
    """Those who act for the planner."""

    store: PlanStore
    evictor: Evictor
    waker: Waker
    reporter: Reporter


class Planner:
    """One actor. Plans are committed one at a time; evictions run beside it and show in the mirror."""

    def __init__(
        self,
        mirror: WatchedTables,
        roster: Roster,
        gangs: Gangs,
        ledger: Ledger,
        hands: Hands,
        executor: Executor,
        planning: Planning,
    ) -> None:
        self._mirror, self._roster, self._gangs, self._ledger = mirror, roster, gangs, ledger
        self._hands, self._executor, self._planning = hands, executor, planning
        self._evictions: dict[str, asyncio.Task[None]] = {}
        self._nudge = asyncio.Event()
        self.resumed = False
        self._refusals = Refusals()
        self._ticked = 0.0
        self.now: Callable[[], float] = time.monotonic
        self.ready: Callable[[], bool] = lambda: True
        """Whether the mirror may be trusted: without it nothing is decided and nobody evicted."""

    def nudge(self) -> None:
        """Look again now."""
        self._nudge.set()

    async def run(self) -> None:
        """Resume what a former process left, then follow the mirror for ever."""
        self._mirror.on_change(self.nudge)
        await self._mirror.wait_synced()
        try:
            while True:
                try:
                    more = await self.step()
                except Exception:
                    log.exception("the planner stumbled and goes on")
                    await asyncio.sleep(RETRY_SECONDS)
                    continue
                if not more:
                    await self._wait()
        finally:
            await self.close()

    async def close(self) -> None:
        """Stop evicting, wherever that is; the next process goes on."""
        evictions = list(self._evictions.values())
        for task in evictions:
            task.cancel()
        await asyncio.gather(*evictions, return_exceptions=True)

    async def _wait(self) -> None:
        idle = not (len(self._ledger) or len(self._refusals) or self._hands.waker.behind)
        timeout = self._gangs.next_due(self.now()) if idle and self.ready() else TICK_SECONDS
        try:
            async with asyncio.timeout(timeout):
                await self._nudge.wait()
        except TimeoutError:
            return
        finally:
            self._nudge.clear()

    async def step(self) -> bool:
        """Everything that is due, and one new plan; whether another one is due at once."""
        if not self.resumed:
            await self._resume()
            self.resumed = True
            await self._hands.waker.wake(None, "Restarted", "nobody knows any longer what it waited for")
        gone, basic = self._gangs.refresh()
        for gang in gone:
            if gang.plan is not None:
                ending = Ending("Aborted", "PodGroupDeleted", "the PodGroup is gone")
                await self._guarded(gang, self._end(gang, gang.plan, ending))
        for key in basic:
            await self._hands.waker.wake(key, "Basic", "the pod group is not a gang")
        for gang in list(self._gangs):
            if gang.plan is not None:
                await self._guarded(gang, self._advance(gang, gang.plan))
            elif self._gangs.settle(gang):
                await self._guarded(gang, self._runs(gang))
        await self._hands.waker.retry()
        if self.now() >= self._ticked + TICK_SECONDS:
            await self._tick()
        due = self._gangs.to_plan(self.now()) if self.ready() else []
        if due:
            await self._guarded(due[0], self._plan(due[0]))
        return bool(due)

    async def _guarded(self, gang: Gang, work: Coroutine[None, None, None]) -> None:
        """A fault with one gang must not hold up the others."""
        try:
            await work
        except Exception:
            log.exception("a gang is passed over for now", group=gang.key)
            gang.backoff.failed(self.now())

    async def _runs(self, gang: Gang) -> None:
        """minCount members are bound."""
        await self._hands.reporter.scheduled(gang.key)
        await self._hands.waker.wake(gang.key, "Bound", "the pod group runs")

    async def _tick(self) -> None:
        """What looks at every gang, or waits for the clock alone."""
        self._ticked = self.now()
        self._count()
        await self._let_go()
        if self._refusals.expire(self.now()):
            self._gangs.decide_anew()

    async def _let_go(self) -> None:
        """Wake whom filter turned down and would let pass by now, though nothing that has ended speaks for them.

        They came by while the mirror could not be trusted, or while the group changed to and fro between two looks.
        """
        if not self.ready():
            return
        for key in self._hands.waker.kept:
            if not len(self._ledger) if key is None else self._gangs.lets_pass(key):
                await self._hands.waker.wake(key, "Released", "nothing holds it back any longer")

    def _count(self) -> None:
        phases = Counter(gang.phase for gang in self._gangs)
        for phase in get_args(GangPhase):
            GANGS.labels(phase).set(phases[phase])

    # ---- deciding

    async def _plan(self, gang: Gang) -> None:
        await failpoint("planner.delay")
        version = self._roster.version
        pod_row = self._roster.pod_row
        snapshot = self._ledger.subtract(self._mirror.tables.snapshot(), pod_row, but=gang.key)
        snapshot = self._refusals.exempt(snapshot, pod_row)
        namespace, name = gang.key
        loop = asyncio.get_running_loop()
        with PLANNING_SECONDS.time():
            decided: PreemptionPlanSpec | DecisionError = await loop.run_in_executor(
                self._executor, _decide, snapshot, namespace, name, self._planning.search_budget
            )
        gang.decided = version
        if isinstance(decided, DecisionError):
            await self._cannot(gang, "Unschedulable", str(decided))
        elif decided.outcome in ("Unschedulable", "SearchBudgetExhausted"):
            await self._record(gang, decided, "Unschedulable")
        elif decided.outcome == "Preempts" and decided.not_modelled:
            await self._record(gang, decided, "Blocked")
        elif decided.outcome == "Preempts" and gang.barred == version:
            await self._cannot(gang, "Unschedulable", TURNED_DOWN)
        else:
            await self._commit(gang, decided)

    async def _record(self, gang: Gang, spec: PreemptionPlanSpec, phase: GangPhase) -> None:
        """A decision by which nobody goes: written for whoever asks, and tried again when something has changed."""
        reason = spec.reason if phase == "Unschedulable" else f"not modelled: {', '.join(spec.not_modelled)}"
        try:
            await self._hands.store.record(spec, "Blocked" if phase == "Blocked" else "Unschedulable", reason)
        except PlanNotStoredError as error:
            log.warning("a decision could not be written", group=gang.key, error=str(error))
        await self._cannot(gang, phase, reason)

    async def _cannot(self, gang: Gang, phase: GangPhase, reason: str) -> None:
        if (gang.phase, gang.reason) != (phase, reason):
            gang.told = frozenset()
        gang.phase, gang.reason = phase, reason
        gang.backoff.failed(self.now())
        gang.told = await self._hands.reporter.cannot_schedule(gang)

    async def _commit(self, gang: Gang, spec: PreemptionPlanSpec) -> None:
        """Reserve first, so that nobody takes the room meanwhile; write; only then act."""
        plan = self._roster.activate(spec, self.now() + self._planning.plan_seconds)
        self._hold(plan)
        gang.plan, gang.phase, gang.reason = plan, "Planned", ""
        try:
            plan.name = await self._hands.store.record(spec, "Planned", spec.reason)
        except PlanNotStoredError as error:
            log.warning("a plan that cannot be written is not acted on", group=gang.key, error=str(error))
            self._ledger.release(gang.key)
            gang.plan, gang.decided = None, None
            await self._cannot(gang, "Unschedulable", f"its plan cannot be stored: {error}")
            await self._hands.waker.wake(None, "NotStored", "room is no longer reserved")
            return
        await failpoint("plan.committed")
        await self._advance(gang, plan)

    def _hold(self, plan: ActivePlan) -> None:
        claims = {uid: Claim(m.node, m.requests) for uid, m in self._roster.waiting(plan).items()}
        victims = {uid: claim for uid in plan.victims if (claim := self._roster.staying(uid)) is not None}
        self._ledger.hold(Reservation(plan.group, plan.spec.preemptor.priority, claims, victims))

    # ---- carrying out

    async def _advance(self, gang: Gang, plan: ActivePlan) -> None:
        ending = assess(plan, self._roster.group(gang.key), self._roster, self._ledger, self.now())
        if ending is None and plan.phase == "Planned" and (changed := difference(plan, self._roster)):
            ending = Ending("Aborted", "Changed", changed)
        if ending is not None:
            await self._end(gang, plan, ending)
        elif plan.phase == "Planned" and plan.spec.victims:
            # Confirmation by the scheduler comes in here: until then the mirror's word alone is enough.
            await self._enter(gang, plan, "Evicting")
        elif plan.phase == "Ready":
            await self._hands.waker.remind(plan, self.now())
        elif (plan.phase == "Planned" or plan.evicted) and is_free(plan, self._roster, self._ledger):
            await self._enter(gang, plan, "Ready")
        if gang.plan is plan and plan.phase == "Evicting" and not plan.evicted and self.ready():
            self._start_evicting(gang, plan)

    async def _enter(self, gang: Gang, plan: ActivePlan, phase: Literal["Evicting", "Ready"]) -> None:
        """The next phase, written before anything is done in it."""
        try:
            await self._hands.store.advance(plan, phase)
        except PlanNotStoredError as error:
            log.warning("a plan goes on only once that is written", plan=plan.name, error=str(error))
            if error.for_good:
                await self._end(gang, plan, Ending("Aborted", "NotStored", "its progress cannot be written"))
            return
        gang.phase = plan.phase = phase
        if phase == "Ready":
            await failpoint("plan.ready")
            await self._hands.waker.nominate(plan, self.now())
        else:
            self._hands.reporter.preempting(plan)

    def _start_evicting(self, gang: Gang, plan: ActivePlan) -> None:
        if plan.name not in self._evictions:
            task = asyncio.create_task(self._evict(gang, plan), name=f"evict {plan.name}")
            self._evictions[plan.name] = task

    async def _evict(self, gang: Gang, plan: ActivePlan) -> None:
        def going_on(pod: VictimPod) -> bool:
            """Asked before every pod; before the first, the plan must still be what a new look would give."""
            if gang.plan is not plan or plan.refused or plan.changed or not self.ready():
                return False
            if plan.begun:
                plan.changed = protected(plan, pod, self._roster)
            else:
                plan.changed = difference(plan, self._roster)
                plan.begun = not plan.changed
            return not plan.changed

        try:
            plan.evicted = await self._hands.evictor.evict(plan, going_on)
        except Exception:
            log.exception("an eviction failed and will be tried again", plan=plan.name)
            await asyncio.sleep(RETRY_SECONDS)
        finally:
            self._evictions.pop(plan.name, None)
            self.nudge()

    async def _end(self, gang: Gang, plan: ActivePlan, ending: Ending) -> None:
        """Release, write how it ended, and wake whoever was held because of it."""
        self._ledger.release(gang.key)
        self._gangs.decide_anew()
        gang.plan, gang.decided = None, None
        gang.touched, gang.complete = -1, False  # to be looked at before the next plan
        gang.phase = "Bound" if ending.phase == "Bound" else "Gathering"
        if ending.phase == "Bound":
            gang.backoff.reset()
        else:
            gang.backoff.failed(self.now(), again=ending.reason in ("TurnedDown", "EvictionRefused"))
        self._refusals.note(plan.refused, self.now())
        if ending.reason == "TurnedDown":
            gang.barred = self._roster.version
        try:
            await self._hands.store.end(plan, ending.phase, ending.reason, ending.message)
        except PlanNotStoredError as error:
            log.warning("how a plan ended could not be written", plan=plan.name, error=str(error))
        await self._hands.reporter.ended(plan, ending)
        await self._hands.waker.wake(gang.key, ending.reason, ending.message)

    # ---- after a restart

    async def _resume(self) -> None:
        """Go on from the plans that a former process was carrying out."""
        now = self.now()
        for stored in await self._hands.store.load():
            preemptor = stored.spec.preemptor
            gang = self._gangs.gather((preemptor.namespace, preemptor.name))
            plan = self._roster.activate(
                stored.spec, now + self._planning.plan_seconds - stored.age, made=stored.committed
            )
            plan.name = stored.name
            # Ready is entered again: whether every member was woken is not written down.
            plan.phase = "Planned" if stored.phase == "Planned" else "Evicting"
            # Evicting may have been written and nobody evicted: then it is compared once more.
            gone = any(self._roster.staying(uid) is None for uid in plan.victims)
            plan.begun, plan.evicted = stored.phase != "Planned" and gone, stored.phase == "Ready"
            gang.plan, gang.phase = plan, plan.phase
            self._hold(plan)
            log.info("resuming", plan=plan.name, phase=stored.phase)


def _decide(snapshot: Snapshot, namespace: str, name: str, budget: int) -> PreemptionPlanSpec | DecisionError:
    """On the search's thread. A fault of ours holds one gang back, and never the others."""
    try:
        return decide_group(snapshot, namespace, name, budget=budget, strict=False)
    except DecisionError as error:
        return error
    except Exception as error:
        log.exception("the search failed", namespace=namespace, group=name)
        return DecisionError(f"PodGroup {namespace}/{name}", "", f"internal error: {error!r}")

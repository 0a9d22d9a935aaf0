"""Preemptions that are under way: the Workloads whose quota they free, and the preemptors.

Each is stored as a PreemptionPlan before the first victim is evicted. Here the plans of a term are looked at when
something changes, what is seen is fed to the reducer (`plan_life`), and what follows is done. Victims are not written
here: `preemption_of` says what a plan wants of a Workload, and the rules of its life evict it.

See docs/decisions/0041.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import structlog

from api.clock import Clock
from api.plan_names import PlanKey, plan_name
from api.plans import PreemptionPlanSpec
from api.workloads import Workload
from controllers.quota.life.evicting import Preemption
from controllers.quota.life.plan_life import (
    ABANDONED,
    NOT_STORED,
    OVERTAKEN,
    REPLACED,
    RETURNED,
    UNREADABLE,
    Call,
    Deleted,
    Effect,
    Ending,
    EndNotWritten,
    EndWritten,
    Forget,
    Free,
    Life,
    NotWritten,
    Observation,
    Overruled,
    WriteEnd,
    Written,
    reduce,
)
from controllers.quota.life.planned import Planned, covers, promise_of, read, spec_of
from controllers.quota.life.preempting import Preempting, Troubles, announcement
from controllers.quota.plans.lives import Lives, PlanRules
from controllers.quota.plans.need import Need, Spared
from controllers.quota.plans.plan_look import Cluster, holds_still, look, returned, why_paused
from controllers.quota.plans.stored_plans import SWEEP_SECONDS, PlanStore
from quota.cycle.entries import Entry
from quota.cycle.particulars import particulars
from quota.cycle.promises import Promise
from quota.search.explain import preemption_message
from quota.state.snapshot import QuotaSnapshot
from quota.state.workloads import holds_quota, is_evicting
from runtime.exchange.placements import Place
from runtime.failpoints import failpoint
from runtime.plans.plan_objects import PlanNotStoredError
from runtime.work.background import Background

__all__ = ["QuotaPlans"]

log = structlog.get_logger(__name__)

SECOND: Final = 1_000_000  # microseconds


class QuotaPlans:
    """The plans of a term that are not over. Everything runs on the event loop. Times are microseconds since 1970."""

    def __init__(
        self,
        store: PlanStore,
        cluster: Cluster,
        rules: PlanRules,
        clock: Clock,
        look: Callable[[str], None],
        changed: Callable[[str], None],
        need: Need,
    ) -> None:
        """`look`: have a Workload (key) looked at. `changed` gets the ClusterQueue of each promise that is over."""
        self._store, self._stored, self._cluster = store, store.stored, cluster
        self._options, self._deadline, self._clock = rules.options, rules.deadline, clock
        self._look_at, self._changed, self._need = look, changed, need
        self._lives = Lives()
        self._spared = Spared(need, look)
        self._wanted_again: set[PlanKey] = set()
        """Plans that are to be decided again once they are forgotten."""
        self._postponed: dict[str, int] = {}
        """By ClusterQueue: when a decision that came too early may be taken again."""
        self._troubles = Troubles()
        self._writes = Background()
        self._woken, self._sleeps_until = asyncio.Event(), 0

    # ---- for the cycles, and for the life of a Workload

    def promises(self) -> Sequence[Promise]:
        """The quota that belongs to preemptors: at most one promise each."""
        current = (self._lives.active(key) for key in self.promised())
        return [self._promise_of(life.plan) for life in current if life is not None]

    def _promise_of(self, plan: Planned) -> Promise:
        stays = returned(plan, self._cluster, plan.decided, self._now())
        return promise_of(plan, self._lives.former.of(plan), stays)

    def promised(self) -> list[str]:
        """The keys of the preemptors to whom quota is promised."""
        return self._lives.promised()

    def begin(self, entry: Entry, snapshot: QuotaSnapshot, places: Sequence[Place] = ()) -> None:
        """Carry out the decision of an entry whose outcome is Preempt. From now on its quota is promised.

        `places`: the nodes that its pods will find.

        A plan for the same preemptor that does not cover the decision is over once the new one is stored.
        """
        spec = spec_of(entry, particulars(snapshot, entry, self._now()), places)
        plan = read(spec, (spec.preemptor.namespace, plan_name(spec)), self._now())
        former = self._lives.active(plan.preemptor)
        if returned(plan, self._cluster, plan.decided, self._now()):
            # Times have whole seconds: the plan could not tell a return of this second from a return after it.
            due = plan.decided + SECOND
            self._postponed[plan.queue] = due
            self._wake(due)
        elif former is not None and covers(former.plan, plan):
            if returned(plan, self._cluster, former.plan.decided, self._now()):
                self._observe(former.plan.key, Overruled(RETURNED))
            self._observe_cluster(former.plan.key)
        elif plan.key in self._lives:
            self._wanted_again.add(plan.key)  # the end of this very plan is still being written
        else:
            self._lives.former.begins(plan)
            self._add(Life(plan, plan.decided + self._deadline, began=self._now()))
            self._writes.start(self._begin(plan, spec, former.plan.key if former is not None else None))

    def overtaken(self, preemptor: str) -> bool:
        """A cycle found no way for the preemptor (key). A promise that does not help it must not keep others out.

        Returns whether there was one."""
        self._troubles.stored(preemptor)
        life = self._lives.active(preemptor)
        if life is not None and self._is_paused(life):
            return False  # it is held back, and keeps its promise
        if life is not None:
            self._observe(life.plan.key, Overruled(OVERTAKEN))
        return life is not None

    def preemption_of(self, key: str) -> Preemption | None:
        """What an active plan wants of the Workload; None if it may keep its quota, also because there is room by now.
        If that room goes, `waits` has it looked at again."""
        for each in self._lives.of(key):
            life = self._lives[each]
            for uid in life.called if life.stage == "Evicting" and not self._is_paused(life) else ():
                victim = life.plan.victims[uid]
                workload = self._cluster.find(key, uid) if victim.key == key else None
                if workload is None or not holds_still(victim, workload, life.plan.decided, self._now()):
                    continue
                if self._need.is_needed(life.plan, workload, self._lives.respected(life.plan)):
                    return self._preemption(life.plan, uid)
                self._spared.add(life.plan, workload)
        return None

    def _is_paused(self, life: Life) -> bool:
        """Whether nobody may be evicted for the plan. It stays so until a look has seen that the pause is over."""
        return life.paused_since is not None or bool(why_paused(life.plan, self._cluster))

    def why_paused(self, entry: Entry) -> str:
        """Why a preemption must not begin now; empty if it may."""
        targets = entry.decision.targets if entry.decision is not None else ()
        victims = {each.holder.workload.metadata.namespace for each in targets}
        return self._cluster.why_paused(entry.workload.metadata.namespace, victims)

    def preempting_of(self, key: str) -> Preempting | None:
        """What the Workload says of its own plan; None if there is nothing to say."""
        life = self._lives.active(key)
        if life is None or life.stage != "Evicting":
            problem = self._troubles.of_plan(key)
            return Preempting(len(life.plan.victims) if life is not None else 0, problem) if problem else None
        plan, preemptor = life.plan, self._cluster.find(key, life.plan.uid)
        problem = self._troubles.of_victims(life.called)
        if preemptor is None or not preemptor.spec.preemption_gates:
            return Preempting(len(plan.victims), problem)
        text = announcement(plan, life.began)
        return Preempting(len(plan.victims), problem, text, is_due=not life.called)

    def not_evicted(self, key: str, uid: str, answer: str) -> None:
        """The write of an eviction failed, and is tried again. `answer`: what the API server said, without names."""
        for each in self._lives.of(key):
            life = self._lives[each]
            if uid in life.called and life.is_active:
                self._troubles.not_evicted(uid, answer)
                self._look_at(life.plan.preemptor)

    def waits(self, key: str) -> bool:
        """Whether the Workload waits for its own plan: the plan is being stored, or victims still hold their quota, and
        there is no room without it. Victims that are needed now are looked at."""
        life = self._lives.current(key)
        if life is None or life.stage == "Over":
            return False
        if life.stage == "Evicting":
            return self._waits_for_victims(life)
        # What could not be stored is tried again, and not at once.
        return life.stage == "Storing" or life.ending is NOT_STORED or life.plan.key in self._wanted_again

    def _waits_for_victims(self, life: Life) -> bool:
        plan = life.plan
        if not any(self._holds(plan, uid) for uid in plan.victims):
            return False
        others = self._lives.respected(plan)
        if self._need.fits_now(plan, others):
            return False
        self._spared.look_again(plan, others)
        return True

    def workload_changed(self, key: str, before: Workload | None, after: Workload | None) -> None:
        """The Workload came, changed or went. What is only assumed of it counts for what others need, and is not looked
        at."""
        self._need.workload_changed(key, before, after)
        if after is None or holds_quota(after):
            self._troubles.stored(key)
            self._lives.former.forget(key)
        uid = before.metadata.uid if before is not None else ""
        shown = self._cluster.find(key, uid)
        is_over = (shown is None or is_evicting(shown)) and self._troubles.evicted([uid])
        for each in self._lives.of(key):
            self._observe_cluster(each)
            if is_over and each in self._lives:
                self._look_at(self._lives[each].plan.preemptor)

    # ---- for a new term

    def take_over(self, plan: Planned, ending: Ending | None) -> None:
        """Go on from a stored plan, or end it. Nobody is called before `look_at_all`."""
        decided = min(plan.decided, self._now())
        if why_paused(plan, self._cluster):
            decided = self._now()  # its deadline stood still, and since when is not stored
        self._add(Life(plan, decided + self._deadline, stage="Evicting", began=self._now()))
        if ending is not None:
            self._observe(plan.key, Overruled(ending))

    def look_at_all(self) -> None:
        """Look at every plan."""
        for key in list(self._lives):
            self._observe_cluster(key)

    async def run(self) -> None:
        """Work until cancelled: end what is overdue, write again what failed, and put the stored plans in order."""
        swept = float("-inf")
        with self._stored.told(self._deleted):
            while True:
                if self._clock.monotonic() - swept >= SWEEP_SECONDS:
                    swept = self._clock.monotonic()
                    await self.sweep()
                self._woken.clear()
                self.tell_time()
                due, latest = self._next_due(), self._now() + int(SWEEP_SECONDS * SECOND)
                self._sleeps_until = min(latest, due) if due is not None else latest
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, (self._sleeps_until - self._now()) / SECOND)):
                        await self._woken.wait()

    async def sweep(self) -> None:
        """Put the stored plans in order: end those that nobody carries out, and delete old ones."""
        for key, life in list(self._lives.items()):
            if life.stage == "Evicting" and self._stored.get(key) is None:
                self._deleted(key)
        for plan in [each for each in self._stored if not each.has_ended and each.key not in self._lives]:
            try:
                await self._store.end(plan.key, ABANDONED if plan.plan is not None else UNREADABLE)
            except PlanNotStoredError as error:
                log.warning(
                    "the end of a plan could not be stored", plan="/".join(plan.key), error=str(error)
                )
        await self._store.sweep()

    def tell_time(self) -> None:
        """Look at the plans for which it is time, and have decisions that came too early taken again."""
        now = self._now()
        for queue in [queue for queue, due in self._postponed.items() if due <= now]:
            del self._postponed[queue]
            self._changed(queue)
        for key in [key for key, life in self._lives.items() if life.due is not None and life.due <= now]:
            self._observe_cluster(key)

    async def settle(self) -> None:
        """Wait for what is being written."""
        await self._writes.settle()

    async def close(self) -> None:
        """The term is over: nothing is sent any longer."""
        await self._writes.close()

    # ---- what is asked of a plan

    def _holds(self, plan: Planned, uid: str) -> bool:
        victim = plan.victims[uid]
        workload = self._cluster.find(victim.key, uid)
        return workload is not None and holds_still(victim, workload, plan.decided, self._now())

    def _preemption(self, plan: Planned, uid: str) -> Preemption | None:
        preemptor, victim = self._cluster.find(plan.preemptor, plan.uid), plan.victims[uid]
        if preemptor is None:
            return None
        message = preemption_message(preemptor, victim.reason, plan.path, victim.path)
        return Preemption("/".join(plan.key), uid, victim.reason, message, plan.queue, preemptor)

    # ---- lives

    def _add(self, life: Life) -> None:
        self._lives.add(life)
        self._need.begins(life.plan)
        self._wake(life.due)

    def _observe_cluster(self, key: PlanKey) -> None:
        life = self._lives.get(key)
        if life is not None:
            announced = announcement(life.plan, life.began)
            self._observe(key, look(life.plan, self._cluster, self._now(), self._options, announced))

    def _observe(self, key: PlanKey, seen: Observation) -> None:
        life = self._lives.get(key)
        if life is None:
            return
        self._lives[key], effects = reduce(life, seen)
        for effect in effects:
            self._perform(life.plan, effect)
        following = self._lives.get(key)
        if following is not None:
            self._wake(following.due)

    def _perform(self, plan: Planned, effect: Effect) -> None:
        match effect:
            case Call(uid):
                self._look_at(plan.victims[uid].key)
            case WriteEnd(ending):
                log.info("a plan is over", plan="/".join(plan.key), phase=ending.phase, reason=ending.reason)
                self._writes.start(self._end(plan.key, ending))
            case Free():
                self._changed(plan.queue)
            case Forget():
                self._forget(plan)

    def _forget(self, plan: Planned) -> None:
        ending = self._lives.remove(plan).ending
        self._spared.forget(plan)
        self._need.ends(plan)
        self._troubles.evicted(plan.victims)
        if ending is NOT_STORED or plan.key in self._wanted_again:
            self._wanted_again.discard(plan.key)
            self._changed(plan.queue)  # only now its preemptor may be decided again

    def _deleted(self, key: PlanKey) -> None:
        self._observe(key, Deleted())

    # ---- writes

    async def _begin(self, plan: Planned, spec: PreemptionPlanSpec, former: PlanKey | None) -> None:
        try:
            await self._store.begin(spec)
        except PlanNotStoredError as error:
            log.warning("a plan could not be stored", plan="/".join(plan.key), error=str(error))
            wait = round(self._troubles.not_stored(plan.preemptor, str(error)) * SECOND)
            self._observe(plan.key, NotWritten(self._now() + wait))
            self._look_at(plan.preemptor)
            return
        self._troubles.stored(plan.preemptor)
        await failpoint("quota.plan_stored")
        if former is not None:
            self._observe(former, Overruled(REPLACED))
        self._lives.counts(plan)
        self._observe(plan.key, Written())
        self._observe_cluster(plan.key)
        self._look_at(plan.preemptor)

    async def _end(self, key: PlanKey, ending: Ending) -> None:
        try:
            await self._store.end(key, ending)
        except PlanNotStoredError as error:
            if not error.for_good:
                log.warning("the end of a plan could not be stored", plan="/".join(key), error=str(error))
                self._observe(key, EndNotWritten(self._now()))
                return
        self._observe(key, EndWritten())

    # ---- time

    def _now(self) -> int:
        return round(self._clock.wall() * SECOND)

    def _next_due(self) -> int | None:
        dues = [due for life in self._lives.values() if (due := life.due) is not None]
        return min([*dues, *self._postponed.values()], default=None)

    def _wake(self, due: int | None) -> None:
        if due is not None and due < self._sleeps_until:
            self._woken.set()

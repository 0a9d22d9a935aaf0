"""The loop that moves gangs through their lives: it looks, lets the reducer decide, and has the effects carried out.

A step concerns only the gangs to which something has happened, and searches for one gang at most. Nothing is written
here: see `controllers.gangs.writing.writes`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, replace
from typing import Final

import structlog

from api.clock import Clock
from controllers.gangs.gangs import Gang, Gangs
from controllers.gangs.keys import lone_pod
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey
from controllers.gangs.lifecycle.observations import Decided, Failed, NotDecided
from controllers.gangs.looking.look import Looks
from controllers.gangs.looking.plan_index import PlanIndex
from controllers.gangs.performing import Hands, Performer
from controllers.gangs.planning.candidates import Candidates
from controllers.gangs.planning.decide import Decider
from controllers.gangs.planning.planning_queue import PlanningQueue, Turn
from controllers.gangs.timekeeping import TICK_SECONDS, Timekeeper
from controllers.gangs.waking.kept_out import let_in
from nodes.state.tables import Tables

__all__ = ["Planner", "World"]

log = structlog.get_logger(__name__)

RETRY_SECONDS: Final = 1.0

BURST_SECONDS: Final = 0.02
"""Changes come in bursts, such as the evictions of a plan. One look serves all changes of so long a time."""

BACKS_OFF: Final = "it waits before its next attempt to evict"


@dataclass(frozen=True, slots=True)
class World:
    """What the planner looks at."""

    tables: Tables
    looks: Looks
    trusted: Callable[[], bool]
    """Whether the mirror may be trusted: without it nothing is decided and nobody evicted."""
    tell_time: Callable[[], bool]
    """Have the tables know which pods are overdue; whether that has changed for any pod."""


class Planner:
    """One actor. Plans are committed one at a time; writes and evictions run beside it."""

    def __init__(
        self,
        world: World,
        gangs: Gangs,
        queue: PlanningQueue,
        candidates: Candidates,
        decider: Decider,
        performer: Performer,
        timekeeper: Timekeeper,
        hands: Hands,
        clock: Clock,
        nudged: asyncio.Event,
    ) -> None:
        """`nudged` is set by whoever wants the planner to look again."""
        self._world, self._gangs, self._queue, self._candidates = world, gangs, queue, candidates
        self._decider, self._performer, self._timekeeper = decider, performer, timekeeper
        self._hands, self._clock, self._nudged = hands, clock, nudged
        self._index = PlanIndex()
        self._seen = self._classes = self._budgets = -1
        """The tables' last change that was followed, and the last changes of PriorityClasses and of budgets."""
        self._stopped: set[GroupKey] = set()
        """Gangs that budgets have stopped: they are searched for again when a budget changes."""
        self._ticked = 0.0

    async def run(self) -> None:
        """Follow the mirror until cancelled."""
        while True:
            try:
                more = await self.step()
            except Exception:
                log.exception("the planner failed and goes on")
                await asyncio.sleep(RETRY_SECONDS)
                continue
            if not more:
                await self._wait()
                await asyncio.sleep(BURST_SECONDS)

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(self._patience()):
                await self._nudged.wait()
        except TimeoutError:
            return
        finally:
            self._nudged.clear()

    def _patience(self) -> float:
        """Seconds until there is something to do on a quiet cluster."""
        if not self._world.trusted():
            return TICK_SECONDS
        times = (self._timekeeper.next_tick(), self._queue.due_in())
        return min(seconds for seconds in times if seconds is not None)

    async def step(self) -> bool:
        """Everything that is due, and one search. Returns whether another search is due at once."""
        self._follow()
        if self._clock.monotonic() >= self._ticked + TICK_SECONDS:
            self._tick()
        let_in(self._hands.kept_out, self._hands.waker, self._hands.writes)
        turn = self._queue.next() if self._world.trusted() else None
        if turn is None:
            return False
        await self._plan(turn)
        return True

    # ---- following what happens

    def _follow(self) -> None:
        self._queue.follow()
        self._follow_nodes()
        if self._budgets != self._world.tables.budgets.changes:
            self._budgets = self._world.tables.budgets.changes
            self._queue.helped(self._stopped)
        while True:
            self._follow_groups()
            stirred = self._gangs.take_stirred()
            if not stirred:
                return
            for gang in stirred:
                self._move(gang)

    def _follow_nodes(self) -> None:
        """Plans on nodes that have changed are looked at, and nominations that have ended give room back."""
        nodes, since = self._world.tables.nodes, self._seen
        self._seen = nodes.last_change
        if since == self._seen:
            return
        if len(self._index):
            names = nodes.names_since(since)
            if names is None:
                self._stir(self._gangs.planned)
            else:
                self._stir({group for name in names for group in self._index.on_node(name)})
        if released := nodes.released_since(since):
            self._queue.freed(released)

    def _follow_groups(self) -> None:
        if self._classes != self._world.tables.class_changes:
            self._classes = self._world.tables.class_changes
            self._gangs.classes_changed()
        for key in self._gangs.touched:
            self._stir(self._index.of_victim(key))
        followed = self._gangs.follow()
        for gang in followed.gone:
            self._forget_plan(gang.key)
            self._queue.remove(gang.key)
            self._stopped.discard(gang.key)
            self._performer.perform(gang)
            self._performer.forget(gang.key)
            if lone_pod(gang.key) is None and gang.key not in followed.basic:
                # Its pods still say that they wait for it.
                self._performer.wake(gang.key, "PodGroupDeleted", "the PodGroup is gone")
        for key in followed.basic:
            self._performer.wake(key, "Basic", "the pod group is not a gang")
        for key in followed.mixed:
            self._hands.reporter.mixed_priorities(key)

    def _stir(self, groups: Iterable[GroupKey]) -> None:
        for group in groups:
            self._gangs.stir(group)

    def promised(self, nodes: Set[str], is_promised: bool) -> None:
        """Room on these nodes is promised to a plan, or is no longer."""
        if not is_promised:
            self._queue.freed(nodes)
        self._stir({group for node in nodes for group in self._index.on_node(node)})

    # ---- one gang

    def _move(self, gang: Gang) -> None:
        """Look at the gang until nothing more follows from what is seen. A fault with it holds up no other gang."""
        try:
            self._performer.perform(gang)
            while (plan := gang.life.plan) is not None:
                self._look(gang, plan)
                if not gang.todo:
                    break
                self._performer.perform(gang)
        except Exception:
            log.exception("a gang is passed over for now", group=gang.key)
            self._gangs.observe(gang, Failed())
        self._enlist(gang)

    def _look(self, gang: Gang, plan: ActivePlan) -> None:
        seen = self._world.looks.look(plan, trusted=self._world.trusted())
        self._hands.status.looked(plan, seen)
        self._gangs.see(gang, seen)

    def _enlist(self, gang: Gang) -> None:
        """The queue, the index and the PodGroup's status know the gang as it is now."""
        self._hands.status.moved(gang.key)
        plan = gang.life.plan
        if plan is not None:
            self._index.put(plan)
            self._queue.remove(gang.key)
            return
        self._forget_plan(gang.key)
        candidate = self._candidates.of(gang)
        if candidate is None:
            self._queue.remove(gang.key)
        else:
            self._queue.put(candidate)

    def _forget_plan(self, group: GroupKey) -> None:
        """The gang has no plan."""
        self._index.remove(group)
        self._world.looks.forget(group)

    async def _plan(self, turn: Turn) -> None:
        gang = self._gangs.get(turn.key)
        if gang is None:
            self._queue.remove(turn.key)
            return
        began = self._clock.monotonic()
        try:
            decided = await self._decide(gang, turn)
        except Exception:
            log.exception("a gang is passed over for now", group=gang.key)
            self._gangs.observe(gang, Failed())
            self._queue.told(turn, shared=False)
        else:
            self._note_stopped(gang.key, decided)
            self._gangs.observe(gang, decided)
            if gang.life.plan is None:
                self._queue.told(turn, shared=self._decider.is_shared(gang.key, decided))
        self._queue.spent(turn, self._clock.monotonic() - began)
        self._follow()

    def _note_stopped(self, key: GroupKey, decided: Decided | NotDecided) -> None:
        if isinstance(decided, Decided) and decided.spec.stopped_by_pod_disruption_budgets:
            self._stopped.add(key)
        else:
            self._stopped.discard(key)

    async def _decide(self, gang: Gang, turn: Turn) -> Decided | NotDecided:
        verdicts, former = self._hands.verdicts, gang.life.former
        barred = verdicts.why_barred(gang.key, gang.life) or ("" if turn.may_evict else BACKS_OFF)
        decided = await self._decider.decide(gang.key, barred=barred)
        if isinstance(decided, NotDecided):
            return decided
        room = verdicts.room(gang.key, former) if former is not None else None
        return replace(decided, room=room, only_free=not turn.may_evict)

    # ---- the clock

    def _tick(self) -> None:
        self._ticked = self._clock.monotonic()
        if self._world.tell_time():
            self._nudged.set()
        if self._timekeeper.tick(trusted=self._world.trusted()):
            self._queue.freed(None)
        self._stir(list(self._gangs.planned))
        self._follow()

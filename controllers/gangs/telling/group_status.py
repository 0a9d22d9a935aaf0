"""Keeps the status of PodGroups up to date: what each gang waits for, and its counts.

The numbers change all the time while a plan is carried out. A PodGroup is written at most once a second, and its last
state is always written. Nobody waits for these writes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple

import structlog

from api.backoff import Backoff
from api.clock import Clock
from api.groups import SCHEDULED, PodGroup
from api.plans import PreemptionPlanSpec
from controllers.gangs.gangs import Gangs
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey
from controllers.gangs.lifecycle.plan_seen import PlanSeen
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.probes import Probes
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.scheduler.proofs import Proof
from controllers.gangs.telling.scheduled_condition import (
    GATHERING,
    Numbers,
    PlanNumbers,
    Said,
    as_observed,
    say,
)
from controllers.gangs.writing.writer import Writer, reference_of
from controllers.gangs.writing.writes import Work, Writes
from kube.breath import Breath
from kube.errors import ApiError
from nodes.groups.keys import is_foreign
from runtime.work.queue import KeyedQueue

__all__ = ["GroupStatusWriter"]

log = structlog.get_logger(__name__)

BURST_SECONDS: Final = 0.05
"""Members come in bursts. One write serves all changes within this time."""
PAUSE_SECONDS: Final = 1.0
"""The minimum time between two writes of one PodGroup."""
GATHERING_SECONDS: Final = 5.0
"""How long a gang waits for members before it tells its pods. Most gangs are complete before."""
BACKOFF: Final = Backoff(1.0, 60.0)


class _State(NamedTuple):
    """What the status of a PodGroup says."""

    uid: str
    status: Literal["True", "False"]
    reason: str
    message: str
    numbers: Mapping[str, int]
    """By field of the status."""


@dataclass(slots=True)
class _Known:
    """What is known of one PodGroup's status."""

    written: _State | None = None
    not_before: float = 0.0
    """It is not written again before this time, in monotonic seconds."""
    gathers_since: float | None = None
    """Since when the gang has waited for members, in monotonic seconds. None if it does not."""


class GroupStatusWriter:
    """Writes the condition `reprieve.dev/Scheduled` and the counts, for one term. Faults are logged."""

    def __init__(
        self,
        gangs: Gangs,
        roster: Roster,
        gated: GatedPods,
        writer: Writer,
        writes: Writes,
        tell_pods: Callable[[GroupKey], Awaitable[None]],
        clock: Clock,
    ) -> None:
        """`writes`: of these writes alone, so that no plan waits for them. `tell_pods`: have the pods of a gang say
        that it waits for members."""
        self._gangs, self._roster, self._gated, self._tell_pods = gangs, roster, gated, tell_pods
        self._probes = Probes(gated, roster)
        self._writer, self._writes, self._clock = writer, writes, clock
        self._queue: KeyedQueue[GroupKey] = KeyedQueue(backoff=BACKOFF, clock=clock)
        self._known: dict[GroupKey, _Known] = {}
        self._looks: dict[GroupKey, tuple[PreemptionPlanSpec, PlanSeen]] = {}

    def looked(self, plan: ActivePlan, seen: PlanSeen) -> None:
        """The planner has looked at a plan. `moved` follows."""
        self._looks[plan.group] = (plan.spec, seen)

    def moved(self, key: GroupKey) -> None:
        """Something has happened to the gang. What its PodGroup says is compared, soon."""
        self._queue.add_after(key, max(BURST_SECONDS, self._pause(key)))

    def forget(self, key: GroupKey) -> None:
        """The group is gone."""
        self._known.pop(key, None)
        self._looks.pop(key, None)

    async def run(self) -> None:
        """Write what has changed, until cancelled."""
        while True:
            key = await self._queue.get()
            breath = Breath()
            self._look(key)
            if breath.is_due:
                await breath.take()

    def _pause(self, key: GroupKey) -> float:
        """For how many seconds the PodGroup is not written again."""
        known = self._known.get(key)
        return max(0.0, known.not_before - self._clock.monotonic()) if known is not None else 0.0

    def _look(self, key: GroupKey) -> None:
        """Begin to write the PodGroup's status, if it has changed. `_write` says when that is done."""
        work = None
        try:
            if pause := self._pause(key):
                self._queue.add_after(key, pause)
            else:
                work = self._work(key)
        except Exception:
            log.exception("the status of a PodGroup is passed over for now", group=key)
            self._queue.retry(key)
        if work is None:
            self._queue.done(key)
        else:
            self._writes.put(key, work)

    def _work(self, key: GroupKey) -> Work | None:
        """What there is to write; None if nothing has changed."""
        gang, group, count = self._gangs.get(key), self._roster.group(key), self._roster.count(key)
        if gang is None or group is None or count.minimum is None:
            self._looks.pop(key, None)  # a single pod has no PodGroup
            return None
        now, plan = self._clock.monotonic(), gang.life.plan
        if plan is None:
            self._looks.pop(key, None)
        numbers = self._plan_numbers(plan) if plan is not None else None
        probing = gang.life.probing
        waits = self._gated.has(key) and (probing is None or not self._probes.may_be_tried(key, probing))
        seen = Numbers(count.members, count.minimum, count.bound, count.gated, waits, plan=numbers)
        said = say(gang.life, seen, now, self._clock.wall())
        if why := self._gangs.modes.why_observed(key[0]):
            said = as_observed(said, why)
        if said.until is not None:
            self._queue.add_after(key, said.until - now)
        known, state = self._known.setdefault(key, _Known()), _state(group, seen, said)
        tells = self._has_gathered(key, known, said, now)
        if known.written == state and not tells:
            return None
        return partial(self._write, key, group, state, known, tells=tells)

    def _has_gathered(self, key: GroupKey, known: _Known, said: Said, now: float) -> bool:
        """Whether the gang has waited for members long enough for its pods to say so."""
        if said.reason != GATHERING:
            known.gathers_since = None
            return False
        if known.gathers_since is None:
            known.gathers_since = now
        left = known.gathers_since + GATHERING_SECONDS - now
        if left > 0:
            self._queue.add_after(key, left)
        return left <= 0

    async def _write(
        self, key: GroupKey, group: PodGroup, state: _State, known: _Known, *, tells: bool
    ) -> None:
        pause = PAUSE_SECONDS
        try:
            if known.written != state:
                if is_foreign(key[1]):
                    self._say_by_event(group, state, known.written)
                else:
                    await self._writer.write_group_condition(
                        group, SCHEDULED, state.status, state.reason, state.message, numbers=state.numbers
                    )
                known.written = state
            if tells:
                await self._tell_pods(key)
            self._queue.forget(key)
        except ApiError as error:
            log.warning("the status of a PodGroup could not be written", group=key, error=str(error))
            pause = max(pause, self._queue.retry(key))
        finally:
            known.not_before = self._clock.monotonic() + pause
            self._queue.done(key)

    def _say_by_event(self, group: PodGroup, state: _State, before: _State | None) -> None:
        """The status of a group of another kind is its own controller's. An event says each new reason."""
        if before is None or before.reason != state.reason:
            self._writer.event(reference_of(group), "Normal", state.reason, "Scheduling", state.message)

    def _plan_numbers(self, plan: ActivePlan) -> PlanNumbers:
        spec, seen = self._looks.get(plan.group, (None, None))
        if seen is None or spec is not plan.spec:
            return PlanNumbers(len(plan.members))  # nobody has looked at it yet
        members, roster = len(seen.unbound), self._roster
        if not plan.spec.victims:
            nodes = {member.node for member in plan.members.values()}
            return PlanNumbers(members, leaving=sum(len(roster.leaving_from(node)) for node in nodes))
        if plan.phase == "Planned":
            confirmed = sum(each.proof is Proof.CONFIRMED for each in seen.proofs.values())
            return PlanNumbers(members, confirmed=confirmed)
        gone = sum(roster.own_priority(uid) is None for uid in plan.victims)
        return PlanNumbers(members, gone=gone, paused=seen.paused)


def _state(group: PodGroup, seen: Numbers, said: Said) -> _State:
    meta = group.metadata
    numbers = {
        "observedGeneration": meta.generation,
        "members": seen.members,
        "requiredMembers": seen.required,
        "boundMembers": seen.bound,
        "gatedPods": seen.gated,
    }
    return _State(meta.uid, said.status, said.reason, said.message, numbers)

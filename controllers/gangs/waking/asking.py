"""Asking again: bringing members of gangs back to the scheduler, so that it says what it thinks of them now.

A condition brings back members that filter holds. A pulse brings back parked members. Gangs are asked in queue order.
Each gang has a backoff, so that gangs that nobody schedules do not use up the pulses.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

import structlog

from api.backoff import Backoff, Patience
from api.clock import Clock
from controllers.gangs.keys import LonePod
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.metrics import ASKED
from controllers.gangs.mirror.waiting import WaitingPod, WaitingPods
from controllers.gangs.waking.parked import ParkedPods, TurnedDown, Why
from controllers.gangs.waking.pulses import PulseBudget, PulseQueue, Rank, Wish, carry_out
from controllers.gangs.waking.waker import Wake, Waker
from controllers.gangs.writing.pod_writer import PodWriter
from nodes.groups.keys import is_native_name

__all__ = ["AskedMember", "Asking", "Parking"]

log = structlog.get_logger(__name__)

BACKOFF: Final = Backoff(5.0, 300.0, jitter=0.0)
"""Between two times that a gang is asked, as long as no scheduler presents it."""
TICK_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 5.0
"""How often to look for what a failed pulse has left behind when there is nothing else to do."""


class Parking(Enum):
    """How a member waits."""

    HELD = "held"
    """Filter turned it down in its last attempt: a condition brings it back."""
    PARKED = "parked"
    """Preempt, or no answer of ours at all, ended its last attempt: a pulse brings it back."""
    UNKNOWN = "unknown"
    """A pulse brings it back, however it waits."""


class AskedMember(NamedTuple):
    """A member that is to be brought back. All but `parking` never changes."""

    uid: str
    namespace: str
    name: str
    scheduler: str
    priority: int
    """Its own, not the group's: it decides which pulses bring it back."""
    parking: Parking


@dataclass(slots=True)
class _Round:
    """A gang is being asked."""

    rank: Rank
    due: float
    held: dict[str, Wake] = field(default_factory=dict)
    """Members whose conditions are to be written, by UID."""
    pulsed: set[str] = field(default_factory=set)
    """Members that wait for a pulse."""
    done: set[str] = field(default_factory=set)

    def settle(self, uid: str) -> None:
        """The member has been brought back, or came by itself."""
        self.held.pop(uid, None)
        self.pulsed.discard(uid)
        self.done.add(uid)

    def is_over(self, now: float) -> bool:
        """Whether there is nobody left to bring back. A question about nobody keeps its turn."""
        return not self.held and not self.pulsed and (bool(self.done) or self.due <= now)


class Asking:
    """All that brings pods back in one term, conditions of plans aside (see `Waker`)."""

    def __init__(
        self,
        pods: PodWriter,
        waker: Waker,
        waiting: WaitingPods,
        parked: ParkedPods,
        clock: Clock,
        asked: Callable[[GroupKey], None],
        *,
        backoff: Backoff = BACKOFF,
    ) -> None:
        """`asked` is called once every member has been brought back, is gone, or nobody can bring it back."""
        self._pods, self.waker, self._waiting, self._parked = pods, waker, waiting, parked
        self._clock, self._asked, self._backoff = clock, asked, backoff
        self._queue = PulseQueue(PulseBudget())
        self._rounds: dict[GroupKey, _Round] = {}
        self._group: dict[str, GroupKey] = {}
        """Of members that are to be brought back, by UID."""
        self._patience: dict[GroupKey, Patience] = {}
        """How often a gang was asked since a scheduler last presented it, and when it may be asked again."""
        self._nudged = asyncio.Event()

    # ---- gangs

    def ask(self, group: GroupKey, rank: Rank, members: Collection[AskedMember]) -> None:
        """Bring these members back, once. If the gang is being asked already, only new members are added to it.

        `rank` is its place in the queue (`Roster.rank`). The answer is a call of `asked`, never at once.
        """
        now = self._clock.monotonic()
        round_ = self._rounds.get(group)
        if round_ is None:
            patience = self._patience.get(group)
            round_ = self._rounds[group] = _Round(rank, max(now, patience.until) if patience else now)
        wanted = {member.uid for member in members}
        for uid in (round_.held.keys() | round_.pulsed) - wanted:
            self._settle(uid)
        for member in members:
            if member.uid not in round_.done:
                self._add(group, round_, member, now)
        self._nudged.set()

    def ask_members(self, group: GroupKey, rank: Rank, members: Collection[str]) -> None:
        """As `ask`, for members (UIDs) as they wait now.

        A member without the scheduler's verdict is in its queue, or nobody schedules it. Nothing brings it back sooner,
        and nothing brings back members of the scheduler's own groups.
        """
        asked = []
        for uid in () if is_native_name(group[1]) else members:
            pod = self._waiting.find(uid)
            if pod is not None and pod.is_turned_down:
                parking = Parking.HELD if self.waker.is_held(uid) else Parking.UNKNOWN
                asked.append(AskedMember(uid, pod.namespace, pod.name, pod.scheduler, pod.priority, parking))
        self.ask(group, rank, asked)

    def _add(self, group: GroupKey, round_: _Round, member: AskedMember, now: float) -> None:
        self._group[member.uid] = group
        if member.parking is Parking.HELD and member.uid not in round_.pulsed:
            text = "the scheduler is asked about it again"
            round_.held[member.uid] = Wake(member.uid, member.namespace, member.name, "Asked", text)
        elif member.parking is not Parking.HELD and member.uid not in round_.pulsed:
            round_.held.pop(member.uid, None)
            round_.pulsed.add(member.uid)
            waiting = self._waiting.find(member.uid)
            alone = waiting is not None and waiting.for_ports
            wish = Wish(
                member.uid,
                round_.rank,
                member.scheduler,
                member.priority,
                uid=member.uid,
                alone=alone,
                due=round_.due,
            )
            self._queue.want(wish, now)

    def cancel(self, group: GroupKey) -> None:
        """Nobody wants to know any longer: `asked` is not called."""
        round_ = self._rounds.pop(group, None)
        for uid in (round_.held.keys() | round_.pulsed) if round_ is not None else ():
            self._drop(uid)

    def forget_group(self, group: GroupKey) -> None:
        """The group is gone."""
        self.cancel(group)
        self._patience.pop(group, None)

    def presented(self, group: GroupKey, uid: str) -> None:
        """A scheduler has tried the member, or asked us about it: the gang's next question need not wait."""
        self._patience.pop(group, None)
        self._settle(uid)

    def forget(self, uid: str) -> None:
        """The pod is bound or gone."""
        self._parked.forget(uid)
        self._queue.drop(_return(uid))
        self._settle(uid)

    # ---- other pods

    def begin(self) -> None:
        """The term begins, and the mirror is synced. Bring back whoever was answered badly, or not at all."""
        now = self._clock.monotonic()
        self._queue.begin(now)
        self._want(self._parked.take_all())

    def parks(self, why: Why) -> bool:
        """Whether a pod waits for this reason to pass."""
        return self._parked.waits(why)

    def reason_passed(self, why: Why) -> None:
        """Bring back the pods that preempt answered with no node because of this."""
        self._want(self._parked.take(why))

    @property
    def parked_gangs(self) -> list[GroupKey]:
        """The gangs whose members preempt answered with no node because they wait."""
        return list(self._parked.gangs)

    def let_go(self, group: GroupKey) -> None:
        """Its gang holds nobody any longer: bring back the members that preempt answered with no node."""
        self._want(self._parked.take_members(group))

    def told(self, turned_down: TurnedDown) -> None:
        """Another process, which does not lead, has turned down these pods."""
        self._want(self._parked.wishes(turned_down))

    def bring_back(self, pod: WaitingPod) -> None:
        """Bring back a pod that preempt answered with no node, by a pulse.

        What the scheduler then writes of this attempt comes late, and looks as if it had tried the pod again. So that
        does not settle it.
        """
        rank = (-pod.priority, "", (pod.namespace, pod.name))
        wish = Wish(_return(pod.uid), rank, pod.scheduler, pod.priority, uid=pod.uid, alone=pod.for_ports)
        self._want([wish])

    def return_lone(self, key: LonePod) -> None:
        """Bring back a pod that preempts alone, if it still waits."""
        pod = self._waiting.find(key.uid)
        if pod is not None:
            self.bring_back(pod)

    def _want(self, wishes: Iterable[Wish]) -> None:
        now = self._clock.monotonic()
        for wish in wishes:
            self._queue.want(wish, now)
            self._nudged.set()

    # ---- doing it

    async def run(self) -> None:
        """Bring back whoever is due, until cancelled."""
        while True:
            try:
                await self.step()
            except Exception:
                log.exception("asking failed and goes on")
                await asyncio.sleep(TICK_SECONDS)
            busy = bool(self._rounds or len(self._queue))
            try:
                async with asyncio.timeout(TICK_SECONDS if busy else IDLE_SECONDS):
                    await self._nudged.wait()
            except TimeoutError:
                pass
            finally:
                self._nudged.clear()

    async def step(self) -> None:
        """The conditions that are due, at most one pulse, and the answers that follow."""
        await self._write_conditions()
        pulse = self._queue.next(self._clock.monotonic(), self._waiting)
        if pulse is not None:
            result = await carry_out(pulse, self._pods)
            for uid in self._queue.done(pulse, result, self._clock.monotonic()):
                self._settle(uid)
        for uid in self._queue.give_up(self._clock.monotonic()):
            self._settle(uid)
        self._answer()

    async def _write_conditions(self) -> None:
        now = self._clock.monotonic()
        due = sorted((each for each in self._rounds.values() if each.held and each.due <= now), key=_rank)
        wakes = [wake for round_ in due for wake in round_.held.values()]
        missed = await self.waker.ask(wakes) if wakes else set()
        for wake in wakes:
            if wake.uid not in missed:
                self._settle(wake.uid)

    def _answer(self) -> None:
        now = self._clock.monotonic()
        for group in [group for group, each in self._rounds.items() if each.is_over(now)]:
            del self._rounds[group]
            patience = self._patience.setdefault(group, Patience())
            patience.put_off(now, self._backoff)
            ASKED.inc()
            self._asked(group)

    def _settle(self, uid: str) -> None:
        """The pod need not be brought back any more."""
        group = self._drop(uid)
        if group is not None and (round_ := self._rounds.get(group)) is not None:
            round_.settle(uid)
            self._nudged.set()

    def _drop(self, uid: str) -> GroupKey | None:
        self._queue.drop(uid)
        return self._group.pop(uid, None)


def _return(uid: str) -> str:
    """The id of the wish that brings back a pod that is no member of a gang that is asked."""
    return f"return {uid}"


def _rank(round_: _Round) -> Rank:
    return round_.rank

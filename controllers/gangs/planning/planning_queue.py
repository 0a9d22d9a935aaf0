"""Which gang is planned next. Gangs wait in order of priority, creation and name, and events wake those that they help.

A gang that the search has found no plan for waits in a bucket with all gangs that need the same. Slots
(`nodes.state.slots`) say without a search whether a gang in a bucket could be helped. Each gang also waits in a
bucket for free room: it may take that at any time, also when it may not evict yet.

See docs/decisions/0030.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from api.clock import Clock
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.planning.looking_afar import LookingAfar
from nodes.search.preemptors.demand import Demand
from nodes.state.potential import NOBODY
from nodes.state.slots import Kind, Slots

__all__ = ["Candidate", "PlanningQueue", "Rank", "Share", "Turn"]

Rank = tuple[int, str, GroupKey]
"""Sorts gangs: see `Roster.rank`. Its last part is the gang."""

NEVER: Final = -1
ALLOWANCE_SECONDS: Final = 0.1
"""Seconds by which gangs that failed before may get ahead. Up to that, rank alone decides."""
MOST_SECONDS: Final = 0.5
"""A longer lead of either side is not remembered."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A gang that wants a plan."""

    rank: Rank
    demand: Demand
    below: int
    """The priority below which it may evict; NOBODY if it may evict nobody."""
    due: float
    """Before this time, in monotonic seconds, it is planned on free room alone."""
    looked: bool
    """The search has looked at the gang as it is now. It is planned again when something could help it."""
    failed: bool
    """A plan for it has come to nothing before."""
    gathering: bool = False
    """Until it is due, it waits for members and not for room."""
    observed: bool = False
    """What is decided for it is not done."""

    @property
    def key(self) -> GroupKey:
        """The gang."""
        return self.rank[-1]

    @property
    def needs(self) -> list[Need]:
        """The buckets in which it waits."""
        if self.gathering:
            return []
        return [self.need(NOBODY)] if self.below == NOBODY else [self.need(NOBODY), self.need(self.below)]

    def need(self, below: int) -> Need:
        """The bucket in which it waits for room that is there once everybody below this priority is gone."""
        return Need(self.demand, below, self.observed)


class Need(NamedTuple):
    """What the gangs of a bucket have in common."""

    demand: Demand
    below: int
    """They wait for room that is there once everybody below this priority is gone."""
    observed: bool
    """Whether what is decided for them is not done. Those that are enforced have other possible victims."""


class Turn(NamedTuple):
    """A gang whose turn it is."""

    key: GroupKey
    may_evict: bool
    """False: it is planned on free room alone, because it is not due yet."""
    again: bool
    """It counts among those that failed before."""
    moment: int
    """The search sees what has happened until then."""


class Share:
    """While both wait, gangs that failed before get half of the time at most. Otherwise rank decides."""

    def __init__(self) -> None:
        self._lead = 0.0
        """How many more seconds the search has spent on gangs that failed before, while others waited."""

    def is_new_ones_turn(self, comes_first: bool) -> bool:
        """Both wait: whether the gang that is new is next. `comes_first`: by rank."""
        return comes_first or self._lead > ALLOWANCE_SECONDS

    def spent(self, seconds: float, *, again: bool) -> None:
        """A search took this time, and the other side waited meanwhile."""
        lead = self._lead + (seconds if again else -seconds)
        self._lead = min(MOST_SECONDS, max(-MOST_SECONDS, lead))


@dataclass(slots=True)
class _Bucket:
    gangs: list[Rank] = field(default_factory=list)
    """In order."""
    helped: int = NEVER
    """When something last happened that could help."""
    told: int = NEVER
    """Until when a look at one gang has answered for all."""


@dataclass(slots=True)
class _Seen:
    """Until when the search has seen what happened, for one gang."""

    free: int
    evicting: int


class PlanningQueue:
    """The gangs that want a plan. Nothing here searches or waits."""

    def __init__(self, slots: Slots, clock: Clock, share: Share) -> None:
        self._slots, self._clock, self._share = slots, clock, share
        self._afar = LookingAfar(slots, clock)
        self._candidates: dict[GroupKey, Candidate] = {}
        self._seen: dict[GroupKey, _Seen] = {}
        self._new: list[Rank] = []
        """Due gangs that the search has not looked at. A heap; the entry of a gang that is not such a gang is void."""
        self._again: list[Rank] = []
        """The same of gangs that failed before or fit nowhere. A look at those says why."""
        self._queued: set[Rank] = set()
        """The entries of both heaps."""
        self._dues: list[tuple[float, Rank]] = []
        """A heap, with void entries."""
        self._buckets: dict[Need, _Bucket] = {}
        self._by_kind: dict[Kind, dict[Need, None]] = {}
        self._awake: dict[Need, None] = {}
        """Buckets with a gang that something may have helped."""
        self._moment = 0
        """Counts what happens."""
        self._both_wait = False
        """When the last turn was given, gangs of both sides waited."""

    def __len__(self) -> int:
        return len(self._candidates)

    # ---- gangs

    def put(self, candidate: Candidate) -> None:
        """The gang wants a plan, and this is known of it."""
        key, before = candidate.key, self._candidates.get(candidate.key)
        if before == candidate:
            return
        seen = self._seen.get(key)
        if seen is None or not candidate.looked:
            seen = _Seen(self._moment, self._moment)
        self._candidates[key], self._seen[key] = candidate, seen
        for need in candidate.needs:
            insort(self._bucket(need).gangs, candidate.rank)
        if before is not None:
            self._leave(before)  # after it has entered: a bucket that is empty is forgotten
        if candidate.due > self._clock.monotonic():
            heapq.heappush(self._dues, (candidate.due, candidate.rank))
        elif not candidate.looked:
            self._queue(candidate)

    def remove(self, key: GroupKey) -> None:
        """The gang wants no plan."""
        candidate = self._candidates.pop(key, None)
        self._afar.forget(key)
        if candidate is not None:
            del self._seen[key]
            self._leave(candidate)

    def _queue(self, candidate: Candidate) -> None:
        if candidate.rank in self._queued:
            return
        # Nobody counts slots for a gang that gathers.
        has_chance = candidate.gathering or candidate.demand.may_be_met(self._slots, candidate.below)
        heapq.heappush(self._new if has_chance and not candidate.failed else self._again, candidate.rank)
        self._queued.add(candidate.rank)

    def _bucket(self, need: Need) -> _Bucket:
        bucket = self._buckets.get(need)
        if bucket is None:
            bucket = self._buckets[need] = _Bucket()
            for kind in need.demand.kinds(need.below):
                self._slots.hold(kind)
                self._by_kind.setdefault(kind, {})[need] = None
        return bucket

    def _leave(self, candidate: Candidate) -> None:
        for need in candidate.needs:
            bucket = self._buckets[need]
            del bucket.gangs[bisect_left(bucket.gangs, candidate.rank)]
            if not bucket.gangs:
                self._forget(need)

    def _forget(self, need: Need) -> None:
        del self._buckets[need]
        self._awake.pop(need, None)
        for kind in need.demand.kinds(need.below):
            self._slots.drop(kind)
            del self._by_kind[kind][need]
            if not self._by_kind[kind]:
                del self._by_kind[kind]

    # ---- events

    def follow(self) -> None:
        """Follow the tables: room that has grown may help."""
        grown = self._slots.follow()
        needs = {need for kind in grown for need in self._by_kind.get(kind, ())}
        needs.update(need for key in self._afar.take() for need in self._candidates[key].needs)
        self._help(needs)

    def freed(self, nodes: Collection[str] | None) -> None:
        """Something else that kept gangs off these nodes is over, such as a promise of room. None: off any node."""
        needs = [
            need
            for kind, waiting in self._by_kind.items()
            if nodes is None or self._slots.is_admitted(kind, nodes)
            for need in waiting
        ]
        self._help(set(needs))

    def helped(self, gangs: Iterable[GroupKey]) -> None:
        """Something else than room may have helped these gangs to evict."""
        candidates = [candidate for key in gangs if (candidate := self._candidates.get(key)) is not None]
        self._help({need for each in candidates for need in each.needs if need.below != NOBODY})

    def _help(self, needs: Collection[Need]) -> None:
        if not needs:
            return
        self._moment += 1
        for need in needs:
            if need.demand.may_be_met(self._slots, need.below):
                self._buckets[need].helped = self._moment
                self._awake[need] = None

    # ---- turns

    def next(self) -> Turn | None:
        """Whose turn it is; None if it is nobody's. The gang's state must be put, or `told`, before the next call."""
        self._admit()
        new, again = self._top(self._new), self._first_again()
        self._both_wait = new is not None and again is not None
        if again is not None and (new is None or not self._share.is_new_ones_turn(new < again)):
            return self._turn(again, again=True)
        return None if new is None else self._turn(new, again=False)

    def told(self, turn: Turn, *, shared: bool) -> None:
        """The search has found no plan. `shared`: it would tell all gangs that need the same the same."""
        candidate, seen = self._candidates.get(turn.key), self._seen.get(turn.key)
        if candidate is None or seen is None:
            return
        self._afar.looked(turn.key, candidate.demand)
        seen.free = max(seen.free, turn.moment)
        needs = [candidate.need(NOBODY)]
        if turn.may_evict:
            seen.evicting = max(seen.evicting, turn.moment)
            needs.append(candidate.need(candidate.below))
        for need in needs if shared else ():
            if (bucket := self._buckets.get(need)) is not None:
                bucket.told = max(bucket.told, turn.moment)

    def spent(self, turn: Turn, seconds: float) -> None:
        """The search took this time."""
        if self._both_wait:
            self._share.spent(seconds, again=turn.again)

    def due_in(self) -> float | None:
        """Seconds until a gang becomes due, or until pods that have come and gone may help one; None if nothing is
        waited for."""
        due, afar = self._first_due(), self._afar.due_in()
        return due if afar is None else afar if due is None else min(due, afar)

    def _first_due(self) -> float | None:
        while self._dues and not self._is_waited_for(*self._dues[0]):
            heapq.heappop(self._dues)
        return max(0.0, self._dues[0][0] - self._clock.monotonic()) if self._dues else None

    def _is_waited_for(self, due: float, rank: Rank) -> bool:
        candidate = self._candidates.get(rank[-1])
        return candidate is not None and (candidate.due, candidate.rank) == (due, rank)

    def _admit(self) -> None:
        """Queue the gangs that have become due."""
        while self._first_due() == 0.0:
            candidate = self._candidates[heapq.heappop(self._dues)[1][-1]]
            if not candidate.looked:
                self._queue(candidate)

    def _turn(self, rank: Rank, *, again: bool) -> Turn:
        candidate = self._candidates[rank[-1]]
        return Turn(candidate.key, self._is_due(candidate), again, self._moment)

    def _top(self, heap: list[Rank]) -> Rank | None:
        while heap and not self._is_queued(heap[0]):
            self._queued.discard(heapq.heappop(heap))
        return heap[0] if heap else None

    def _is_queued(self, rank: Rank) -> bool:
        candidate = self._candidates.get(rank[-1])
        return (
            candidate is not None
            and candidate.rank == rank
            and not candidate.looked
            and self._is_due(candidate)
        )

    def _is_due(self, candidate: Candidate) -> bool:
        return candidate.due <= self._clock.monotonic()

    def _first_again(self) -> Rank | None:
        ranks = [rank for need in list(self._awake) if (rank := self._first_helped(need)) is not None]
        if (top := self._top(self._again)) is not None:
            ranks.append(top)
        return min(ranks, default=None)

    def _first_helped(self, need: Need) -> Rank | None:
        """The first gang of a bucket that something new may have helped."""
        bucket = self._buckets[need]
        waits = False
        if not need.demand.may_be_met(self._slots, need.below):
            del self._awake[need]
            return None
        for rank in bucket.gangs if bucket.helped > bucket.told else ():
            candidate, seen = self._candidates[rank[-1]], self._seen[rank[-1]]
            if (seen.free if need.below == NOBODY else seen.evicting) >= bucket.helped:
                continue
            if need.below == NOBODY or self._is_due(candidate):
                return rank
            waits = True
        if not waits:
            del self._awake[need]
        return None

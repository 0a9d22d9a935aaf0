"""Free room for pods of the scheduler's own gangs, beside what any order of attempts may take.

The second half plays a kube-scheduler that knows more than the mirror does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import hypothesis.strategies as st
from hypothesis import example, given

from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.free_room import FreeRoom
from controllers.gangs.promised.promises import Promises
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.objects import node, pod


class Attempt(NamedTuple):
    """A pod is presented with these nodes. If it is bound, it is so before the next attempt."""

    pod: int
    nodes: list[int]
    bound: bool


SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=4)
ATTEMPTS = st.lists(
    st.builds(Attempt, st.integers(0, 4), st.lists(st.integers(0, 3), unique=True), st.booleans()),
    max_size=12,
)


@given(
    SIZES,
    st.lists(st.integers(1, 2), min_size=5, max_size=5),
    st.lists(st.integers(0, 3), max_size=3),
    ATTEMPTS,
)
def test_no_order_of_attempts_offers_more_than_there_is(
    sizes: list[int], asks: list[int], running: list[int], attempts: list[Attempt]
) -> None:
    """Whatever each pod was offered last, all of it fits beside what runs, and a pod is offered what it was named."""
    tables = Tables()
    for number, cpu in enumerate(sizes):
        tables.upsert_node(node(f"n{number}", cpu=str(cpu)))
    roster = Roster(tables)
    promises = Promises(tables, roster, ManualClock())
    room = FreeRoom(roster, promises)
    used = [0] * len(sizes)
    for number, where in enumerate(running):
        if where < len(sizes) and used[where] < sizes[where]:
            used[where] += 1
            tables.upsert_pod(pod(f"low{number}", node=f"n{where}", priority=0))
    offered: dict[int, int] = {}
    bound: set[int] = set()
    for attempt in attempts:
        each, ask = attempt.pod, asks[attempt.pod]
        if each in bound:
            continue
        tried = pod(f"p{each}", requests={"cpu": str(ask)}, priority=100)
        promises.attempted(tried)
        offered.pop(each, None)
        names = [f"n{where}" for where in attempt.nodes if where < len(sizes)]
        found = room.find(tried, roster.asks_for(tried), 100, names)
        taken = [
            used[where] + sum(asks[other] for other, at in offered.items() if at == where)
            for where in range(len(sizes))
        ]
        fits = [where for where in attempt.nodes if where < len(sizes) and taken[where] + ask <= sizes[where]]
        assert (found is None) == (not fits)
        if found is None:
            continue
        assert found == f"n{fits[0]}"
        offered[each] = fits[0]
        if attempt.bound:
            bound.add(each)
            tables.upsert_pod(pod(f"p{each}", requests={"cpu": str(ask)}, priority=100, node=found))
            promises.reservations.grants.settle(tried.metadata.uid)
            used[offered.pop(each)] += ask


class Came(NamedTuple):
    """An ordinary pod comes by. It gets the first node with room, else it may preempt on one that has none."""

    pod: int
    ask: int
    priority: int
    node: int
    """Where it looks first."""
    preempts: bool


class Tried(NamedTuple):
    """The scheduler tries a member: beside all pods, and then without those of lower priority."""

    member: int
    ask: int


class Shown(NamedTuple):
    """The mirror gets the next states."""

    states: int


STEPS = st.lists(
    st.one_of(
        st.builds(
            Came,
            st.integers(0, 5),
            st.integers(1, 2),
            st.sampled_from([0, 100, 200]),
            st.integers(0, 2),
            st.booleans(),
        ),
        st.builds(Tried, st.integers(0, 2), st.integers(1, 2)),
        st.builds(Shown, st.integers(1, 3)),
    ),
    max_size=14,
)

GANG = 100
"""The members' priority."""


class Place(NamedTuple):
    """A pod on a node, or nominated to it."""

    node: int
    ask: int
    priority: int


class Scheduler:
    """It knows at once where pods are and where they are nominated. The mirror is shown that later."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes
        self.tables = Tables()
        for number, cpu in enumerate(sizes):
            self.tables.upsert_node(node(f"n{number}", cpu=str(cpu)))
        self.roster = Roster(self.tables)
        self.promises = Promises(self.tables, self.roster, ManualClock())
        self.finder = FreeRoom(self.roster, self.promises)
        self.placed: dict[str, Place] = {}
        self.nominated: dict[str, Place] = {}
        self.unseen = deque[Callable[[], None]]()
        self.version = 0

    def room(self, uid: str, priority: int, where: int, *, simulated: bool = False) -> int:
        """What is free on a node for this pod."""
        placed = [each for each in self.placed.values() if not simulated or each.priority >= priority]
        nominated = [
            each for name, each in self.nominated.items() if name != uid and each.priority >= priority
        ]
        return self.sizes[where] - sum(each.ask for each in (*placed, *nominated) if each.node == where)

    def nodes(self, uid: str, ask: int, priority: int, *, simulated: bool = False) -> list[int]:
        """Where there is room."""
        every = range(len(self.sizes))
        return [each for each in every if self.room(uid, priority, each, simulated=simulated) >= ask]

    def tell(self, name: str, place: Place, *, bound: bool) -> None:
        """Something has happened to a pod. The mirror does not know it yet."""
        self.version += 1
        where = f"n{place.node}"
        state = pod(
            name,
            requests={"cpu": str(place.ask)},
            priority=place.priority,
            node=where if bound else "",
            nominated="" if bound else where,
            version=self.version,
        )

        def show() -> None:
            self.tables.upsert_pod(state)
            self.promises.pod_changed(state.metadata.uid, state)

        self.unseen.append(show)

    def bind(self, name: str, place: Place) -> None:
        """The pod is on the node from now on."""
        self.nominated.pop(name, None)
        self.placed[name] = place
        self.tell(name, place, bound=True)

    def came(self, step: Came) -> None:
        """An ordinary pod."""
        name = f"o{step.pod}"
        if name in self.placed or name in self.nominated:
            return
        asks = pod(name, requests={"cpu": str(step.ask)}, priority=step.priority, version=self.version)
        self.promises.attempted(asks)
        found = self.nodes(name, step.ask, step.priority)
        where = step.node % len(self.sizes)
        if found:
            self.promises.let_through(asks, ())
            place = Place(where if where in found else found[0], step.ask, step.priority)
            self.bind(name, place)
        elif step.preempts:
            self.promises.let_through(asks, ())
            self.nominated[name] = Place(where, step.ask, step.priority)
            self.tell(name, self.nominated[name], bound=False)

    def tries(self, step: Tried) -> None:
        """A member of a gang that runs already."""
        name = f"m{step.member}"
        if name in self.placed:
            return
        for simulated in (False, True):
            names = self.nodes(name, step.ask, GANG, simulated=simulated)
            asks = pod(name, requests={"cpu": str(step.ask)}, priority=GANG, version=self.version)
            self.promises.attempted(asks)
            requests = self.roster.asks_for(asks)
            found = self.finder.find(asks, requests, GANG, [f"n{each}" for each in names])
            if found is None:
                assert not names or simulated or self.unseen, f"{name} was not offered any of {names}"
                continue
            assert not simulated, f"somebody would be evicted for {name} on {found}"
            self.bind(name, Place(int(found[1:]), step.ask, GANG))
            return

    def shown(self, step: Shown) -> None:
        """The mirror gets the next states."""
        for _ in range(min(step.states, len(self.unseen))):
            self.unseen.popleft()()


@given(SIZES, STEPS)
@example([3], [Came(0, 2, 0, 0, preempts=False), Came(1, 2, 100, 0, preempts=True), Shown(2), Tried(0, 1)])
@example([2], [Came(0, 1, 0, 0, preempts=False), Came(1, 2, 50, 0, preempts=True), Shown(2), Tried(0, 1)])
def test_nobody_is_evicted_whatever_the_mirror_does_not_show_yet(
    sizes: list[int], steps: list[Came | Tried | Shown]
) -> None:
    """A member is offered a node only where the scheduler finds room itself, and always if the mirror is up to date."""
    scheduler = Scheduler(sizes)
    for step in steps:
        if isinstance(step, Came):
            scheduler.came(step)
        elif isinstance(step, Tried):
            scheduler.tries(step)
        else:
            scheduler.shown(step)

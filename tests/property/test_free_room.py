"""Free room for pods of the scheduler's own gangs, beside what any order of attempts may take."""

from __future__ import annotations

from typing import NamedTuple

import hypothesis.strategies as st
from hypothesis import given

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

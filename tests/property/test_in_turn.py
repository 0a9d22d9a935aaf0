"""Gangs that are decided one after the other never promise the same room twice, whatever waits."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from api.plans import PreemptionPlanSpec
from nodes.answers.asking import decide_group
from nodes.answers.in_turn import Turn, in_turn
from nodes.groups.registry import GroupKey
from nodes.state.snapshot import Snapshot
from tests.kit.objects import gang, node, pod, tables

CPUS = 4

running = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 2), st.integers(0, 300)), max_size=8)
"""Pods that run: the node, CPUs, and the priority."""
waits = st.lists(
    st.tuples(st.integers(1, 3), st.integers(1, 4), st.sampled_from([100, 200, 300])), min_size=1, max_size=6
)
"""Gangs that wait: members, CPUs of each, and the priority."""


def snapshot_of(runs: list[tuple[int, int, int]], gangs: list[tuple[int, int, int]]) -> Snapshot:
    things: list[Any] = [node(f"n{number}", cpu=str(CPUS)) for number in range(4)]
    used = Counter[int]()
    for number, (where, cpus, priority) in enumerate(runs):
        used[where] += cpus
        if used[where] <= CPUS:
            asks = {"cpu": str(cpus)}
            things.append(
                pod(f"low-{number}", node=f"n{where}", requests=asks, priority=priority, phase="Running")
            )
    for number, (members, cpus, priority) in enumerate(gangs):
        things.append(gang(f"g{number}", members, priority=priority))
        things += [
            pod(f"g{number}-{each}", group=f"g{number}", requests={"cpu": str(cpus)}, priority=priority)
            for each in range(members)
        ]
    return tables(*things).snapshot()


def carried(key: GroupKey, spec: PreemptionPlanSpec) -> bool:
    """Everything that has a place is carried out."""
    return spec.outcome in ("Fits", "Preempts")


def specs(turns: list[Turn]) -> list[PreemptionPlanSpec]:
    found = [turn.decided for turn in turns]
    return [
        each
        for each in found
        if isinstance(each, PreemptionPlanSpec) and each.outcome in ("Fits", "Preempts")
    ]


@given(running, waits)
def test_no_room_and_no_victim_is_promised_twice(
    runs: list[tuple[int, int, int]], gangs: list[tuple[int, int, int]]
) -> None:
    snapshot = snapshot_of(runs, gangs)
    turns = list(in_turn(snapshot, lambda key: True, carried, 100))
    assert {turn.key for turn in turns} == {("default", f"g{number}") for number in range(len(gangs))}
    plans = specs(turns)
    gone = [each.uid for plan in plans for victim in plan.victims for each in victim.pods]
    assert len(gone) == len(set(gone))
    cpu, used = snapshot.resources.index("cpu"), Counter[str]()
    for row in range(len(snapshot.pod_live)):
        if snapshot.pod_node[row] >= 0 and snapshot.pod_uids[row] not in gone:
            used[snapshot.node_names[snapshot.pod_node[row]]] += _asks(snapshot, row, cpu)
    for plan in plans:
        for each in plan.placements:
            used[each.node] += _asks(snapshot, snapshot.pod_rows[each.uid], cpu)
    whole = {snapshot.node_names[row]: int(snapshot.allocatable[row][cpu]) for row in range(4)}
    assert all(used[name] <= whole[name] for name in whole)


def _asks(snapshot: Snapshot, row: int, resource: int) -> int:
    return int(snapshot.class_requests[snapshot.pod_class[row]][resource])


@given(running, waits)
def test_the_first_one_is_decided_as_if_it_were_alone_and_the_order_is_that_of_the_queue(
    runs: list[tuple[int, int, int]], gangs: list[tuple[int, int, int]]
) -> None:
    snapshot = snapshot_of(runs, gangs)
    turns = list(in_turn(snapshot, lambda key: True, carried, 100))
    ranks = [(-gangs[int(turn.key[1][1:])][2], turn.key) for turn in turns]
    assert ranks == sorted(ranks)
    first = turns[0]
    assert isinstance(first.decided, PreemptionPlanSpec)
    alone = decide_group(snapshot, *first.key)
    assert (first.decided.outcome, first.decided.victims) == (alone.outcome, alone.victims)


@given(waits, st.integers(0, 5))
def test_who_comes_after_the_last_search_is_named_and_not_decided(
    gangs: list[tuple[int, int, int]], most: int
) -> None:
    snapshot = snapshot_of([], gangs)
    turns = list(in_turn(snapshot, lambda key: True, carried, most))
    decided = [turn.decided is not None for turn in turns]
    assert decided == sorted(decided, reverse=True)
    assert len(turns) == len(gangs)
    assert sum(decided) >= min(most, len(gangs))

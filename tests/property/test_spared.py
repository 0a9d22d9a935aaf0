"""kube-scheduler's own preemption of groups beside what filter leaves to it: no unit that it does not know breaks.

The scheduler here is a few lines: a real pass, a simulated pass without the pods of lower priority, and then the
victims are put back. It takes any of the nodes that filter leaves, and puts victims back in any order. All
units have a lower priority than all groups: see what stays open in decision 104.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import hypothesis.strategies as st
from hypothesis import event, given, settings

from api.core import Pod
from api.requests import PODS
from controllers.gangs.keys import GroupKey
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.spared import Spared, native_group
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.examples import examples
from tests.kit.native_gangs import native_group as group
from tests.kit.native_gangs import native_pod
from tests.kit.objects import node, pod

RING: Final = {"scheduling.x-k8s.io/pod-group": "ring"}
PRIORITIES: Final = {"low": 10, "high": 20}
"""Of the native groups, by name."""


@dataclass
class Member:
    """A pod of a native group."""

    pod: Pod
    cpus: int
    priority: int

    @property
    def name(self) -> str:
        return self.pod.metadata.name

    @property
    def key(self) -> GroupKey:
        key = native_group(self.pod)
        assert key is not None
        return key


@dataclass
class Scheduler:
    """It knows every pod at once. The mirror of reprieve shows a binding later."""

    data: st.DataObject
    spared: Spared
    room: dict[str, int]
    """CPUs by node."""
    pods: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    """By name: the node, the CPUs and the priority of each pod that is bound, or about to be."""

    def free(self, node: str, below: int | None, beside: dict[str, str], crowd: list[Member]) -> int:
        """What is left on the node, without the pods of a priority lower than `below`."""
        there = [cpus for where, cpus, own in self.pods.values() if where == node and own >= (below or 0)]
        return (
            self.room[node] - sum(there) - sum(each.cpus for each in crowd if beside.get(each.name) == node)
        )

    def run(self, crowd: list[Member], *, below: int | None) -> dict[str, str]:
        """A pass: where each member is placed."""
        placed: dict[str, str] = {}
        for each in crowd:
            names = [name for name in self.room if self.free(name, below, placed, crowd) >= each.cpus]
            if not names:
                continue
            self.spared.attempted(each.pod)
            refused = self.spared.refused(each.key, each.pod, {"cpu": each.cpus * 1000, PODS: 1}, names)
            left = [name for name in names if name not in refused]
            if left:
                placed[each.name] = self.data.draw(st.sampled_from(left))
        return placed

    def victims(self, crowd: list[Member], placed: dict[str, str], below: int) -> set[str]:
        """Who is not put back beside the members."""
        lower = [name for name, (_, _, own) in self.pods.items() if own < below]
        gone = {name: self.pods.pop(name) for name in lower}
        for name in self.data.draw(st.permutations(lower)):
            where, cpus, _ = gone[name]
            if self.free(where, None, placed, crowd) >= cpus:
                self.pods[name] = gone.pop(name)
        return set(gone)


@settings(deadline=None, max_examples=examples(150))
@given(data=st.data())
def test_no_pass_of_a_native_group_takes_a_pod_of_a_unit(data: st.DataObject) -> None:
    tables = Tables()
    room = {
        f"n{number}": cpus
        for number, cpus in enumerate(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    }
    spared = Spared(tables, Roster(tables), ManualClock())
    scheduler = Scheduler(data, spared, room)
    for name, cpus in room.items():
        tables.upsert_node(node(name, cpu=str(cpus)))
    units = set[str]()
    for number in range(data.draw(st.integers(1, 5))):
        name, where = f"p{number}", data.draw(st.sampled_from(sorted(room)))
        of_unit, cpus = data.draw(st.booleans()), data.draw(st.integers(1, 2))
        own = data.draw(st.sampled_from([1, 5] if of_unit else [1, 15]))
        if scheduler.free(where, None, {}, []) < cpus:
            continue
        units |= {name} if of_unit else set()
        labels = RING if of_unit else None
        tables.upsert_pod(pod(name, node=where, requests={"cpu": str(cpus)}, priority=own, labels=labels))
        scheduler.pods[name] = where, cpus, own
    crowds: dict[str, list[Member]] = {}
    for name, priority in PRIORITIES.items():
        tables.upsert_group(group(name, minimum=data.draw(st.integers(0, 3)), priority=priority))
        crowds[name] = []
        for number in range(data.draw(st.integers(1, 4))):
            cpus = data.draw(st.integers(1, 2))
            made = native_pod(f"{name}-{number}", name, priority=priority, requests={"cpu": str(cpus)})
            tables.upsert_pod(made)
            crowds[name].append(Member(made, cpus, priority))

    unseen: list[tuple[Member, str]] = []
    for _ in range(data.draw(st.integers(1, 5))):
        name = data.draw(st.sampled_from(sorted(PRIORITIES)))
        crowd, priority = crowds[name], PRIORITIES[name]
        its_group = Roster(tables).group(("default", f"podgroups.scheduling.k8s.io:{name}"))
        assert its_group is not None
        gang = its_group.spec.scheduling_policy.gang
        there = sum(each.startswith(name) for each in scheduler.pods)
        least = max(1, (gang.min_count if gang is not None else 1) - there)
        placed = scheduler.run(crowd, below=None)
        if len(placed) < least:
            placed = scheduler.run(crowd, below=priority)
            if len(placed) < least:
                event("infeasible")
                continue
            gone = scheduler.victims(crowd, placed, priority)
            assert not gone & units, "a unit breaks"
            event("evicts" if gone else "evicts nobody")
            for victim in sorted(gone):
                tables.delete_pod("default", victim)
        for each in [each for each in crowd if each.name in placed]:
            scheduler.pods[each.name] = placed[each.name], each.cpus, each.priority
            unseen.append((each, placed[each.name]))
            crowd.remove(each)
        if data.draw(st.booleans()):
            for each, where in unseen:
                bound = native_pod(
                    each.name,
                    each.key[1].partition(":")[2],
                    node=where,
                    priority=each.priority,
                    requests={"cpu": str(each.cpus)},
                )
                tables.upsert_pod(bound)
                spared.pod_changed(bound.metadata.uid, bound)
            unseen.clear()

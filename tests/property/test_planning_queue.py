"""Events in any order: nobody sleeps who could be planned, and nobody is looked at who could not.

The test is the planner: it asks the queue whose turn it is, searches, and carries plans out at once.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from msgspec import UNSET

from api.plans import PreemptionPlanSpec
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.planning.planning_queue import Candidate, PlanningQueue, Share, Turn
from nodes.search.decision import group_decision
from nodes.state.potential import NOBODY
from nodes.state.slots import Slots
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.examples import examples
from tests.kit.objects import gang, node, pod

NODES = st.sampled_from(["n0", "n1", "n2"])
GANGS = st.sampled_from(["a", "b", "c", "d"])
HOSTNAME = "kubernetes.io/hostname"
BACKOFF_SECONDS = 4.0


class Queue(RuleBasedStateMachine):
    """A small cluster, and gangs that come, wait, run and go."""

    def __init__(self) -> None:
        super().__init__()
        self.tables, self.clock = Tables(), ManualClock()
        self.roster = Roster(self.tables)
        self.queue = PlanningQueue(Slots(self.tables), self.clock, Share())
        self.touched: set[GroupKey] = set()
        self.tables.groups.on_touch(self.touched.add)
        self.due: dict[GroupKey, float] = {}
        self.looked: set[GroupKey] = set()
        self.failed: set[GroupKey] = set()
        self.pods = 0
        self.fillers: list[str] = []

    # ---- the world

    @rule(
        name=NODES,
        cpu=st.sampled_from(["2", "4", "6"]),
        rack=st.sampled_from(["r0", "r1"]),
        off=st.booleans(),
    )
    def a_node_comes_or_changes(self, name: str, cpu: str, rack: str, off: bool) -> None:
        labels = {"rack": rack, HOSTNAME: name}
        self.tables.upsert_node(node(name, cpu=cpu, labels=labels, unschedulable=off))

    @rule(name=NODES)
    def a_node_goes(self, name: str) -> None:
        self.tables.delete_node(name)

    @rule(
        name=NODES,
        cpu=st.sampled_from(["1", "2", "4"]),
        priority=st.sampled_from([0, 10, 50]),
        mirror=st.sampled_from([False, False, True]),
        port=st.sampled_from([None, None, 80]),
        against=st.sampled_from([None, None, "a", "b"]),
    )
    def a_pod_runs(
        self, name: str, cpu: str, priority: int, mirror: bool, port: int | None, against: str | None
    ) -> None:
        """`against`: no member of this gang may be on its node."""
        self.pods += 1
        self.fillers.append(f"f{self.pods}")
        term = {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"of": against}}}
        terms = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        apart = {"affinity": {"podAntiAffinity": terms}} if against is not None else {}
        made = _pod(f"f{self.pods}", cpu, port, node=name, priority=priority, mirror=mirror, **apart)
        self.tables.upsert_pod(made)

    @rule(data=st.data())
    def a_pod_goes(self, data: st.DataObject) -> None:
        if self.fillers:
            name = data.draw(st.sampled_from(sorted(self.fillers)))
            self.fillers.remove(name)
            self.tables.delete_pod("default", name)

    @rule(
        name=GANGS,
        minimum=st.integers(1, 3),
        priority=st.sampled_from([5, 10, 100]),
        rack=st.booleans(),
        never=st.sampled_from([False, False, True]),
        cpus=st.lists(st.sampled_from(["1", "2", "3"]), min_size=3, max_size=3),
        port=st.sampled_from([None, None, None, 80]),
        alike=st.booleans(),
    )
    def a_gang_comes(
        self,
        name: str,
        minimum: int,
        priority: int,
        rack: bool,
        never: bool,
        cpus: list[str],
        port: int | None,
        alike: bool,
    ) -> None:
        if self.tables.groups.find("default", name) is not None:
            return
        spec: dict[str, Any] = {"preemptionPolicy": "Never"} if never else {}
        if rack:
            spec["schedulingConstraints"] = {"topology": [{"key": "rack"}]}
        self.pods += 1
        self.tables.upsert_group(gang(name, minimum=minimum, priority=priority, **spec))
        for cpu in cpus:
            self.pods += 1
            cpu = cpus[0] if alike else cpu
            made = _pod(f"m{self.pods}", cpu, port, group=name, priority=priority, labels={"of": name})
            self.tables.upsert_pod(made)

    @rule(name=GANGS)
    def a_gang_goes(self, name: str) -> None:
        self.tables.delete_group("default", name)
        for row in list(self.tables.members(("default", name))):
            self.tables.delete_pod("default", self.tables.view(row).name)

    @rule(seconds=st.sampled_from([0.5, 5.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    # ---- the planner

    @rule(steps=st.integers(1, 3))
    def some_are_planned(self, steps: int) -> None:
        for _ in range(steps):
            if not self._step():
                return

    @rule()
    def all_rest(self) -> None:
        while self._step():
            pass
        for key in self._waiting():
            evicting, free = self._search(key, evicts=True), self._search(key, evicts=False)
            assert free.outcome != "Fits", f"{key} sleeps, and there is room for it"
            if self.due.get(key, 0.0) <= self.clock.monotonic():
                assert evicting.outcome not in ("Fits", "Preempts"), f"{key} sleeps, and could evict"

    def _waiting(self) -> list[GroupKey]:
        found = [key for key, _ in self.roster.groups()]
        return [key for key in found if (candidate := self._candidate(key)) is not None and candidate.looked]

    def _step(self) -> bool:
        self._follow()
        turn = self.queue.next()
        if turn is None:
            return False
        was_looked = turn.key in self.looked
        spec = self._search(turn.key, evicts=turn.may_evict)
        if spec.outcome in ("Fits", "Preempts"):
            self._carry_out(turn.key, spec)
            return True
        if was_looked:
            self._is_not_in_vain(turn)
        if turn.may_evict:
            self.looked.add(turn.key)
            self.failed.add(turn.key)
            self.due[turn.key] = self.clock.monotonic() + BACKOFF_SECONDS
        shared = (
            spec.mismatch is UNSET
            and not self.roster.count(turn.key).bound
            and not self.tables.classes.keeping_apart
        )
        self.queue.told(turn, shared=shared)
        self.touched.add(turn.key)
        self._follow(new=False)
        return True

    def _is_not_in_vain(self, turn: Turn) -> None:
        """A look that found nothing was not hopeless: there were slots for it."""
        candidate = self._candidate(turn.key)
        assert candidate is not None
        slots = Slots(self.tables)
        slots.follow()
        below = candidate.below if turn.may_evict else NOBODY
        for kind in candidate.demand.kinds(below):
            slots.hold(kind)
        assert candidate.demand.may_be_met(slots, below)

    def _follow(self, *, new: bool = True) -> None:
        self.queue.follow()
        touched, self.touched = self.touched.copy(), set()
        self.tables.groups._hooks[:] = [self.touched.add]
        for key in touched:
            if new:
                self.looked.discard(key)
            candidate = self._candidate(key)
            if candidate is None:
                self.queue.remove(key)
                for kept in (self.looked, self.failed):
                    kept.discard(key)
                self.due.pop(key, None)
            else:
                self.queue.put(candidate)

    def _candidate(self, key: GroupKey) -> Candidate | None:
        demand, priority = self.roster.demand(key), self.roster.group_priority(key)
        count = self.roster.count(key)
        if demand is None or priority is None or count.minimum is None or count.members < count.minimum:
            return None
        return Candidate(
            rank=self.roster.rank(key),
            demand=demand,
            below=priority if self.roster.evicts(key) else NOBODY,
            due=self.due.get(key, 0.0),
            looked=key in self.looked,
            failed=key in self.failed,
        )

    def _search(self, key: GroupKey, *, evicts: bool) -> PreemptionPlanSpec:
        barred = "" if evicts else "not yet"
        return group_decision(self.tables.snapshot(), *key, strict=False, barred=barred).spec

    def _carry_out(self, key: GroupKey, spec: PreemptionPlanSpec) -> None:
        for victim in spec.victims:
            for each in victim.pods:
                self.tables.delete_pod(each.namespace, each.name)
                if each.name in self.fillers:
                    self.fillers.remove(each.name)
        priority = self.roster.group_priority(key)
        for placement in spec.placements:
            row = self.tables.pod(placement.uid)
            assert row is not None
            cpu = self.tables.view(row).pod_class.requests["cpu"]
            self.tables.upsert_pod(
                _pod(placement.pod, f"{cpu}m", None, group=key[1], node=placement.node, priority=priority)
            )

    @invariant()
    def the_queue_keeps_nothing_of_those_that_are_gone(self) -> None:
        if not any(True for _ in self.roster.groups()):
            self._follow()
            assert len(self.queue) == 0
            assert not self.queue._buckets
            assert not self.queue._by_kind


def _pod(name: str, cpu: str, port: int | None, **fields: Any) -> Any:
    spec: dict[str, Any] = {}
    if port is not None:
        ports = [{"containerPort": port, "hostPort": port}]
        container = {"name": "c", "resources": {"requests": {"cpu": cpu}}, "ports": ports}
        spec["containers"] = [container]
    return pod(name, requests={"cpu": cpu}, **fields, **spec)


Queue.TestCase.settings = settings(max_examples=examples(300), stateful_step_count=40, deadline=None)
TestQueue = Queue.TestCase

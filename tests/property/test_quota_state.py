"""Whatever happens, in whatever order, the state is what it would be if all had been there from the start."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from api.checks import AdmissionCheck, AdmissionCheckStatus
from api.kueue import AdmissionChecksStrategy, AdmissionCheckStrategyRule
from api.meta import Condition, ObjectMeta
from api.workloads import Workload
from quota.state.ranks import Ranks
from quota.state.remains import Remains
from quota.state.snapshot import Holder, QuotaSnapshot
from quota.state.state import QuotaState, Thing
from tests.kit.examples import examples
from tests.kit.quota.objects import (
    cluster_queue,
    cohort,
    cpu,
    evicted,
    flavor,
    held,
    local_queue,
    preempted,
    workload,
)

AMOUNTS = st.integers(0, 3000)
NAMES = st.sampled_from("abc")
LIMITS = st.none() | st.integers(0, 3)
QUOTAS = st.builds(cpu, st.integers(0, 3), LIMITS, LIMITS)


def everything(snapshot: QuotaSnapshot) -> dict[str, Any]:
    """All that can be seen of it, but for the numbers, and for flavors that nobody uses any more."""
    ledger, names = snapshot.ledger, snapshot.layout.names
    numbered = [(node, fr, pair) for node in range(len(names)) for pair, fr in snapshot.layout.frs.items()]
    return {
        "names": names,
        "usage": {(node, pair): used for node, fr, pair in numbered if (used := ledger.usage(node, fr))},
        "quota": {(node, pair): quota for node, fr, pair in numbered if (quota := ledger.quota(node, fr))},
        "holders": {
            name: [
                (holder.key, holder.priority, holder.reserved, holder.queued, holder.evicting, holder.usage)
                for holder in cast(list[Holder], snapshot.ledger.holders(queue.node))
            ]
            for name, queue in snapshot.queues.items()
        },
        "queues": {name: (q.node, q.spec, q.group_of, q.activity) for name, q in snapshot.queues.items()},
        "flavors": snapshot.flavors,
        "local": snapshot.local_queues,
    }


class Events(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.state = QuotaState()
        self.objects: dict[tuple[str, str], Thing] = {}
        self.remains: dict[str, Remains] = {}
        self.old: list[tuple[QuotaSnapshot, dict[str, Any]]] = []

    def put(self, thing: Thing, key: str) -> None:
        self.state.apply(thing)
        self.objects[type(thing).__name__, key] = thing
        if isinstance(thing, Workload):
            self.remains.pop(key, None)

    @rule(name=NAMES, quotas=QUOTAS, parent=st.sampled_from(["", "c", "d"]))
    def set_queue(self, name: str, quotas: Any, parent: str) -> None:
        self.put(cluster_queue(name, quotas, parent), name)

    @rule(name=st.sampled_from("cd"), parent=st.sampled_from(["", "c", "d", "e"]), quotas=st.none() | QUOTAS)
    def set_cohort(self, name: str, parent: str, quotas: Any) -> None:
        self.put(cohort(name, parent, quotas), name)

    @rule(name=st.sampled_from("kl"), active=st.sampled_from(["True", "False", "Unknown"]))
    def set_check(self, name: str, active: str) -> None:
        status = AdmissionCheckStatus([Condition("Active", active)])
        self.put(AdmissionCheck(metadata=ObjectMeta(name=name), status=status), name)

    @rule(
        name=NAMES,
        checks=st.lists(st.sampled_from("klm"), min_size=1, unique=True),
        deleted=st.sampled_from([None, "2026-01-01T00:00:00Z"]),
    )
    def set_queue_with_checks(self, name: str, checks: list[str], deleted: str | None) -> None:
        queue = cluster_queue(name, cpu(1))
        rules = [AdmissionCheckStrategyRule(check) for check in checks]
        queue.spec.admission_checks_strategy = AdmissionChecksStrategy(rules)
        queue.metadata.deletion_timestamp = deleted
        self.put(queue, name)

    @rule(name=st.sampled_from(["default", "other"]))
    def set_flavor(self, name: str) -> None:
        self.put(flavor(name), name)

    @rule(name=NAMES, queue=NAMES)
    def set_local_queue(self, name: str, queue: str) -> None:
        self.put(local_queue(name, queue), f"ns/{name}")

    @rule(
        name=st.text("wxyz", min_size=1, max_size=3),
        queue=NAMES,
        cpus=st.integers(0, 3),
        priority=st.integers(0, 1),
        life=st.sampled_from(["pending", "held", "evicting", "preempted"]),
        moment=st.integers(0, 3),
        of=st.sampled_from(["default", "other"]),
    )
    def set_workload(
        self, name: str, queue: str, cpus: int, priority: int, life: str, moment: int, of: str
    ) -> None:
        thing = workload(name, queue, cpus, priority=priority)
        if life != "pending":
            thing = held(thing, moment, flavors={"cpu": of})
        if life == "evicting":
            thing = evicted(thing, moment)
        if life == "preempted":
            thing = preempted(thing, moment, "InClusterQueue")
        self.put(thing, f"ns/{name}")

    @rule(
        name=st.text("wxyz", min_size=1, max_size=3),
        queue=NAMES,
        usage=st.dictionaries(
            st.tuples(st.sampled_from(["default", "odd"]), st.sampled_from(["cpu", "gpu"])), AMOUNTS
        ),
    )
    def keep(self, name: str, queue: str, usage: dict[tuple[str, str], int]) -> None:
        """There is a Workload whose state was never read."""
        if ("Workload", f"ns/{name}") not in self.objects:
            self.remains[f"ns/{name}"] = Remains(f"ns/{name}", queue, "", usage)
            self.state.keep(self.remains[f"ns/{name}"])

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        there = sorted({*self.objects, *(("Workload", key) for key in self.remains)})
        if there:
            kind, key = data.draw(st.sampled_from(there))
            self.state.delete(kind, key)
            self.objects.pop((kind, key), None)
            if kind == "Workload":
                self.remains.pop(key, None)

    @rule()
    def look(self) -> None:
        snapshot = self.state.snapshot()
        self.old.append((snapshot, everything(snapshot)))

    @invariant()
    def as_if_from_the_start(self) -> None:
        fresh = QuotaState()
        for _, thing in sorted(self.objects.items(), reverse=True):
            fresh.apply(thing)
        for _, remains in sorted(self.remains.items(), reverse=True):
            fresh.keep(remains)
        assert everything(self.state.snapshot()) == everything(fresh.snapshot())
        for snapshot, seen in self.old[-3:]:
            assert everything(snapshot) == seen


def test_events() -> None:
    run_state_machine_as_test(
        Events, settings=settings(max_examples=examples(100), deadline=None, stateful_step_count=30)
    )


@given(
    start=st.sets(st.tuples(st.text(max_size=3), st.text(max_size=2))),
    more=st.lists(st.tuples(st.text(max_size=3), st.text(max_size=2)), unique=True),
)
def test_ranks_compare_as_names(start: set[tuple[str, str]], more: list[tuple[str, str]]) -> None:
    ranks, names = Ranks(start), set(start)
    for name in more:
        if name in names:
            ranks.remove(name)
            names.remove(name)
        elif ranks.add(name) is not None:
            names.add(name)
    assert sorted(names, key=lambda name: ranks[name]) == sorted(names)
    assert len({ranks[name] for name in names}) == len(names)


def test_ranks_run_out_only_between_two() -> None:
    """Always right before the last one: after 32 halvings there is nothing left, and nothing is changed."""
    ranks = Ranks([("a", ""), ("z", "")])
    added = [ranks.add(("y", f"{n:03}")) for n in range(40)]
    assert [rank is not None for rank in added] == [True] * 32 + [False] * 8
    assert ranks.add(("zz", "")) is not None

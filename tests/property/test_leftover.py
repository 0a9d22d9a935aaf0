"""What is left beside reserved room: kept amounts beside a plain count, and nobody sleeps who would pass.

Anything may happen to nodes, pods, plans and grants, also what no planner and no scheduler would do.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Final

import hypothesis.strategies as st
import pytest
from hypothesis import event, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from api.core import Pod
from api.requests import PODS, pod_requests
from api.times import parse_rfc3339
from controllers.gangs.mirror.group_members import Claim, Requests
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised import leftover
from controllers.gangs.promised.account import pod_asks_with
from controllers.gangs.promised.leftover import Leftover
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.waking import kept_out
from controllers.gangs.waking.kept_out import KeptOut
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.examples import examples
from tests.kit.objects import group, node, pod
from tests.twins.gangs.passing import bars, fits

NODES: Final = ("n0", "n1", "n2")
PODS_OF: Final = {"p0": 0, "p1": 1, "p2": 2, "p3": 2}
"""Priority by name and UID."""
IN_GROUP: Final = ("p3",)
GANGS: Final = ("a", "b")
GROUP: Final = "g"
"""Of ordinary pods: filter asks for them with the group's priority if that is lower."""
NOW: Final = parse_rfc3339("2026-01-01T01:00:00Z")
PRIORITIES: Final = st.integers(1, 2)
CPUS: Final = st.sampled_from(["1", "1", "2", "3"])
GPU: Final = "example/com/gpu"


@dataclass
class Asleep:
    """A pod that filter has kept out."""

    nodes: set[str]
    requests: Requests
    is_guess: bool = False
    """Another process kept it out: it may be for any node."""
    is_due: bool = False
    """It is woken whatever there is room for: nobody knows what it waits for, or its priority has changed."""


class Rooms(RuleBasedStateMachine):
    """A mirror, its plans and its grants, and the pods that filter has kept out."""

    def __init__(self) -> None:
        super().__init__()
        self.clock, self.tables = ManualClock(), Tables()
        self.roster, self.reservations = Roster(self.tables), Reservations(self.clock)
        self.leftover = Leftover(self.tables, self.roster, self.reservations)
        self.kept_out = KeptOut(self.leftover, self.roster)
        self.pods: dict[str, Pod] = {}
        """By UID, what the mirror shows."""
        self.asleep: dict[str, Asleep] = {}
        self.woken: set[str] = set()
        self.version = 0

    @initialize(cpus=st.lists(st.integers(1, 6), min_size=len(NODES), max_size=len(NODES)))
    def begin(self, cpus: list[int]) -> None:
        for name, amount in zip(NODES, cpus, strict=True):
            self.tables.upsert_node(node(name, cpu=str(amount)))
        self.plan_begins("a", 2, set(NODES))

    # ---- the cluster

    @rule(name=st.sampled_from(NODES), cpu=st.integers(1, 6), gpu=st.booleans())
    def node_comes_or_changes(self, name: str, cpu: int, gpu: bool) -> None:
        self.tables.upsert_node(node(name, cpu=str(cpu), example__com__gpu="1" if gpu else "0"))

    @rule(name=st.sampled_from(NODES))
    def node_goes(self, name: str) -> None:
        self.tables.delete_node(name)

    @rule(
        name=st.sampled_from(sorted(PODS_OF)),
        place=st.sampled_from(["waits", "waits", "waits", "waits", "bound", "leaves", "overdue"]),
        where=st.sampled_from([*NODES, *NODES, "", "elsewhere"]),
        cpu=CPUS,
        message=st.sampled_from(["", "x", "y"]),
    )
    def pod_changes(self, name: str, place: str, where: str, cpu: str, message: str) -> None:
        self.version += 1
        fields: dict[str, Any] = {"node": where} if place != "waits" else {"nominated": where}
        if place in ("leaves", "overdue"):
            fields["deleting"] = "2026-01-01T01:00:01Z" if place == "leaves" else "2026-01-01T00:59:00Z"
        said = {"type": "PodScheduled", "status": "False", "message": message}
        made = pod(
            name,
            uid=name,
            version=self.version,
            requests={"cpu": cpu, **({GPU: "1"} if cpu == "3" else {})},
            group=GROUP if name in IN_GROUP else None,
            priority=PODS_OF[name],
            conditions=[said] if message else None,
            **fields,
        )
        self.tables.upsert_pod(made)
        self.changed(name, made)

    @rule(name=st.sampled_from(sorted(PODS_OF)))
    def pod_goes(self, name: str) -> None:
        self.tables.delete_pod("default", name)
        self.changed(name, None)

    def changed(self, uid: str, pod: Pod | None) -> None:
        """As the controller hears of it."""
        self.reservations.grants.pod_changed(uid, pod)
        if pod is None or pod.metadata.deletion_timestamp or pod.spec.node_name:
            self.pods.pop(uid, None)
            self.kept_out.forget(uid)
            self.asleep.pop(uid, None)
            self.woken.discard(uid)
        else:
            self.pods[uid] = pod

    @rule(seconds=st.sampled_from([-30, 0, 30]))
    def time_is_told(self, seconds: float) -> None:
        self.tables.tell_time(NOW + seconds)

    @rule(priority=st.sampled_from([None, 1, 2]))
    def group_changes(self, priority: int | None) -> None:
        for uid in self.asleep.keys() & set(IN_GROUP):
            self.asleep[uid].is_due |= self.roster.group_priority(("default", GROUP)) != priority
        if priority is None:
            self.tables.delete_group("default", GROUP)
        else:
            self.tables.upsert_group(group(GROUP, priority=priority))

    # ---- plans

    @rule(name=st.sampled_from(GANGS), priority=PRIORITIES, where=st.sets(st.sampled_from(NODES), min_size=1))
    def plan_begins(self, name: str, priority: int, where: set[str]) -> None:
        self.reservations.open(("default", name), priority)
        for each in sorted(where):
            self.reservations.put_claim(
                ("default", name), f"{name}-{each}", Claim(each, {"cpu": 1000, PODS: 1})
            )

    @rule(name=st.sampled_from(GANGS))
    def plan_ends(self, name: str) -> None:
        self.reservations.release(("default", name))

    @precondition(lambda self: len(self.reservations) > 0)
    @rule(
        data=st.data(),
        uid=st.sampled_from([*PODS_OF, "m0"]),
        where=st.sampled_from(["", *NODES, "elsewhere"]),
        cpus=st.integers(1, 3),
        kind=st.sampled_from(["claim", "claim", "victim", "leaving"]),
    )
    def plan_changes(self, data: st.DataObject, uid: str, where: str, cpus: int, kind: str) -> None:
        key = data.draw(st.sampled_from(sorted(self.reservations.groups)))
        claim = Claim(where, {"cpu": cpus * 1000, PODS: 1}) if where else None
        if kind == "claim":
            self.reservations.put_claim(key, uid, claim)
        else:
            self.reservations.put_victim(key, f"v-{uid}", claim, leaving=kind == "leaving")

    # ---- the scheduler

    @precondition(lambda self: self.pods)
    @rule(data=st.data(), names=st.sampled_from([set(NODES), {"n0"}, {"n1"}]))
    def filter_is_called(self, data: st.DataObject, names: set[str]) -> None:
        asked = self.pods[data.draw(st.sampled_from(sorted(self.pods)))]
        uid, requests, priority = asked.metadata.uid, self.requests(asked), pod_asks_with(self.roster, asked)
        self.reservations.grants.settle(uid)
        judged = self.leftover.judge(uid, requests, priority, sorted(names))
        assert judged.barred == [name for name in sorted(names) if self.bars(name, uid, requests, priority)]
        reserved = names.intersection(self.reservations.nodes)
        assert judged.open == sorted(reserved.difference(judged.barred))
        if judged.open:
            self.reservations.grants.note(asked, judged.open, requests)
        if judged.barred:
            self.kept_out.hold(asked, priority, requests, judged.barred)
            before = self.asleep.get(uid)
            now = self.asleep[uid] = Asleep(set(judged.barred), requests)
            if before is not None:
                now.is_due = before.is_due
                now.nodes |= set() if before.is_guess else before.nodes

    @rule(uid=st.sampled_from(sorted(PODS_OF)))
    def attempt_has_ended(self, uid: str) -> None:
        self.reservations.grants.settle(uid)

    @rule(seconds=st.sampled_from([1, 20, 31]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    # ---- what must hold

    @precondition(lambda self: self.pods)
    @rule(data=st.data())
    def another_process_kept_it_out(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.pods)))
        asked = self.pods[uid]
        requests, priority = self.requests(asked), pod_asks_with(self.roster, asked)
        self.kept_out.recall(asked)
        if uid not in self.asleep:
            barred = {name for name in NODES if self.bars(name, uid, requests, priority)}
            self.asleep[uid] = Asleep(barred, requests, is_guess=True, is_due=uid not in self.woken)

    @rule()
    def whoever_would_pass_is_woken_and_nobody_else(self) -> None:
        would_pass = {uid for uid in self.asleep if self.passes(uid)}
        due = {uid for uid, asleep in self.asleep.items() if asleep.is_due}
        guessed = {uid for uid, asleep in self.asleep.items() if asleep.is_guess}
        many = {uid for uid, asleep in self.asleep.items() if len(asleep.nodes) > kept_out.MOST_NODES}
        woken = self.kept_out.take_freed() | self.kept_out.take_recalled()
        assert would_pass <= woken
        assert woken - guessed - many <= would_pass | due
        assert woken.issuperset(uid for uid in due & guessed if uid not in self.woken)
        for uid in woken:
            del self.asleep[uid]
        self.woken |= woken
        event("woken" if would_pass else "nobody woken")
        assert not self.kept_out.take_freed(), "one look is enough"
        assert not self.kept_out.take_recalled()

    def passes(self, uid: str) -> bool:
        """Whether filter would let the pod onto a node that it kept it out of, and it would find room there."""
        asleep, priority = self.asleep[uid], pod_asks_with(self.roster, self.pods[uid])
        return any(
            fits(self.roster, name, asleep.requests) and not self.bars(name, uid, asleep.requests, priority)
            for name in asleep.nodes
        )

    @rule()
    def all_that_is_kept_is_what_one_counts(self) -> None:
        on_their_way = {grant.pod for grant in self.reservations.grants.values()}
        shapes: list[Requests] = [{"cpu": cpu, PODS: 1} for cpu in (1000, 2000, 3000)]
        for uid, priority, requests in itertools.product(
            ["new", *PODS_OF], range(4), [*shapes, {GPU: 1, PODS: 1}]
        ):
            if uid not in on_their_way:
                barred = [name for name in NODES if self.bars(name, uid, requests, priority)]
                assert self.leftover.judge(uid, requests, priority, NODES).barred == barred

    def bars(self, name: str, uid: str, requests: Requests, priority: int) -> bool:
        self.reservations.grants.expire()
        return bars(self.roster, self.reservations, name, uid, requests, priority)

    def requests(self, pod: Pod) -> Requests:
        return {**pod_requests(pod), PODS: 1}

    def teardown(self) -> None:
        for uid in PODS_OF:
            self.kept_out.forget(uid)
        assert not len(self.kept_out)


@pytest.mark.parametrize("most", [256, 1], ids=["as it is", "nearly nothing is kept"])
def test_kept_amounts_are_what_one_counts_and_nobody_sleeps_who_would_pass(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the second bound, a pod waits for any node, rows are dropped, and so are the amounts of a priority."""
    monkeypatch.setattr(kept_out, "MOST_NODES", most)
    monkeypatch.setattr(leftover, "MOST_DEAD", 64 if most > 1 else 0)
    monkeypatch.setattr(leftover, "MOST_LEVELS", 64 if most > 1 else 1)
    run_state_machine_as_test(
        Rooms, settings=settings(deadline=None, max_examples=examples(100), stateful_step_count=40)
    )

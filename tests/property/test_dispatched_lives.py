"""The life of a dispatched Workload among others who act: worker clusters, users, networks, and former leaders.

Whatever they do, and whenever writes come: one cluster at a time may preempt, one cluster has the Job, and when
everybody is calm again the Workload runs in one cluster, and nothing of it is left in another one. What holds of each
write is in tests/kit/dispatched/checks.py. The issues are Kueue's: 8303, 8585, 11346, 3841, 15488, 12999, 13238, 12404,
11849, 7350, 9338, 8602, 13047.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from api.workloads import ADMITTED, FINISHED, QUOTA_RESERVED
from controllers.multikueue.life.seen import Cost, Mark
from tests.kit.dispatched.checks import asks
from tests.kit.dispatched.cluster import OTHER_MANAGER, SECOND, Cluster
from tests.kit.dispatched.world import SETTINGS, World
from tests.kit.examples import examples

NAMES: Final = ("a", "b", "c")
CLUSTERS = st.sampled_from(NAMES)
COSTS = st.none() | st.integers(0, 3).map(lambda number: Cost(number, number, 1, 1, 10, "q", 0))
THEN = st.sampled_from(["rest", "rest", "rest", "act", "work", "nothing"])
"""What follows an event: the manager does all that follows, one step of it, the clusters work, or nothing yet."""
STARTS = st.sampled_from(
    ["offered", "gated", "gated", "turn", "turn", "over", "runs", "runs", "adopted", "foreign"]
)
SETTINGS_OF = st.builds(
    lambda window, turn, give_up, by_cost, has_gates: replace(
        SETTINGS,
        window=window * SECOND,
        turn=turn * SECOND,
        give_up=give_up,
        by_cost=by_cost,
        has_gates=has_gates,
    ),
    st.sampled_from([5, 5, 0]),
    st.sampled_from([300, 300, 20]),
    st.sampled_from([None, None, None, 400 * SECOND]),
    st.booleans(),
    st.sampled_from([True, True, True, True, False]),
)
KUEUES: Final = None
"""The mark of what Kueue's manager has made."""
FOREIGN: Final = Mark(OTHER_MANAGER, "their-workload", "2026-01-01T00:00:00Z")


class Dispatched(RuleBasedStateMachine):
    """One Workload, three clusters; the third one may not honour gates."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(NAMES)
        self.ended = ""
        """The cluster where the Job of the present attempt has ended."""
        self.foreign: dict[str, tuple[object, object]] = {}

    @initialize(start=STARTS, how=SETTINGS_OF, honours=st.booleans())
    def begin(self, start: str, how: object, honours: bool) -> None:
        """A situation that is worth to begin with."""
        world = self.world
        world.settings = replace(SETTINGS, **{name: getattr(how, name) for name in SETTINGS.__slots__})
        world.clusters["c"].honours_gates = honours
        world.reserve()
        if start == "adopted":
            self.was_kueues()
        if start == "foreign":
            self.put_foreign("a")
        world.settle()
        if start in ("gated", "turn", "over"):
            for name in ("a", "b"):
                if world.clusters[name].waits:
                    world.clusters[name].gated()
            world.settle()
        if start in ("turn", "over"):
            world.pass_time(world.now + world.settings.window)
        if start == "over" and world.turns:
            world.ground.now = world.turns[-1].until
        if start == "runs":
            self._run_in("b")

    def _run_in(self, name: str) -> None:
        cluster = self.cluster(name)
        if cluster.waits:
            cluster.admit()
        for _ in range(3):
            self.world.settle()
            self.world.every(Cluster.work)

    def cluster(self, name: str) -> Cluster:
        return self.world.clusters[name]

    def then(self, what: str) -> None:
        """The manager does what follows."""
        if what == "act":
            self.world.act()
        elif what == "work":
            self.world.every(Cluster.work)
        elif what == "rest":
            self.world.settle()

    # ---- the manager

    @rule(then=THEN)
    def go_on(self, then: str) -> None:
        """Nothing happens."""
        self.then(then)

    @rule()
    def calm(self) -> None:
        """Everybody does what follows, until nothing does. Then a cluster that asks has its turn after the window."""
        for _ in range(3):
            self.world.settle()
            self.world.every(Cluster.work)
        self.world.pass_time(self.world.now + self.world.settings.window + SECOND)
        self._check_turns()
        self._check_gates()

    def _check_gates(self) -> None:
        """At rest no gate is open but that of the last turn, where the manager can close it."""
        world = self.world
        if not world.settings.has_gates or not world.is_configured or world.memory.verdict is not None:
            return
        allowed = {each.cluster for each in world.attempt_turns[-1:]} | {world.chosen}
        for name in world.names:
            cluster = self.cluster(name)
            if cluster.reach == "Connected" and world.attempt and not world.chosen and not world.evicted:
                assert name in allowed or not cluster.gate_is_open, (name, world.log[-12:])

    def _check_turns(self) -> None:
        """Whoever asks gets a turn in time, if a cluster that is away does not hinder that."""
        world = self.world
        is_calm = all(each.reach == "Connected" for each in world.clusters.values()) and not world.evicted
        is_offered = (
            bool(world.attempt) and not world.chosen and world.check is not None and not world.finished
        )
        is_usual = world.settings.has_gates and world.has_job and not world.is_gone and world.is_configured
        if not (is_calm and is_offered and is_usual) or world.refusal or not world.other_is_ready:
            return
        if world.memory.verdict is not None or not world.is_checked:
            return
        asking = [name for name in world.names if asks(world, self.cluster(name))]
        has_winner = any(name in world.memory.admitted for name in world.names)
        assert not asking or has_winner or world.attempt_turns, (asking, world.log[-12:])

    @rule(name=CLUSTERS)
    def act_in_one(self, name: str) -> None:
        """Only the write in one cluster comes through."""
        seen, decision = self.world.decide()
        if name in decision.there and self.cluster(name).reach == "Connected":
            self.world.write_there(self.cluster(name), decision.there[name], seen, self.world.term)

    @rule(then=THEN)
    def crash(self, then: str) -> None:
        self.world.crash()
        self.then(then)

    @rule(has_gates=st.booleans(), give_up=st.sampled_from([None, 400 * SECOND]), by_cost=st.booleans())
    def configure(self, has_gates: bool, give_up: int | None, by_cost: bool) -> None:
        """Another process leads, with another configuration."""
        self.world.crash(has_gates=has_gates, give_up=give_up, by_cost=by_cost)
        self.one_cluster_may_preempt()
        self.world.settle()

    @precondition(lambda self: bool(self.world.late))
    @rule(at=st.integers(0, 99))
    def late(self, at: int) -> None:
        """A write of a former leader arrives, whatever has happened meanwhile."""
        self.world.deliver_late(at % len(self.world.late))

    @rule(name=CLUSTERS)
    def sync(self, name: str) -> None:
        self.cluster(name).sync()

    @rule(seconds=st.sampled_from([1, 6, 61, 301]), looks=st.booleans())
    def time(self, seconds: int, looks: bool) -> None:
        """Time passes. `looks`: the manager is not paused meanwhile."""
        if looks:
            self.world.pass_time(self.world.now + seconds * SECOND)
        else:
            self.world.ground.now += seconds * SECOND

    @precondition(lambda self: bool(self.world.turns))
    @rule(seconds=st.sampled_from([-1, 0, 1]), looks=st.booleans())
    def turn_ends(self, seconds: int, looks: bool) -> None:
        """Just before, at, and just after the end of the turn."""
        end = self.world.turns[-1].until + seconds * SECOND
        if end <= self.world.now:
            return
        if looks:
            self.world.pass_time(end)
        else:
            self.world.ground.now = end

    # ---- the quota plane here, and users

    @rule(then=THEN)
    def reserve(self, then: str) -> None:
        if not self.world.attempt:
            self.ended = ""
            self.world.reserve()
            self.then(then)

    @rule(then=THEN)
    def evict(self, then: str) -> None:
        self.world.evict()
        self.then(then)

    @rule(priority=st.integers(0, 3), then=THEN)
    def change_priority(self, priority: int, then: str) -> None:
        self.world.priority = priority
        self.then(then)

    @rule(is_ready=st.booleans())
    def other_check(self, is_ready: bool) -> None:
        self.world.other_is_ready = is_ready

    @rule(names=st.sampled_from([NAMES, NAMES, ("c", "b", "a"), ("a", "b"), ("b", "c")]), then=THEN)
    def change_config(self, names: tuple[str, ...], then: str) -> None:
        self.world.names = names
        self.then(then)

    @rule(is_configured=st.booleans(), then=THEN)
    def lose_config(self, is_configured: bool, then: str) -> None:
        self.world.is_configured = is_configured
        self.then(then)

    @rule()
    def forget_digest(self) -> None:
        self.world.digest = None

    @rule(what=st.sampled_from(["job", "workload", "check", "kind"]))
    def no_longer(self, what: str) -> None:
        """The Job is orphaned, the Workload deleted, the check taken off its queue, or the owner is of no kind that is
        sent. Nothing of it stays anywhere (15488, 3841)."""
        world = self.world
        before = world.has_job, world.is_gone, world.is_checked, world.refusal
        world.has_job, world.is_gone = what != "job", what == "workload"
        world.is_checked, world.refusal = (
            what != "check",
            "No multikueue adapter found" if what == "kind" else "",
        )
        world.settle()
        for _ in range(4):
            world.every(Cluster.work)
            world.settle()
        for cluster in world.clusters.values():
            if cluster.reach == "Connected":
                assert cluster.copy is None or cluster.has_foreign_copy, (what, cluster.name, world.log[-12:])
                assert cluster.job is None or cluster.has_foreign_job, (what, cluster.name, world.log[-12:])
        world.has_job, world.is_gone, world.is_checked, world.refusal = before
        if what == "check" and world.attempt and world.check is not None:
            world.attempt, world.chosen, world.check, world.evicted = "", "", None, False  # quota plane
        if what == "workload":
            world.uid, world.attempt, world.chosen, world.check = f"{world.uid}+", "", "", None
            world.evicted, world.finished, self.ended = False, None, ""
            world.told.wait = None

    # ---- clusters

    @rule(name=CLUSTERS, cost=COSTS, then=THEN)
    def gated(self, name: str, cost: Cost | None, then: str) -> None:
        cluster = self.cluster(name)
        if cluster.waits and not cluster.gate_is_open and not cluster.has_foreign_copy:
            cluster.gated(cost)
            self.then(then)

    @rule(then=THEN, costs=st.lists(COSTS, min_size=3, max_size=3))
    def all_gated(self, then: str, costs: list[Cost | None]) -> None:
        for name, cost in zip(NAMES, costs, strict=True):
            self.gated(name, cost, "nothing")
        self.then(then)

    @rule(name=CLUSTERS, then=THEN)
    def cannot(self, name: str, then: str) -> None:
        cluster = self.cluster(name)
        if cluster.waits and not cluster.has_foreign_copy:
            cluster.cannot()
            self.then(then)

    @rule(name=CLUSTERS, then=THEN)
    def admit(self, name: str, then: str) -> None:
        cluster = self.cluster(name)
        holds = cluster.copy is not None and cluster.copy.is_true(QUOTA_RESERVED) and cluster.copy.active
        if cluster.has_foreign_copy or not (cluster.waits or (holds and not self._is_over(cluster))):
            return
        cluster.admit()
        self.then(then)

    def _is_over(self, cluster: Cluster) -> bool:
        copy = cluster.copy
        return copy is None or any(copy.is_true(kind) for kind in (ADMITTED, FINISHED, "Evicted"))

    @rule(name=CLUSTERS, then=THEN)
    def reserve_there(self, name: str, then: str) -> None:
        """It waits for the cluster's own checks."""
        cluster = self.cluster(name)
        if cluster.waits and not cluster.has_foreign_copy:
            cluster.reserve()
            self.then(then)

    @rule(name=CLUSTERS, then=THEN)
    def evict_there(self, name: str, then: str) -> None:
        cluster = self.cluster(name)
        copy = cluster.copy
        if copy is None or cluster.has_foreign_copy or copy.is_true(FINISHED):
            return
        if copy.is_true(QUOTA_RESERVED) or copy.gate == "Open":
            cluster.evict()
            self.then(then)

    @rule(name=CLUSTERS)
    def work(self, name: str) -> None:
        self.cluster(name).work()

    @rule(then=THEN)
    def finish(self, then: str) -> None:
        for cluster in self.world.clusters.values():
            copy = cluster.copy
            if not cluster.job_runs or copy is None or copy.is_true(FINISHED) or copy.is_true("Evicted"):
                continue
            is_present = copy.mark is None or copy.mark.attempt == self.world.attempt
            cluster.finish()
            if cluster.name == self.world.chosen and cluster.reach != "Lost" and is_present:
                self.ended = cluster.name
        self.then(then)

    @rule(name=CLUSTERS, reason=st.sampled_from(["OutOfSync", "Succeeded"]), then=THEN)
    def end_without_job(self, name: str, reason: str, then: str) -> None:
        """The copy is Finished, although its Job has not ended."""
        cluster = self.cluster(name)
        copy = cluster.copy
        if copy is None or cluster.has_foreign_copy or copy.is_true(FINISHED) or self.world.chosen == name:
            return
        cluster.say(FINISHED, True, reason)
        self.then(then)

    @rule(then=THEN)
    def out_of_sync(self, then: str) -> None:
        """13047: that is no end."""
        cluster = self.world.clusters.get(self.world.chosen)
        if cluster is None or cluster.copy is None or cluster.copy.is_true(FINISHED) or cluster.job is None:
            return
        cluster.say(FINISHED, True, "OutOfSync")
        if cluster.job_runs:
            cluster.change_job(suspended=True, status=type(cluster.job.status)(active=0))
        self.then(then)

    @rule(name=CLUSTERS, what=st.sampled_from(["spec", "active"]), then=THEN)
    def edit(self, name: str, what: str, then: str) -> None:
        """Somebody there changes the copy by hand."""
        cluster = self.cluster(name)
        if cluster.copy is None or cluster.has_foreign_copy or self.ended == name:
            return
        if what == "spec":
            cluster.change_copy(digest=b"another")
        else:
            cluster.change_copy(active=False)
            cluster.evict("Deactivated")
        self.then(then)

    @rule(name=CLUSTERS, gate=st.sampled_from(["Closed", "Open"]))
    def stale_gate(self, name: str, gate: str) -> None:
        """Kueue's scheduler applies an older state: one that was so in this attempt."""
        cluster = self.cluster(name)
        copy = cluster.copy
        had_turn = any(each.cluster == name for each in self.world.attempt_turns)
        if copy is None or copy.gate == "Missing" or cluster.has_foreign_copy or self.world.chosen:
            return
        if gate == "Closed" and copy.gate == "Open":
            cluster.change_copy(gate="Closed")
        elif gate == "Open" and had_turn and copy.gate == "Closed" and cluster.waits:
            cluster.change_copy(gate="Open")
            cluster.excused = True  # nobody can hinder that: it is closed again
            cluster.sync()
            self.world.settle()
            assert not cluster.gate_is_open or cluster.reach != "Connected" or self._has_turn(name)

    def _has_turn(self, name: str) -> bool:
        turns = self.world.attempt_turns
        is_calm = not turns or not self.world.is_configured or self.world.memory.verdict is not None
        return (
            is_calm
            or turns[-1].cluster == name
            or not self.world.settings.has_gates
            or bool(self.world.chosen)
        )

    @rule(name=CLUSTERS, then=THEN)
    def remove(self, name: str, then: str) -> None:
        cluster = self.cluster(name)
        if self.ended == name or cluster.has_foreign_copy:
            return
        cluster.copy = cluster.cost = None
        self.then(then)

    @rule(then=THEN)
    def remove_job(self, then: str) -> None:
        cluster = self.world.clusters.get(self.world.chosen)
        if cluster is not None and self.ended != cluster.name and not cluster.has_foreign_job:
            cluster.job = None
            self.then(then)

    @rule(name=CLUSTERS, refuses=st.booleans(), refuses_job=st.booleans())
    def refuse(self, name: str, refuses: bool, refuses_job: bool) -> None:
        cluster = self.cluster(name)
        cluster.refuses, cluster.refuses_job = "no such namespace" if refuses else "", refuses_job

    @rule(name=CLUSTERS, then=THEN)
    def others_preempt(self, name: str, then: str) -> None:
        """Another Workload gets a gate there: what was said of costs before is stale."""
        cluster = self.cluster(name)
        cluster.open_gates, cluster.last_opened = 1, self.world.now
        self.then(then)

    @rule(name=CLUSTERS, is_prompt=st.booleans())
    def slow(self, name: str, is_prompt: bool) -> None:
        self.cluster(name).is_prompt = is_prompt

    def was_kueues(self) -> None:
        """Kueue's manager was here before, under the same origin. Cluster b runs the Job."""
        cluster, world = self.cluster("b"), self.world
        cluster.put_copy(KUEUES, priority=world.priority)
        cluster.put_job(KUEUES)
        cluster.admit()
        cluster.work()
        self.cluster("a").put_copy(KUEUES, priority=world.priority, gate="Closed")
        world.chosen = "b"
        assert world.check is not None
        world.check = replace_state(world, "Ready")
        copy, job = cluster.copy, cluster.job
        world.every(Cluster.sync)
        world.settle()
        assert copy is not None and cluster.copy is not None and cluster.copy.uid == copy.uid
        assert job is not None and cluster.job is not None and cluster.job.uid == job.uid

    @rule(name=CLUSTERS)
    def put_foreign(self, name: str) -> None:
        """Another manager has a Workload of this name there."""
        cluster = self.cluster(name)
        if cluster.copy is None and cluster.job is None:
            cluster.put_copy(FOREIGN, gate="Open")
            cluster.admit()
            cluster.put_job(FOREIGN, suspended=False)
            assert cluster.copy is not None and cluster.job is not None
            self.foreign[name] = cluster.copy, cluster.job

    @precondition(lambda self: bool(self.foreign))
    @rule(name=CLUSTERS)
    def foreign_goes(self, name: str) -> None:
        if self.foreign.pop(name, None) is not None:
            self.cluster(name).copy = self.cluster(name).job = None

    # ---- networks

    @rule(name=CLUSTERS, then=THEN)
    def go_away(self, name: str, then: str) -> None:
        if self.cluster(name).reach == "Connected":
            self.cluster(name).reach = "Away"
            self.then(then)

    @precondition(lambda self: bool(self.world.turns or self.world.chosen))
    @rule(then=THEN)
    def the_one_goes_away(self, then: str) -> None:
        """The cluster whose turn it is, or that has the Job."""
        self.go_away(self.world.chosen or self.world.turns[-1].cluster, then)

    @rule(name=CLUSTERS, then=THEN)
    def lose(self, name: str, then: str) -> None:
        cluster = self.cluster(name)
        if cluster.reach == "Away":
            cluster.reach, cluster.excused = "Lost", True
            self.ended = "" if self.ended == name else self.ended
            self.then(then)

    @rule(name=CLUSTERS, honours=st.sampled_from([None, None, True, False]), then=THEN)
    def come_back(self, name: str, honours: bool | None, then: str) -> None:
        """Whether it honours gates is found out when it is connected."""
        cluster = self.cluster(name)
        if cluster.reach != "Connected":
            if honours is not None and honours != cluster.honours_gates:
                cluster.honours_gates, cluster.excused = honours, True
            cluster.reach = "Connected"
            cluster.sync()
            self.then(then)

    # ---- what always holds

    @invariant()
    def one_cluster_may_preempt(self) -> None:
        clusters = self.world.clusters.values()
        for each in clusters:
            each.excused &= each.reach == "Lost" or each.gate_is_open or each.job_runs
        if not self.world.settings.has_gates:
            for each in clusters:
                each.excused |= each.gate_is_open
            return
        may = [each.name for each in clusters if each.gate_is_open and not each.excused]
        assert len(may) <= 1, (may, self.world.log)

    @invariant()
    def one_cluster_runs_it(self) -> None:
        runs = [each.name for each in self.world.clusters.values() if each.job_runs and not each.excused]
        assert len(runs) <= 1, (runs, self.world.log)

    @invariant()
    def every_open_gate_has_a_turn(self) -> None:
        for each in self.world.clusters.values():
            if not (each.gate_is_open and self.world.settings.has_gates) or each.excused or each.copy is None:
                continue
            attempt = each.copy.mark.attempt if each.copy.mark is not None else ""
            turns = [turn for turn in self.world.turns if self.world.turn_attempts[turn.name] == attempt]
            assert any(turn.cluster == each.name and turn.began <= self.world.now for turn in turns), (
                self.world.log
            )

    @invariant()
    def what_has_ended_does_not_run_again(self) -> None:
        if self.ended:
            others = [
                each for each in self.world.clusters.values() if each.name != self.ended and not each.excused
            ]
            assert not any(each.job_runs for each in others), self.world.log
            assert self.world.attempt or self.world.finished, self.world.log

    @invariant()
    def nothing_of_another_manager_changes(self) -> None:
        for name, found in self.foreign.items():
            assert (self.cluster(name).copy, self.cluster(name).job) == found

    # ---- what comes in the end

    def teardown(self) -> None:
        """Everybody is calm, and one cluster has room."""
        world = self.world
        world.is_configured, world.other_is_ready, world.names = True, True, NAMES
        while world.late:
            world.deliver_late(0)
            self.one_cluster_may_preempt()
            self.one_cluster_runs_it()
        self.foreign_goes_everywhere()
        for cluster in world.clusters.values():
            cluster.reach, cluster.refuses, cluster.refuses_job = "Connected", "", False
            cluster.sync()
        if world.memory.out or world.settings.give_up is not None or not world.settings.has_gates:
            world.crash(give_up=None, has_gates=True)  # refusals hold for an attempt, or until a restart
            world.late.clear()
        before = len(world.turns)
        for _ in range(14):
            world.settle()
            world.every(Cluster.work)
            world.pass_time(world.now + world.settings.turn + SECOND)
            if world.finished is None:
                world.reserve()
            world.settle()
            for cluster in world.clusters.values():
                self._room(cluster)
        world.settle()
        self._check_calm(before)

    def foreign_goes_everywhere(self) -> None:
        for name in list(self.foreign):
            self.foreign.pop(name)
            self.cluster(name).copy = self.cluster(name).job = None

    def _room(self, cluster: Cluster) -> None:
        """Cluster b takes it as soon as it may preempt."""
        copy = cluster.copy
        if copy is None or (not cluster.waits and not copy.is_true(QUOTA_RESERVED)) or self._is_over(cluster):
            return
        if cluster.name == "b" and (cluster.gate_is_open or copy.is_true(QUOTA_RESERVED)):
            cluster.admit()
        elif not copy.is_true(QUOTA_RESERVED) and cluster.honours_gates:
            cluster.gated()

    def _check_calm(self, before: int) -> None:
        world = self.world
        if world.finished is not None:
            assert all(each.copy is None and each.job is None for each in world.clusters.values()), world.log
            return
        assert world.chosen, (world.seen(), world.log[-20:])
        assert len(world.turns) - before <= 8, (
            world.log
        )  # no candidate waits for more turns than there are clusters
        for name, cluster in world.clusters.items():
            assert (cluster.copy is not None) == (name == world.chosen), (name, world.log[-20:])
            assert (cluster.job is not None) == (name == world.chosen), (name, world.log[-20:])


def replace_state(world: World, state: str) -> object:
    import msgspec

    assert world.check is not None
    return msgspec.structs.replace(world.check, state=state)


Dispatched.TestCase.settings = settings(
    max_examples=examples(200),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestDispatched = Dispatched.TestCase

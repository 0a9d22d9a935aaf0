"""The life of a dispatched Workload among others who act: worker clusters, users, networks, and former leaders.

Whatever they do, and whenever writes come: one cluster at a time may preempt, one cluster has the Job, and when
everybody is calm again the Workload runs in one cluster, and nothing of it is left in another one.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from api.workloads import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED
from controllers.multikueue.life.seen import Cost
from tests.kit.dispatched import SECOND, Cluster, World
from tests.kit.examples import examples

NAMES = ("a", "b", "c")
CLUSTERS = st.sampled_from(NAMES)
COSTS = st.none() | st.integers(0, 3).map(lambda number: Cost(number, number, 1, 1, 10, "q", 0))


class Dispatched(RuleBasedStateMachine):
    """One Workload, three clusters; the third one does not honour gates."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(NAMES)
        self.world.clusters["c"].honours_gates = False
        self.world.reserve()

    def cluster(self, name: str) -> Cluster:
        return self.world.clusters[name]

    # ---- the manager

    @rule()
    def act(self) -> None:
        """The manager carries out what follows."""
        self.world.act()

    @rule(name=CLUSTERS)
    def act_in_one(self, name: str) -> None:
        """Only the write in one cluster comes through."""
        seen, decision = self.world.decide()
        if name in decision.there and self.cluster(name).reach == "Connected":
            self.world.write_there(self.cluster(name), decision.there[name], seen, self.world.term)

    @rule()
    def crash(self) -> None:
        self.world.crash()

    @precondition(lambda self: bool(self.world.late))
    @rule(at=st.integers(0, 99))
    def late(self, at: int) -> None:
        """A write of a former leader arrives, whatever has happened meanwhile."""
        self.world.deliver_late(at % len(self.world.late))

    @rule(name=CLUSTERS)
    def sync(self, name: str) -> None:
        self.cluster(name).sync()

    @rule(seconds=st.sampled_from([1, 6, 60, 301]))
    def time(self, seconds: int) -> None:
        self.world.now += seconds * SECOND

    # ---- the quota plane here, and users

    @rule()
    def reserve(self) -> None:
        self.world.reserve()

    @rule()
    def evict(self) -> None:
        self.world.evict()

    @rule(priority=st.integers(0, 3))
    def change_priority(self, priority: int) -> None:
        self.world.priority = priority

    # ---- clusters

    @rule(name=CLUSTERS, cost=COSTS)
    def gated(self, name: str, cost: Cost | None) -> None:
        cluster = self.cluster(name)
        waits = cluster.copy is not None and not cluster.copy.is_true(QUOTA_RESERVED)
        if waits and cluster.honours_gates and not cluster.gate_is_open and not cluster.copy.is_true(EVICTED):  # type: ignore[union-attr] # checked above
            self.world.gated(cluster, cost)

    @rule(name=CLUSTERS)
    def admit(self, name: str) -> None:
        cluster = self.cluster(name)
        if cluster.copy is not None and not (
            cluster.copy.is_true(EVICTED) or cluster.copy.is_true(FINISHED) or cluster.copy.is_true(ADMITTED)
        ):
            self.world.admit(cluster)

    @rule(name=CLUSTERS)
    def reserve_there(self, name: str) -> None:
        """It waits for the cluster's own checks."""
        cluster = self.cluster(name)
        if cluster.copy is not None and not cluster.copy.is_true(EVICTED):
            self.world.say(cluster, QUOTA_RESERVED, True, "QuotaReserved")

    @rule(name=CLUSTERS)
    def evict_there(self, name: str) -> None:
        cluster = self.cluster(name)
        if cluster.copy is not None and cluster.copy.is_true(QUOTA_RESERVED):
            self.world.evict_there(cluster)

    @rule(name=CLUSTERS)
    def work(self, name: str) -> None:
        self.world.work(self.cluster(name))

    @rule(name=CLUSTERS)
    def finish(self, name: str) -> None:
        cluster = self.cluster(name)
        if cluster.job is not None and not cluster.job.suspended and cluster.copy is not None:
            self.world.finish(cluster)

    @rule(name=CLUSTERS)
    def edit(self, name: str) -> None:
        """Somebody there changes the copy by hand."""
        if self.cluster(name).copy is not None:
            self.world.change_copy(self.cluster(name), digest=b"another")

    @rule(name=CLUSTERS)
    def close_by_hand(self, name: str) -> None:
        """Kueue's scheduler applies an older state."""
        cluster = self.cluster(name)
        if cluster.copy is not None and cluster.copy.gate == "Open":
            self.world.change_copy(cluster, gate="Closed")

    @rule(name=CLUSTERS)
    def remove(self, name: str) -> None:
        self.cluster(name).copy = None

    # ---- networks

    @rule(name=CLUSTERS)
    def go_away(self, name: str) -> None:
        if self.cluster(name).reach == "Connected":
            self.cluster(name).reach = "Away"

    @rule(name=CLUSTERS)
    def lose(self, name: str) -> None:
        cluster = self.cluster(name)
        if cluster.reach == "Away":
            cluster.reach, cluster.excused = "Lost", True

    @rule(name=CLUSTERS)
    def come_back(self, name: str) -> None:
        self.cluster(name).reach = "Connected"
        self.cluster(name).sync()

    # ---- what always holds

    @invariant()
    def one_cluster_may_preempt(self) -> None:
        clusters = self.world.clusters.values()
        for each in clusters:
            each.excused &= each.reach == "Lost" or each.gate_is_open or each.job_runs
        may = [each.name for each in clusters if each.gate_is_open and not each.excused]
        assert len(may) <= 1, (may, self.world.log)

    @invariant()
    def one_cluster_runs_it(self) -> None:
        runs = [each.name for each in self.world.clusters.values() if each.job_runs and not each.excused]
        assert len(runs) <= 1, (runs, self.world.log)

    @invariant()
    def every_open_gate_has_a_turn(self) -> None:
        for each in self.world.clusters.values():
            if each.copy is not None and each.copy.gate == "Open":
                assert any(turn.cluster == each.name for turn in self.world.turns), self.world.log

    # ---- what comes in the end

    def teardown(self) -> None:
        """Everybody is calm, and one cluster has room."""
        world = self.world
        while world.late:
            world.deliver_late(0)
            self.one_cluster_may_preempt()
            self.one_cluster_runs_it()
        for cluster in world.clusters.values():
            cluster.reach = "Connected"
            cluster.sync()
        for _ in range(12):
            world.settle()
            world.every(world.work)
            world.now += 301 * SECOND
            if world.finished is None:
                world.reserve()
            world.settle()
            for cluster in world.clusters.values():
                self._room(cluster)
        world.settle()
        self._check_calm()

    def _room(self, cluster: Cluster) -> None:
        copy = cluster.copy
        if copy is None or copy.is_true(EVICTED) or copy.is_true(ADMITTED) or copy.is_true(FINISHED):
            return
        if cluster.name == "b" and (cluster.gate_is_open or copy.is_true(QUOTA_RESERVED)):
            self.world.admit(cluster)
        elif not copy.is_true(QUOTA_RESERVED) and cluster.honours_gates:
            self.world.gated(cluster)

    def _check_calm(self) -> None:
        world = self.world
        if world.finished is not None:
            assert all(each.copy is None and each.job is None for each in world.clusters.values()), world.log
            return
        assert world.chosen, (world.seen(), world.log[-20:])
        for name, cluster in world.clusters.items():
            assert (cluster.copy is not None) == (name == world.chosen), (name, world.log[-20:])
            assert (cluster.job is not None) == (name == world.chosen), (name, world.log[-20:])


Dispatched.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
TestDispatched = Dispatched.TestCase

"""The life of a dispatched Workload among others who act: worker clusters, users, networks, and former leaders.

Whatever they do, and whenever writes come: one cluster at a time may preempt, one cluster has the Job, and when
everybody is calm again the Workload runs in one cluster, and nothing of it is left in another one. What happens is in
tests/kit/dispatched/events.py, and what holds of each write is in tests/kit/dispatched/checks.py. The numbers are
Kueue's issues.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from api.workloads import DEACTIVATION_TARGET, EVICTED, FINISHED, QUOTA_RESERVED
from controllers.multikueue.life.decision import OpenGate
from controllers.multikueue.life.seen import Settings
from tests.kit.dispatched.checks import asks
from tests.kit.dispatched.cluster import DIGEST, SECOND, Cluster
from tests.kit.dispatched.events import CLUSTERS, NAMES, SETTINGS_OF, THEN, Events
from tests.kit.dispatched.world import SETTINGS
from tests.kit.examples import examples

STARTS: Final = ("offered", "gated", "gated", "turn", "turn", "over", "runs", "runs", "adopted", "foreign")
REMADE: Final = 61 * SECOND
"""A copy that was taken away is made anew within this time."""


class Dispatched(Events):
    """What always holds, and stories that chance seldom tells."""

    @initialize(start=st.sampled_from(STARTS), how=SETTINGS_OF, honours=st.booleans())
    def begin(self, start: str, how: Settings, honours: bool) -> None:
        """A situation that is worth to begin with."""
        world = self.world
        world.settings = replace(SETTINGS, **{name: getattr(how, name) for name in SETTINGS.__slots__})
        self.cluster("c").honours_gates = honours
        world.reserve()
        if start == "adopted":
            self.was_kueues()
        if start == "foreign":
            self.put_foreign("a")
        world.settle()
        if start in ("gated", "turn", "over"):
            self.ask("a", "b")
        if start in ("turn", "over"):
            self.wait_until(world.now + world.settings.window)
        if start == "over" and world.turns:
            world.ground.now = world.turns[-1].until
        if start == "runs":
            self.run("b")

    # ---- situations

    def ask(self, *names: str) -> None:
        """These clusters would preempt."""
        for name in names:
            cluster = self.cluster(name)
            if cluster.waits and not cluster.has_foreign_copy and not cluster.gate_is_open:
                cluster.gated()
        self.world.settle()

    def rest(self) -> None:
        """Everybody does what follows, until nothing does."""
        for _ in range(4):
            self.world.settle()
            self.world.every(Cluster.work)
        self.world.settle()

    def offer(self) -> bool:
        """The Workload holds quota, is not evicted, and no cluster has it. Returns whether it can be so."""
        world = self.world
        if world.chosen or world.evicted or world.memory.verdict is not None:
            world.evict()
        self.rest()
        self.reserve("rest")
        can = world.is_configured and world.other_is_ready and not world.evicted and world.finished is None
        return bool(can and world.attempt and not world.chosen and world.settings.has_gates)

    def run(self, name: str) -> bool:
        """The cluster runs the Job. Returns whether that can be so."""
        cluster = self.cluster(name)
        if self.world.chosen != name and self.offer() and cluster.waits and not cluster.has_foreign_copy:
            cluster.admit()
        self.rest()
        return self.world.chosen == name and cluster.job_runs and cluster.reach == "Connected"

    # ---- stories

    @rule()
    def calm(self) -> None:
        """Everybody does what follows, and time passes: copies are right, and each cluster that asks has its turn."""
        self.rest()
        self.wait_until(self.world.now + self.world.settings.window + SECOND)
        self.check_rest(only_turns=True)
        self.wait_until(self.world.now + REMADE)
        self.check_rest()

    @rule(is_lost=st.booleans(), restarts=st.booleans(), is_evicted=st.booleans())
    def goes_away_in_its_turn(self, is_lost: bool, restarts: bool, is_evicted: bool) -> None:
        """No other gate opens before the cluster counts as lost: not after a restart, and not in another attempt."""
        if not self.offer():
            return
        self.ask("a", "b")
        self.wait_until(self.world.now + self.world.settings.window + SECOND)
        turns = self.world.attempt_turns
        if not turns:
            return
        name = turns[-1].cluster
        self.go_away(name, "rest")
        if restarts:
            self.crash("rest" if is_lost else "nothing")
        if is_evicted:
            self.evict("rest")
            self.offer()
            self.ask(*NAMES)
        self.wait_until(max(turns[-1].until, self.world.now + self.world.settings.window) + SECOND)
        self.look()
        if is_lost:
            self.lose(name, "rest")
            self.wait_until(self.world.now + self.world.settings.window + SECOND)
        self.look()

    @rule(first=st.sampled_from(["fence", "late"]))
    def opens_late(self, first: str) -> None:
        """A former leader's write that opens a gate comes after that turn."""
        world = self.world
        if not self.offer():
            return
        self.ask("a", "b")
        self.wait_until(world.now + world.settings.window - SECOND)
        world.ground.now += 2 * SECOND
        for _ in range(4):
            if any(isinstance(act, OpenGate) for act in world.decide()[1].there.values()):
                break
            world.act()
        world.crash()
        if world.turns:
            world.ground.now = max(world.now, world.turns[-1].until)
        if first == "fence":
            world.settle()
        while world.late:
            world.deliver_late(0)
            self.look()
        world.settle()
        self.look()

    @rule(how=st.sampled_from(["finished", "finished", "out of sync"]), then=THEN)
    def ends_and_is_evicted(self, how: str, then: str) -> None:
        """It ends there while it is evicted here: it has ended (and OutOfSync is no end, 13047)."""
        if not self.run("b"):
            return
        if how == "out of sync":
            self.end_without_job("b", "OutOfSync", "nothing")
        else:
            self.finish("nothing")
        self.then(then)
        self.evict("nothing")
        self.rest()
        self.look()
        assert self.world.has_job is False or (self.world.finished is not None) == bool(self.ended), (
            self.world.log
        )

    @rule(name=CLUSTERS)
    def starts_unheard(self, name: str) -> None:
        """The watch of Jobs is lost without a sign when the Job starts. It is evicted here: pods are left at first."""
        cluster = self.cluster(name)
        cluster.is_unheard = True
        if self.run(name):
            self.evict("nothing")
            self.world.act()
            if cluster.copy is not None and cluster.copy.is_true(DEACTIVATION_TARGET):
                cluster.change_copy(active=False)
                cluster.evict("DeactivatedDueToEvictedOnManagerCluster")
            self.world.settle()
        cluster.is_unheard = False
        self.rest()

    @rule(times=st.integers(1, 3), seconds=st.sampled_from([0, 30, 60]))
    def comes_back(self, times: int, seconds: int) -> None:
        """The cluster evicts it again and again."""
        for _ in range(times):
            if not self.run("b"):
                return
            self.wait_until(self.world.now + seconds * SECOND)
            self.evict_there("b", "rest")
            self.rest()

    @rule(name=CLUSTERS)
    def edited(self, name: str) -> None:
        """Somebody there edits a copy that waits. It is replaced."""
        if self.offer() and self.cluster(name).waits:
            self.change_there(name, "spec", "rest")
            self.calm()

    @rule(name=CLUSTERS)
    def leaves_after_its_turn(self, name: str) -> None:
        """A cluster that cannot be reached is taken out of the config in its turn, and the manager restarts."""
        world = self.world
        if not self.offer() or not self.cluster(name).waits:
            return
        self.ask(name)
        self.wait_until(world.now + world.settings.window + SECOND)
        self.go_away(name, "rest")
        world.names = tuple(each for each in NAMES if each != name)
        self.crash("rest")
        self.evict("rest")
        self.offer()
        self.ask(*NAMES)
        self.wait_until(world.now + world.settings.turn + SECOND)
        self.look()

    @rule(what=st.sampled_from(["evicted", "refused"]))
    def vain_turn(self, what: str) -> None:
        """The copy is evicted in its turn, or the cluster takes no copy in its turn."""
        world = self.world
        if what == "refused":
            self.cluster("c").refuses = "no such namespace"
        if not self.offer():
            return
        self.ask("a", "b")
        for _ in range(4):
            self.wait_until(world.now + world.settings.window + SECOND)
            name = world.attempt_turns[-1].cluster if world.attempt_turns else "a"
            if what == "evicted" and self.cluster(name).copy is not None:
                self.evict_there(name, "rest")
                self.wait_until(world.now + SECOND)
                self.ask(name)
            if world.attempt_turns:
                self.wait_until(world.attempt_turns[-1].until)

    @rule(name=CLUSTERS)
    def says_more(self, name: str) -> None:
        """The same reason comes in other words, each time."""
        for _ in range(3):
            self.decides(name, "cannot", "rest")
            self.wait_until(self.world.now + 2 * SECOND)

    @rule(other=st.sampled_from(["a", "c"]), is_slow=st.booleans())
    def chosen_and_away(self, other: str, is_slow: bool) -> None:
        """Two clusters have admitted it, and the one that is chosen goes away: the other one does not keep its copy."""
        world = self.world
        if not self.offer() or not self.cluster("b").waits or self.cluster("b").has_foreign_copy:
            return
        self.cluster("b").admit()
        self.decides(other, "admits", "nothing")
        self.cluster(other).is_prompt = not is_slow
        for _ in range(8):
            if world.chosen:
                break
            world.every(Cluster.sync)
            world.act(slow=False)
        if world.chosen:
            self.go_away(world.chosen, "rest")
            self.check_rest()

    @rule(name=CLUSTERS)
    def old_job_comes_back(self, name: str) -> None:
        """A lost cluster comes back with the Job of a former attempt, and answers late (11346)."""
        if not self.run(name):
            return
        self.go_away(name, "rest")
        self.lose(name, "rest")
        self.rest()
        other = "a" if name == "b" else "b"
        if not self.offer() or not self.cluster(other).waits or self.cluster(other).has_foreign_copy:
            return
        self.cluster(name).is_prompt = False
        self.come_back(name, None, "nothing")
        self.cluster(other).admit()
        for _ in range(6):
            self.cluster(other).sync()
            self.world.act(slow=False)

    @rule(what=st.sampled_from(["job", "workload", "check", "kind"]))
    def no_longer(self, what: str) -> None:
        """The Job is orphaned, the Workload deleted, the check taken off its queue, or the owner is of no kind that is
        sent. Nothing of it stays anywhere (15488, 3841)."""
        world = self.world
        world.has_job, world.is_gone, world.is_checked = what != "job", what == "workload", what != "check"
        world.refusal = "No multikueue adapter found" if what == "kind" else ""
        self.rest()
        for cluster in world.clusters.values():
            if cluster.reach == "Connected":
                assert cluster.copy is None or cluster.has_foreign_copy, (what, cluster.name, world.log[-12:])
                assert cluster.job is None or cluster.has_foreign_job, (what, cluster.name, world.log[-12:])
        world.has_job, world.is_gone, world.is_checked, world.refusal = True, False, True, ""
        if what == "check":  # the quota plane goes on by itself
            world.attempt, world.chosen, world.check, world.evicted = "", "", None, False
        if what == "workload":
            world.uid, world.attempt, world.chosen, world.check = f"{world.uid}+", "", "", None
            world.evicted, world.finished, self.ended, world.told.wait = False, None, "", 0

    @rule(has_gates=st.booleans(), give_up=st.sampled_from([None, 400 * SECOND]), by_cost=st.booleans())
    def configure(self, has_gates: bool, give_up: int | None, by_cost: bool) -> None:
        """Another process leads, with another configuration."""
        self.world.crash(has_gates=has_gates, give_up=give_up, by_cost=by_cost)
        self.calm()

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
            self.world.settle()
            self.check_gates()

    # ---- what holds at rest

    def check_rest(self, *, only_turns: bool = False) -> None:
        """Copies are right, gates are closed, and each cluster that asks has a turn."""
        world = self.world
        is_calm = world.memory.verdict is None and world.has_job and not world.evicted
        if not is_calm or not world.attempt or not world.is_configured or world.finished is not None:
            return
        if not only_turns:
            self.check_copies()
            self.check_gates()
        self.check_turns()

    def check_copies(self) -> None:
        """Each cluster that can be reached has a copy of the present attempt with the present spec and priority, until
        one is chosen; then only that one has."""
        world = self.world
        for name, cluster in world.clusters.items():
            copy, job = cluster.copy, cluster.job
            if cluster.reach != "Connected" or cluster.has_foreign_copy or cluster.has_foreign_job:
                continue
            assert copy is None or copy.mark is None or copy.mark.attempt == world.attempt, (
                name,
                world.log[-12:],
            )
            if name not in world.names or (world.chosen and name != world.chosen):
                assert copy is None or copy.is_deleting, (name, world.log[-12:])
                assert job is None or job.is_deleting, (name, world.log[-12:])
            if copy is None or world.chosen or copy.is_deleting:
                continue
            assert copy.digest == DIGEST, (name, world.log[-12:])
            assert copy.priority == world.priority or copy.is_true(QUOTA_RESERVED), (name, world.log[-12:])
            assert not copy.is_true(EVICTED), (name, world.log[-12:])
            assert not copy.is_true(FINISHED), (name, world.log[-12:])

    def check_gates(self) -> None:
        """No gate is open but that of the last turn, where the manager can close it."""
        world = self.world
        is_offered = bool(world.attempt) and not world.chosen and not world.evicted and world.other_is_ready
        if not (is_offered and world.settings.has_gates and world.is_configured) or world.memory.verdict:
            return
        allowed = {each.cluster for each in world.attempt_turns[-1:]}
        for name in world.names:
            cluster = self.cluster(name)
            if cluster.reach == "Connected" and name not in world.memory.out and not world.memory.admitted:
                assert name in allowed or not cluster.gate_is_open, (name, world.log[-12:])

    def check_turns(self) -> None:
        """A cluster that asks gets a turn in time, if a cluster that is away does not hinder that."""
        world = self.world
        can = all(each.reach == "Connected" for each in world.clusters.values()) and world.other_is_ready
        if not can or world.chosen or not world.settings.has_gates:
            return
        seen = world.seen()
        asking = [each.name for each in seen.clusters if asks(each, seen, world.memory.out)]
        if asking and not world.memory.admitted:
            last = world.attempt_turns[-1:]
            assert last, (asking, world.log[-12:])
            assert world.now < last[0].until or asking == [last[0].cluster], (asking, world.log[-12:])

    # ---- what always holds

    def look(self) -> None:
        """All that always holds."""
        self.one_cluster_may_preempt()
        self.one_cluster_runs_it()
        self.every_open_gate_has_a_turn()
        self.what_has_ended_does_not_run_again()
        self.nothing_of_another_manager_changes()

    @invariant()
    def one_cluster_may_preempt(self) -> None:
        """But for clusters that were lost, and copies that were made while the feature was off."""
        clusters = self.world.clusters.values()
        for each in clusters:
            each.excused &= each.reach == "Lost" or each.gate_is_open or each.job_runs
            each.excused |= each.gate_is_open and not self.world.settings.has_gates
        may = [each.name for each in clusters if each.gate_is_open and not each.excused]
        assert len(may) <= 1, (may, self.world.log)

    @invariant()
    def one_cluster_runs_it(self) -> None:
        """But for clusters that were lost."""
        runs = [each.name for each in self.world.clusters.values() if each.job_runs and not each.excused]
        assert len(runs) <= 1, (runs, self.world.log)

    @invariant()
    def every_open_gate_has_a_turn(self) -> None:
        """It was stored before, and its time had begun."""
        world = self.world
        for each in world.clusters.values():
            if not (each.gate_is_open and world.settings.has_gates) or each.excused or each.copy is None:
                continue
            attempt = each.copy.mark.attempt if each.copy.mark is not None else ""
            turns = [turn for turn in world.turns if world.turn_attempts[turn.name] == attempt]
            assert any(turn.cluster == each.name and turn.began <= world.now for turn in turns), world.log

    @invariant()
    def what_has_ended_does_not_run_again(self) -> None:
        """Its quota is kept until its end is known here."""
        if self.ended:
            others = [each for each in self.world.clusters.values() if each.name != self.ended]
            assert not any(each.job_runs and not each.excused for each in others), self.world.log
            assert self.world.attempt or self.world.finished, self.world.log

    @invariant()
    def nothing_of_another_manager_changes(self) -> None:
        """What bears another mark is never touched."""
        for name, found in self.foreign.items():
            assert self.there(name) == found

    # ---- what comes in the end

    def teardown(self) -> None:
        """Everybody is calm, and one cluster has room."""
        world = self.world
        world.is_configured, world.other_is_ready, world.names = True, True, NAMES
        while world.late:
            world.deliver_late(0)
            self.one_cluster_may_preempt()
            self.one_cluster_runs_it()
        self.foreign_goes()
        for cluster in world.clusters.values():
            cluster.reach, cluster.refuses, cluster.refuses_job = "Connected", "", False
            cluster.sync()
        if world.memory.out or world.settings.give_up is not None or not world.settings.has_gates:
            world.crash(give_up=None, has_gates=True)  # refusals hold for an attempt, or until a restart
            world.late.clear()
        for _ in range(14 + 2 * len(world.attempt_turns)):  # those with fewer turns come first
            self.rest()
            self.wait_until(world.now + world.settings.turn + SECOND)
            self.reserve("rest")
            for cluster in world.clusters.values():
                self.room(cluster)
        self.rest()
        self.check_end()

    def room(self, cluster: Cluster) -> None:
        """Cluster b takes it as soon as it may preempt. The others ask without end."""
        copy = cluster.copy
        if copy is None or self.is_over(cluster):
            return
        if cluster.name == "b" and (cluster.gate_is_open or copy.is_true(QUOTA_RESERVED)):
            cluster.admit()
        elif not copy.is_true(QUOTA_RESERVED) and cluster.honours_gates:
            cluster.gated()

    def check_end(self) -> None:
        """It has ended, or runs in one cluster. Nothing is left in another one."""
        world = self.world
        if world.finished is not None:
            assert all(each.copy is None and each.job is None for each in world.clusters.values()), world.log
            return
        assert world.chosen, (world.seen(), world.log[-20:])
        for name, cluster in world.clusters.items():
            assert (cluster.copy is not None) == (name == world.chosen), (name, world.log[-20:])
            assert (cluster.job is not None) == (name == world.chosen), (name, world.log[-20:])


Dispatched.TestCase.settings = settings(
    max_examples=examples(200),
    stateful_step_count=15,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestDispatched = Dispatched.TestCase

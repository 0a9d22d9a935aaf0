"""What happens around the manager of a dispatched Workload: to it, in worker clusters, and between them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from api.jobs import JobStatus
from api.workloads import ADMITTED, EVICTED, FINISHED, QUOTA_RESERVED
from controllers.multikueue.life.seen import Cost, Mark
from tests.kit.dispatched.cluster import OTHER_MANAGER, SECOND, Cluster
from tests.kit.dispatched.world import SETTINGS, World

__all__ = ["CLUSTERS", "NAMES", "SETTINGS_OF", "THEN", "Events"]

NAMES: Final = ("a", "b", "c")
CLUSTERS = st.sampled_from(NAMES)
COSTS = st.none() | st.integers(0, 3).map(lambda number: Cost(number, number, 1, 1, 10, "q", 0))
THEN = st.sampled_from(["rest", "rest", "rest", "act", "work", "nothing"])
"""What follows an event: the manager does all that follows, one step of it, the clusters work, or nothing yet."""
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
CONFIGS: Final = (NAMES, NAMES, ("c", "b", "a"), ("a", "b"), ("b", "c"))


class Events(RuleBasedStateMachine):
    """One Workload, three clusters; the third one may not honour gates."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World(NAMES)
        self.ended = ""
        """The cluster where the Job of the present attempt has ended."""
        self.foreign: dict[str, tuple[object, object]] = {}
        """What another manager has in a cluster."""

    def cluster(self, name: str) -> Cluster:
        """The cluster of this name."""
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

    @rule(name=CLUSTERS)
    def act_in_one(self, name: str) -> None:
        """Only the write in one cluster comes through."""
        seen, decision = self.world.decide()
        if name in decision.there and self.cluster(name).reach == "Connected":
            self.world.write_there(self.cluster(name), decision.there[name], seen, self.world.term)

    @rule(then=THEN)
    def crash(self, then: str) -> None:
        """Another process leads."""
        self.world.crash()
        self.then(then)

    @precondition(lambda self: bool(self.world.late))
    @rule(at=st.integers(0, 99))
    def late(self, at: int) -> None:
        """A write of a former leader arrives, whatever has happened meanwhile."""
        self.world.deliver_late(at % len(self.world.late))

    @rule(seconds=st.sampled_from([1, 6, 61, 301]), looks=st.booleans())
    def time(self, seconds: int, looks: bool) -> None:
        """Time passes. `looks`: the manager is not paused meanwhile."""
        self.wait_until(self.world.now + seconds * SECOND, looks=looks)

    @precondition(lambda self: bool(self.world.turns))
    @rule(seconds=st.sampled_from([-1, 0, 1]), looks=st.booleans())
    def turn_ends(self, seconds: int, looks: bool) -> None:
        """Just before, at, and just after the end of the turn."""
        self.wait_until(self.world.turns[-1].until + seconds * SECOND, looks=looks)

    def wait_until(self, end: int, *, looks: bool = True) -> None:
        """Time passes until then."""
        if looks and end > self.world.now:
            self.world.pass_time(end)
        self.world.ground.now = max(end, self.world.now)

    # ---- the quota plane here, and users

    @rule(then=THEN)
    def reserve(self, then: str) -> None:
        """The Workload gets quota here."""
        if not self.world.attempt:
            self.ended = ""
            self.world.reserve()
            self.then(then)

    @rule(then=THEN)
    def evict(self, then: str) -> None:
        """It is evicted here."""
        self.world.evict()
        self.then(then)

    @rule(
        what=st.sampled_from(["priority", "other check", "config", "no config", "digest"]),
        number=st.integers(0, 4),
        then=THEN,
    )
    def change_here(self, what: str, number: int, then: str) -> None:
        """Something changes here."""
        world = self.world
        match what:
            case "priority":
                world.priority = number
            case "other check":
                world.other_is_ready = number > 1
            case "config":
                world.names = CONFIGS[number]
            case "no config":
                world.is_configured = number > 1
            case _:
                world.digest = None
        self.then(then)

    # ---- their quota controllers

    @rule(name=CLUSTERS, cost=COSTS, then=THEN)
    def gated(self, name: str, cost: Cost | None, then: str) -> None:
        """It would preempt."""
        cluster = self.cluster(name)
        if cluster.waits and not cluster.gate_is_open and not cluster.has_foreign_copy:
            cluster.gated(cost)
            self.then(then)

    @rule(then=THEN, costs=st.lists(COSTS, min_size=3, max_size=3))
    def all_gated(self, then: str, costs: list[Cost | None]) -> None:
        """All would."""
        for name, cost in zip(NAMES, costs, strict=True):
            self.gated(name, cost, "nothing")
        self.then(then)

    @rule(name=CLUSTERS, how=st.sampled_from(["cannot", "reserves", "admits", "admits"]), then=THEN)
    def decides(self, name: str, how: str, then: str) -> None:
        """It has looked at its copy."""
        cluster = self.cluster(name)
        copy = cluster.copy
        if copy is None or cluster.has_foreign_copy:
            return
        if how == "admits" and copy.is_true(QUOTA_RESERVED) and not self.is_over(cluster):
            cluster.admit()
        elif cluster.waits:
            {"cannot": cluster.cannot, "reserves": cluster.reserve, "admits": cluster.admit}[how]()
        self.then(then)

    def is_over(self, cluster: Cluster) -> bool:
        """Whether nothing can be decided any longer."""
        copy = cluster.copy
        if copy is None or copy.is_deleting or not copy.active:
            return True
        return any(copy.is_true(kind) for kind in (ADMITTED, FINISHED, EVICTED))

    @rule(name=CLUSTERS, then=THEN)
    def evict_there(self, name: str, then: str) -> None:
        """It evicts its copy."""
        cluster = self.cluster(name)
        copy = cluster.copy
        if copy is None or cluster.has_foreign_copy or copy.is_true(FINISHED):
            return
        if copy.is_true(QUOTA_RESERVED) or copy.gate == "Open":
            cluster.evict()
            self.then(then)

    @rule(then=THEN)
    def finish(self, then: str) -> None:
        """The Job ends where it runs."""
        for cluster in self.world.clusters.values():
            copy = cluster.copy
            if not cluster.job_runs or copy is None or (self.is_over(cluster) and not copy.is_true(ADMITTED)):
                continue
            if copy.is_true(FINISHED) or copy.is_true(EVICTED) or copy.is_deleting:
                continue
            is_present = copy.mark is None or copy.mark.attempt == self.world.attempt
            cluster.finish()
            if cluster.name == self.world.chosen and cluster.reach != "Lost" and is_present:
                self.ended = cluster.name
        self.then(then)

    @rule(name=CLUSTERS, reason=st.sampled_from(["OutOfSync", "OutOfSync", "Succeeded"]), then=THEN)
    def end_without_job(self, name: str, reason: str, then: str) -> None:
        """The copy is Finished, although its Job has not ended (13047)."""
        cluster = self.cluster(self.world.chosen or name)
        copy = cluster.copy
        if copy is None or cluster.has_foreign_copy or copy.is_true(FINISHED):
            return
        if self.world.chosen and reason != "OutOfSync":
            return
        cluster.say(FINISHED, True, reason)
        if cluster.job_runs:
            cluster.change_job(suspended=True, status=JobStatus(active=0))
        self.then(then)

    # ---- others there

    @rule(
        name=CLUSTERS,
        what=st.sampled_from(
            ["spec", "active", "copy", "copy", "job", "refuses", "refuses job", "takes", "costs"]
        ),
        then=THEN,
    )
    def change_there(self, name: str, what: str, then: str) -> None:
        """Somebody changes something there."""
        cluster = self.cluster(name)
        is_ours = cluster.copy is not None and not cluster.has_foreign_copy and self.ended != name
        match what:
            case "spec" if is_ours:
                cluster.change_copy(digest=b"another")
            case "active" if is_ours:
                cluster.change_copy(active=False)
                cluster.evict("Deactivated")
            case "copy" if is_ours:
                cluster.delete_copy()
            case "job" if self.ended != name and not cluster.has_foreign_job:
                cluster.delete_job()
            case "refuses":
                cluster.refuses = "no such namespace"
            case "refuses job":
                cluster.refuses_job = True
            case "takes":
                cluster.refuses, cluster.refuses_job = "", False
            case "costs":  # another Workload gets a gate there: what was said before is stale
                cluster.open_gates, cluster.last_opened = 1, self.world.now
            case _:
                return
        self.then(then)

    @rule(name=CLUSTERS, is_prompt=st.booleans(), lingers=st.booleans())
    def slow(self, name: str, is_prompt: bool, lingers: bool) -> None:
        """It answers late, or what is deleted there stays for a while."""
        self.cluster(name).is_prompt, self.cluster(name).lingers = is_prompt, lingers

    @rule(name=CLUSTERS)
    def put_foreign(self, name: str) -> None:
        """Another manager has a Workload of this name there."""
        cluster = self.cluster(name)
        if cluster.copy is None and cluster.job is None:
            cluster.put_copy(FOREIGN, gate="Open")
            cluster.admit()
            cluster.put_job(FOREIGN, suspended=False)
            self.foreign[name] = self.there(name)

    def there(self, name: str) -> tuple[object, object]:
        """The copy and the Job there."""
        return self.cluster(name).copy, self.cluster(name).job

    def foreign_goes(self) -> None:
        """It takes it away."""
        for name in list(self.foreign):
            self.foreign.pop(name)
            self.cluster(name).copy = self.cluster(name).job = None

    def was_kueues(self) -> None:
        """Kueue's manager was here before, under the same origin. Cluster b runs the Job, and a has a copy, too."""
        cluster, world = self.cluster("b"), self.world
        cluster.put_copy(KUEUES, priority=world.priority)
        cluster.put_job(KUEUES)
        cluster.admit()
        cluster.work()
        self.cluster("a").put_copy(KUEUES, priority=world.priority)
        world.chosen = "b"
        assert world.check is not None
        assert cluster.copy is not None
        assert cluster.job is not None
        world.check = msgspec.structs.replace(world.check, state="Ready")
        before = cluster.copy.uid, cluster.job.uid
        world.every(Cluster.sync)
        world.settle()
        assert (cluster.copy.uid, cluster.job.uid) == before
        assert not cluster.job.suspended
        assert self.cluster("a").copy is None

    # ---- networks

    @rule(name=CLUSTERS, then=THEN)
    def go_away(self, name: str, then: str) -> None:
        """It cannot be reached."""
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
        """It is away for too long."""
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

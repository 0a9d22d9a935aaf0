"""A manager and worker clusters in memory: one Workload, and what everybody may do with it.

It knows what is true in each cluster, and what the manager has seen of it. Writes are carried out by the rules of the
API server: a UID and a resource version that are not the present ones are refused. `tests.kit.dispatched.checks` looks
at each write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from api.jobs import TemplatedJob
from api.meta import Condition, ObjectMeta
from api.times import parse_rfc3339
from api.workloads import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
    AdmissionCheckState,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from controllers.multikueue.life.decision import (
    CloseGate,
    CreateCopy,
    CreateJob,
    Deactivate,
    Decision,
    DeleteCopy,
    DeleteJob,
    EndTurn,
    FenceCopy,
    GiveTurn,
    Here,
    MirrorJob,
    NeedsDigest,
    OpenGate,
    ReadJob,
    SetPriority,
    SuspendJob,
    There,
    TryJob,
)
from controllers.multikueue.life.life import decide
from controllers.multikueue.life.memory import EMPTY, Memory
from controllers.multikueue.life.seen import Mark, Seen, Settings, Turn
from runtime.exchange.dispatch_reports import Dispatched
from tests.kit.dispatched import checks
from tests.kit.dispatched.cluster import DIGEST, MANAGER, SECOND, Cluster, Ground

__all__ = ["CHECK", "SETTINGS", "World"]

CHECK: Final = "clusters"
KEY: Final = "team/train"
SETTINGS: Final = Settings(has_gates=True, by_cost=True, window=5 * SECOND, turn=300 * SECOND, give_up=None)


@dataclass
class Late:
    """A write of a former leader that is still on its way."""

    cluster: str
    act: There
    seen: Seen
    term: int


@dataclass
class World:
    """All clusters, and the Workload here."""

    names: tuple[str, ...] = ("a", "b", "c")
    """Those of the config, in its order."""
    settings: Settings = SETTINGS
    ground: Ground = field(default_factory=Ground)
    term: int = 1
    uid: str = "w-1"
    priority: int = 10
    has_job: bool = True
    is_gone: bool = False
    is_configured: bool = True
    is_checked: bool = True
    """Whether its queue has the check."""
    other_is_ready: bool = True
    """Whether its other admission check is Ready."""
    refusal: str = ""
    digest: bytes | None = DIGEST
    attempt: str = ""
    chosen: str = ""
    nominated: tuple[str, ...] = ()
    check: AdmissionCheckState | None = None
    evicted: bool = False
    finished: tuple[str, str] | None = None
    turns: list[Turn] = field(default_factory=list)
    turn_attempts: dict[str, str] = field(default_factory=dict)
    memory: Memory = EMPTY
    mirrored: tuple[str, str] = ("", "")
    late: list[Late] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    told: checks.Told = field(default_factory=checks.Told)

    def __post_init__(self) -> None:
        self.clusters = {name: Cluster(name, self.ground) for name in self.names}

    # ---- the manager

    @property
    def now(self) -> int:
        """The manager's clock, in microseconds since 1970."""
        return self.ground.now

    def workload(self) -> Workload | None:
        """The Workload here."""
        if self.is_gone:
            return None
        kinds = {
            QUOTA_RESERVED: bool(self.attempt),
            EVICTED: self.evicted,
            FINISHED: self.finished is not None,
            ADMITTED: self.is_admitted,
        }
        conditions = [
            Condition(kind, "True", kind, "", self.attempt if kind == QUOTA_RESERVED else self.ground.time)
            for kind, is_true in kinds.items()
            if is_true
        ]
        other = AdmissionCheckState(
            "other", "Ready" if self.other_is_ready else "Pending", self.ground.time, ""
        )
        status = WorkloadStatus(
            conditions=conditions,
            admission_checks=[self.check, other] if self.check is not None else None,
            cluster_name=self.chosen or None,
            nominated_cluster_names=list(self.nominated) or None,
        )
        meta = ObjectMeta(name="train", namespace="team", uid=self.uid, generation=1)
        return Workload(metadata=meta, spec=WorkloadSpec(priority=self.priority), status=status)

    @property
    def is_admitted(self) -> bool:
        """Whether the Workload is Admitted here."""
        return bool(self.attempt) and self.check is not None and self.check.state == "Ready"

    @property
    def attempt_turns(self) -> tuple[Turn, ...]:
        """The turns of the present attempt."""
        return tuple(each for each in self.turns if self.turn_attempts[each.name] == self.attempt)

    def seen(self) -> Seen:
        """All that the manager sees."""
        job = TemplatedJob(metadata=ObjectMeta(name="train", namespace="team", uid="job-1"))
        chosen = self.clusters.get(self.chosen)
        remote = chosen.seen_job if chosen is not None else None
        state = (remote.uid, remote.version) if remote is not None else ("", "")
        configured = self.names if self.is_configured else ()
        others = [each for each in self.clusters.values() if each.name not in configured]
        return Seen(
            KEY,
            self.workload(),
            MANAGER,
            CHECK if self.check is not None and self.is_checked else "",
            self.refusal,
            job if self.has_job and not self.is_gone else None,
            is_mirrored=state == self.mirrored,
            digest=self.digest,
            attempt=self.attempt,
            is_configured=self.is_configured,
            clusters=tuple(self.clusters[name].seen() for name in configured),
            others=tuple(
                each.seen()
                for each in others
                if each.name == self.chosen
                or each.seen_copy is not None
                or each.seen_job is not None
                or any(turn.cluster == each.name and not turn.is_over for turn in self.turns)
            ),
            turns=self.attempt_turns,
            former_turns=tuple(
                each
                for each in self.turns
                if self.turn_attempts[each.name] != self.attempt and not each.is_over
            ),
            fenced=frozenset(
                each.name
                for each in self.clusters.values()
                if each.seen_copy is not None and each.seen_copy.fenced_by == str(self.term)
            ),
        )

    def decide(self) -> tuple[Seen, Decision]:
        """What follows now. What is reported is written at once."""
        seen = self.seen()
        decision = decide(seen, self.memory, self.settings, self.now)
        checks.same_again(seen, decision, self.settings, self.now)
        checks.message(self, decision)
        self.memory = decision.memory
        checks.look(self, seen)
        if decision.report is not None:
            self._report(decision.report)
        return seen, decision

    def act(self, *, slow: bool = True) -> int:
        """Carry out everything that follows now. Returns how many writes that were. `slow`: also in clusters that are
        not prompt."""
        seen, decision = self.decide()
        count = 0
        if decision.here is not None:
            self.write_here(decision.here, seen)
            count += 1
        for name, act in decision.there.items():
            cluster = self.clusters[name]
            if cluster.reach == "Connected" and (slow or cluster.is_prompt):
                self.write_there(cluster, act, seen, self.term)
                count += 1
        return count

    def settle(self, most: int = 60) -> None:
        """Carry out what follows until nothing follows any longer. Slow clusters come last."""
        for slow in (False, True):
            for _ in range(most):
                for cluster in self.clusters.values():
                    if slow or cluster.is_prompt:
                        cluster.sync()
                before = (self.chosen, self.attempt, self.check, self.evicted)
                if not self.act(slow=slow) and before == (
                    self.chosen,
                    self.attempt,
                    self.check,
                    self.evicted,
                ):
                    break
            else:
                raise AssertionError(f"it never rests: {self.log[-12:]}")

    def pass_time(self, until: int) -> None:
        """Time passes, and the manager looks whenever it has said that it will."""
        for _ in range(200):
            self.settle()
            again = decide(self.seen(), self.memory, self.settings, self.now).again
            if again is not None:
                assert again > self.now, "it would look without end"
            if again is None or again >= until:
                break
            self.ground.now = again
        self.ground.now = max(self.now, until)
        self.settle()

    def crash(self, **settings: object) -> None:
        """Another process leads. Writes of the former one may still be on their way.

        A creation cannot be made to fail by a version: one that comes after its attempt or its turn is not modelled.
        """
        if not self.settings.has_gates:
            for cluster in self.clusters.values():
                cluster.excused |= cluster.gate_is_open
        seen, decision = self.decide()
        self.late += [Late(name, act, seen, self.term) for name, act in decision.there.items()]
        self.memory, self.mirrored, self.term = EMPTY, ("", ""), self.term + 1
        self.settings = replace(self.settings, **settings)  # type: ignore[arg-type] # fields of Settings
        self.told = checks.Told()
        for cluster in self.clusters.values():
            if cluster.reach != "Connected":  # what is there is not known to a new process
                cluster.seen_copy = cluster.seen_job = None

    def deliver_late(self, at: int) -> None:
        """A write of a former leader arrives."""
        late = self.late.pop(at)
        if isinstance(late.act, CreateJob | CreateCopy) and late.seen.attempt != self.attempt:
            return
        if isinstance(late.act, CreateCopy) and not self.clusters[late.cluster].honours_gates:
            return
        if isinstance(late.act, CreateJob) and self.chosen != late.cluster:
            return
        self.write_there(self.clusters[late.cluster], late.act, late.seen, late.term)

    # ---- the quota plane here

    def reserve(self) -> None:
        """The Workload gets quota here."""
        if not self.attempt and not self.is_gone and self.finished is None:
            self.ground.now += SECOND  # two attempts differ by their time
            self.attempt = self.ground.time
            self.check = (
                AdmissionCheckState(CHECK, "Pending", self.ground.time, "") if self.is_checked else None
            )
            self.told.begin()

    def evict(self) -> None:
        """Somebody evicts it here."""
        if self.attempt and self.finished is None:
            self.evicted, self.nominated = True, ()

    def _report(self, report: Dispatched) -> None:
        checks.report(self, report)
        if report.finished is not None:
            self.finished = report.finished
        if self.finished is not None:
            return
        if self.evicted:
            if not report.may_run:
                checks.quota_given_back(self)
                self.attempt, self.chosen, self.evicted = "", "", False
                if self.check is not None:
                    self.check = AdmissionCheckState(CHECK, "Pending", self.ground.time, "")
            return
        if not self.attempt or report.attempt != self.attempt:
            return
        if report.cluster and not self.chosen:
            assert report.cluster in self.nominated or self.nominated == ()
            self.chosen, self.nominated = report.cluster, ()
        if not self.chosen:
            self.nominated = report.nominated
        check = report.check
        if check is not None and self.check is not None:
            if self.check.state != check.state:
                self.check = AdmissionCheckState(CHECK, check.state, self.ground.time, check.message)
            if check.state in ("Retry", "Rejected"):
                self.evict()

    @property
    def ready_since(self) -> int | None:
        """Since when the check is Ready; None if it is not."""
        if self.check is None or self.check.state != "Ready":
            return None
        return round(parse_rfc3339(self.check.last_transition_time or "") * SECOND)

    # ---- writes

    def write_here(self, act: Here, seen: Seen) -> None:
        """A write in the manager's own cluster."""
        self.log.append(f"here {act}")
        match act:
            case GiveTurn():
                name = f"turn-{seen.attempt}-{act.number}"
                if name not in self.turn_attempts:
                    checks.turn(self, act, seen)
                    self.turn_attempts[name] = seen.attempt
                    self.turns.append(Turn(name, act.number, act.cluster, act.began, act.until))
            case EndTurn():
                self.turns = [
                    replace(each, is_over=True) if each.name == act.name else each for each in self.turns
                ]
            case MirrorJob():
                job = self.clusters[act.cluster].seen_job if act.cluster else None
                self.mirrored = (job.uid, job.version) if job is not None else ("", "")
            case NeedsDigest():
                self.digest = DIGEST

    def write_there(self, cluster: Cluster, act: There, seen: Seen, term: int) -> None:
        """A write in a worker cluster, by its API server's rules."""
        self.log.append(f"{cluster.name} {act} of term {term} at {self.now}")
        mark = Mark(MANAGER, seen.workload.metadata.uid if seen.workload is not None else "", seen.attempt)
        if term == self.term:
            checks.write(self, cluster, act, seen)
        match act:
            case CreateCopy():
                self._create_copy(cluster, act, mark, term)
            case TryJob() | CreateJob():
                self._create_job(cluster, act, mark, seen)
            case DeleteCopy(uid=uid):
                if cluster.copy is not None and cluster.copy.uid == uid:
                    assert not cluster.has_foreign_copy
                    cluster.delete_copy()
            case DeleteJob(uid=uid):
                if cluster.job is not None and cluster.job.uid == uid:
                    assert not cluster.has_foreign_job
                    cluster.delete_job()
            case ReadJob(uid=uid):
                job = cluster.job
                if job is not None and job.uid == uid and self.memory.attempt == seen.attempt:
                    self.memory = self.memory.has_read(job.version)
            case SuspendJob(uid=uid, version=version):
                if cluster.job is not None and (cluster.job.uid, cluster.job.version) == (uid, version):
                    cluster.change_job(suspended=True)
            case SetPriority() | Deactivate() | OpenGate() | CloseGate() | FenceCopy():
                self._patch_copy(cluster, act, term)
        if term == self.term:
            cluster.sync()
            if isinstance(act, CreateJob | DeleteJob | SuspendJob | ReadJob):
                cluster.seen_job = cluster.job  # the answer

    def _create_copy(self, cluster: Cluster, act: CreateCopy, mark: Mark, term: int) -> None:
        if cluster.copy is not None or cluster.refuses:
            if term == self.term and (cluster.copy is None or cluster.copy.mark != mark):
                self.memory = self.memory.refused(cluster.name, "Refused", cluster.refuses or "taken")
            return
        has_gate = act.has_gate and cluster.honours_gates
        cluster.put_copy(
            mark,
            priority=self.priority,
            has_gate=has_gate,
            gate="Closed" if has_gate else "Missing",
            fenced_by=str(term),
        )

    def _create_job(self, cluster: Cluster, act: TryJob | CreateJob, mark: Mark, seen: Seen) -> None:
        if cluster.job is not None or cluster.refuses_job:
            if seen.attempt == self.attempt and (cluster.job is None or cluster.job.mark != mark):
                self.memory = self.memory.refused(cluster.name, "AlreadyExists", "a Job of this name exists")
            return
        if isinstance(act, TryJob):
            if self.memory.attempt == seen.attempt:
                self.memory = self.memory.took(cluster.name)
            return
        cluster.put_job(mark)

    def _patch_copy(
        self,
        cluster: Cluster,
        act: SetPriority | Deactivate | OpenGate | CloseGate | FenceCopy,
        term: int,
    ) -> None:
        copy = cluster.copy
        if copy is None or (copy.uid, copy.version) != (act.uid, act.version):
            return  # a conflict
        assert not cluster.has_foreign_copy
        match act:
            case SetPriority():
                cluster.change_copy(priority=self.priority)
            case Deactivate():
                cluster.say(DEACTIVATION_TARGET, True, "EvictedOnManagerCluster")
            case OpenGate():
                cluster.change_copy(gate="Open")
            case CloseGate():
                cluster.change_copy(gate="Closed")
            case FenceCopy():
                cluster.change_copy(fenced_by=str(term))

    def every(self, do: Callable[[Cluster], None]) -> None:
        """Do it in every cluster that can be reached."""
        for cluster in self.clusters.values():
            if cluster.reach == "Connected":
                do(cluster)

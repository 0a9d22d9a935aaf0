"""A manager and worker clusters in memory: one Workload, and what everybody may do with it.

It knows what is true in each cluster, and what the manager has seen of it. Writes are carried out by the rules of the
API server: a UID and a resource version that are not the present ones are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from api.jobs import JobStatus, TemplatedJob
from api.meta import Condition, ObjectMeta
from api.times import rfc3339
from api.workloads import (
    ADMITTED,
    BLOCKED_ON_PREEMPTION_GATES,
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
    OpenGate,
    SetPriority,
    SuspendJob,
    There,
    TryJob,
)
from controllers.multikueue.life.life import decide
from controllers.multikueue.life.memory import EMPTY, Memory
from controllers.multikueue.life.seen import (
    ClusterSeen,
    Copy,
    Cost,
    Mark,
    Reach,
    RemoteJob,
    Said,
    Seen,
    Settings,
    Turn,
)
from runtime.exchange.dispatch_reports import Dispatched

__all__ = ["CHECK", "MANAGER", "SECOND", "Cluster", "World"]

SECOND: Final = 1_000_000
MANAGER: Final = "manager-uid"
CHECK: Final = "clusters"
KEY: Final = "team/train"
DIGEST: Final = b"spec"
SETTINGS: Final = Settings(has_gates=True, by_cost=True, window=5 * SECOND, turn=300 * SECOND, give_up=None)


@dataclass
class Cluster:
    """A worker cluster."""

    name: str
    honours_gates: bool = True
    reach: Reach = "Connected"
    is_prompt: bool = True
    copy: Copy | None = None
    """What is true there."""
    job: RemoteJob | None = None
    seen_copy: Copy | None = None
    """What the manager has seen."""
    seen_job: RemoteJob | None = None
    cost: Cost | None = None
    refuses: str = ""
    """Why no copy can be made there."""
    refuses_job: bool = False
    excused: bool = False
    """It was lost while its gate was open, or its Job ran: until that ends, it is not counted."""

    def sync(self) -> None:
        """The watch of the manager brings everything."""
        if self.reach == "Connected":
            self.seen_copy, self.seen_job = self.copy, self.job

    @property
    def gate_is_open(self) -> bool:
        """Whether the cluster may preempt for the Workload, in truth."""
        if self.copy is None or self.copy.is_deleting or self.copy.is_true(QUOTA_RESERVED):
            return False
        return self.copy.gate == "Open" if self.honours_gates else True

    @property
    def job_runs(self) -> bool:
        """Whether pods may be started, in truth."""
        return self.job is not None and not self.job.suspended and not self.job.is_deleting

    def seen(self) -> ClusterSeen:
        """As the manager sees it."""
        return ClusterSeen(
            self.name,
            self.reach,
            "it does not answer" if self.reach != "Connected" else "",
            self.honours_gates,
            self.is_prompt,
            self.seen_copy,
            self.seen_job,
            self.cost,
        )


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
    settings: Settings = SETTINGS
    now: int = 1_700_000_000 * SECOND
    term: int = 1
    uid: str = "w-1"
    priority: int = 10
    has_job: bool = True
    is_gone: bool = False
    is_configured: bool = True
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
    versions: int = 0
    log: list[str] = field(default_factory=list)
    foreign_touched: bool = False

    def __post_init__(self) -> None:
        self.clusters = {name: Cluster(name) for name in self.names}

    # ---- the manager

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
            Condition(kind, "True", kind, "", self.attempt if kind == QUOTA_RESERVED else self.time)
            for kind, is_true in kinds.items()
            if is_true
        ]
        status = WorkloadStatus(
            conditions=conditions,
            admission_checks=[self.check] if self.check is not None else None,
            cluster_name=self.chosen or None,
            nominated_cluster_names=list(self.nominated) or None,
        )
        meta = ObjectMeta(name="train", namespace="team", uid=self.uid, generation=1)
        return Workload(metadata=meta, spec=WorkloadSpec(priority=self.priority), status=status)

    @property
    def time(self) -> str:
        """Now, as objects have it."""
        return rfc3339(self.now / SECOND)

    @property
    def is_admitted(self) -> bool:
        """Whether the Workload is Admitted here."""
        return bool(self.attempt) and self.check is not None and self.check.state == "Ready"

    def seen(self) -> Seen:
        """All that the manager sees."""
        workload = self.workload()
        job = TemplatedJob(metadata=ObjectMeta(name="train", namespace="team", uid="job-1"))
        chosen = self.clusters.get(self.chosen)
        remote = chosen.seen_job if chosen is not None else None
        state = (remote.uid, remote.version) if remote is not None else ("", "")
        return Seen(
            KEY,
            workload,
            MANAGER,
            CHECK if self.check is not None else "",
            "",
            job if self.has_job and not self.is_gone else None,
            is_mirrored=state == self.mirrored,
            digest=DIGEST,
            attempt=self.attempt,
            is_configured=self.is_configured,
            clusters=tuple(self.clusters[name].seen() for name in self.names),
            others=tuple(each.seen() for name, each in self.clusters.items() if name not in self.names),
            turns=tuple(each for each in self.turns if self.turn_attempts[each.name] == self.attempt),
            former_turns=tuple(
                each.name
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
        self.memory = decision.memory
        if decision.report is not None:
            self._report(decision.report)
        return seen, decision

    def act(self) -> int:
        """Carry out everything that follows now. Returns how many writes that were."""
        seen, decision = self.decide()
        count = 0
        if decision.here is not None:
            self.write_here(decision.here)
            count += 1
        for name, act in decision.there.items():
            if self.clusters[name].reach == "Connected":
                self.write_there(self.clusters[name], act, seen, self.term)
                count += 1
        return count

    def settle(self, most: int = 60) -> None:
        """Carry out what follows until nothing follows any longer."""
        for _ in range(most):
            for cluster in self.clusters.values():
                cluster.sync()
            before = (self.chosen, self.attempt, self.check, self.evicted)
            if not self.act() and before == (self.chosen, self.attempt, self.check, self.evicted):
                return
        raise AssertionError(f"it never rests: {self.log[-12:]}")

    def crash(self) -> None:
        """Another process leads. Writes of the former one may still be on their way."""
        seen, decision = self.decide()
        self.late += [Late(name, act, seen, self.term) for name, act in decision.there.items()]
        self.memory, self.mirrored, self.term = EMPTY, ("", ""), self.term + 1

    def deliver_late(self, at: int) -> None:
        """A write of a former leader arrives."""
        late = self.late.pop(at)
        self.write_there(self.clusters[late.cluster], late.act, late.seen, late.term)

    # ---- the quota plane here

    def reserve(self) -> None:
        """The Workload gets quota here."""
        if not self.attempt and not self.is_gone and self.finished is None:
            self.now += SECOND  # two attempts differ by their time
            self.attempt = self.time
            self.check = AdmissionCheckState(CHECK, "Pending", self.time, "")

    def evict(self) -> None:
        """Somebody evicts it here."""
        if self.attempt and self.finished is None:
            self.evicted, self.nominated = True, ()

    def _report(self, report: Dispatched) -> None:
        if report.finished is not None:
            self.finished = report.finished
        if self.evicted:
            if not report.may_run:
                self.attempt, self.chosen, self.evicted = "", "", False
                self.check = AdmissionCheckState(CHECK, "Pending", self.time, "") if self.check else None
            return
        if not self.attempt or report.attempt != self.attempt or self.finished is not None:
            return
        if report.cluster and not self.chosen:
            assert report.cluster in self.nominated or self.nominated == ()
            self.chosen, self.nominated = report.cluster, ()
        if not self.chosen:
            self.nominated = report.nominated
        check = report.check
        if check is not None and self.check is not None:
            if self.check.state != check.state:
                self.check = AdmissionCheckState(CHECK, check.state, self.time, check.message)
            if check.state == "Retry":
                self.evict()

    # ---- writes

    def version(self) -> str:
        """Another one each time."""
        self.versions += 1
        return str(self.versions)

    def write_here(self, act: Here) -> None:
        """A write in the manager's own cluster."""
        self.log.append(f"here {act}")
        match act:
            case GiveTurn():
                name = f"turn-{self.attempt}-{act.number}"
                if name not in self.turn_attempts:
                    self.turn_attempts[name] = self.attempt
                    self.turns.append(Turn(name, act.number, act.cluster, act.began, act.until))
            case EndTurn():
                self.turns = [
                    replace(each, is_over=True) if each.name == act.name else each for each in self.turns
                ]
            case MirrorJob():
                job = self.clusters[act.cluster].seen_job if act.cluster else None
                self.mirrored = (job.uid, job.version) if job is not None else ("", "")
            case _:
                pass

    def write_there(self, cluster: Cluster, act: There, seen: Seen, term: int) -> None:
        """A write in a worker cluster, by its API server's rules."""
        self.log.append(f"{cluster.name} {act} of term {term}")
        mark = Mark(MANAGER, seen.workload.metadata.uid if seen.workload is not None else "", seen.attempt)
        match act:
            case CreateCopy():
                self._create_copy(cluster, act, mark, term)
            case TryJob() | CreateJob():
                self._create_job(cluster, act, mark, seen)
            case DeleteCopy(uid=uid):
                if cluster.copy is not None and cluster.copy.uid == uid:
                    self._check_foreign(cluster.copy.mark)
                    cluster.copy = None
            case DeleteJob(uid=uid):
                if cluster.job is not None and cluster.job.uid == uid:
                    self._check_foreign(cluster.job.mark)
                    cluster.job = None
            case SuspendJob(uid=uid, version=version):
                if cluster.job is not None and (cluster.job.uid, cluster.job.version) == (uid, version):
                    self.change_job(cluster, suspended=True)
            case SetPriority() | Deactivate() | OpenGate() | CloseGate() | FenceCopy():
                self._patch_copy(cluster, act, term)
        if term == self.term:
            cluster.sync()

    def _create_copy(self, cluster: Cluster, act: CreateCopy, mark: Mark, term: int) -> None:
        if cluster.copy is not None or cluster.refuses:
            if term == self.term and (cluster.copy is None or cluster.copy.mark != mark):
                self.memory = self.memory.refused(cluster.name, "Refused", cluster.refuses or "taken")
            return
        gate = "Closed" if act.has_gate and cluster.honours_gates else "Missing"
        cluster.copy = Copy(
            namespace="team",
            name="train",
            uid=f"copy-{self.version()}",
            version=self.version(),
            mark=mark,
            digest=DIGEST,
            priority=self.priority,
            has_gate=act.has_gate,
            gate=gate,
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
        cluster.job = RemoteJob(
            namespace="team",
            name="train",
            uid=f"job-{self.version()}",
            version=self.version(),
            mark=mark,
            workload="train",
        )

    def _patch_copy(
        self,
        cluster: Cluster,
        act: SetPriority | Deactivate | OpenGate | CloseGate | FenceCopy,
        term: int,
    ) -> None:
        copy = cluster.copy
        if copy is None or (copy.uid, copy.version) != (act.uid, act.version):
            return  # a conflict
        self._check_foreign(copy.mark)
        match act:
            case SetPriority():
                self.change_copy(cluster, priority=self.priority)
            case Deactivate():
                self.say(cluster, DEACTIVATION_TARGET, True, "EvictedOnManagerCluster")
            case OpenGate():
                self.change_copy(cluster, gate="Open")
            case CloseGate():
                self.change_copy(cluster, gate="Closed")
            case FenceCopy():
                self.change_copy(cluster, fenced_by=str(term))

    def _check_foreign(self, mark: Mark | None) -> None:
        self.foreign_touched |= mark is not None and mark.manager != MANAGER

    # ---- what happens in a cluster

    def change_copy(self, cluster: Cluster, **changes: object) -> None:
        """Somebody writes the copy."""
        assert cluster.copy is not None
        cluster.copy = msgspec.structs.replace(cluster.copy, version=self.version(), **changes)

    def change_job(self, cluster: Cluster, **changes: object) -> None:
        """Somebody writes the Job there."""
        assert cluster.job is not None
        cluster.job = msgspec.structs.replace(cluster.job, version=self.version(), **changes)

    def say(self, cluster: Cluster, kind: str, status: bool, reason: str, message: str = "") -> None:
        """The copy gets a condition."""
        assert cluster.copy is not None
        said = {**cluster.copy.conditions, kind: Said(status, reason, message, self.now)}
        self.change_copy(cluster, conditions=said)

    def gated(self, cluster: Cluster, cost: Cost | None = None) -> None:
        """The cluster would preempt for its copy, and waits for the gate. It says so as Kueue does."""
        self.say(cluster, QUOTA_RESERVED, False, "PendingEvaluation")
        self.say(cluster, BLOCKED_ON_PREEMPTION_GATES, True, "PreemptionGated")
        cluster.cost = cost

    def admit(self, cluster: Cluster) -> None:
        """The cluster admits its copy."""
        self.say(cluster, QUOTA_RESERVED, True, "QuotaReserved")
        self.say(cluster, BLOCKED_ON_PREEMPTION_GATES, False, "QuotaReserved")
        self.say(cluster, ADMITTED, True, "Admitted")

    def evict_there(self, cluster: Cluster, reason: str = "Preempted") -> None:
        """The cluster evicts its copy: gates close, its Job stops."""
        self.say(cluster, EVICTED, True, reason)
        self.say(cluster, ADMITTED, False, "NoReservation")
        self.say(cluster, QUOTA_RESERVED, False, "PendingEvaluation")
        self.say(cluster, BLOCKED_ON_PREEMPTION_GATES, False, reason)
        if cluster.copy is not None and cluster.copy.gate == "Open":
            self.change_copy(cluster, gate="Closed")
        if cluster.job is not None and not cluster.job.suspended:
            self.change_job(cluster, suspended=True)

    def work(self, cluster: Cluster) -> None:
        """The quota controller and the jobs controller of the cluster do what follows there."""
        copy, job = cluster.copy, cluster.job
        if copy is not None and copy.is_true(DEACTIVATION_TARGET) and not copy.is_true(EVICTED):
            self.change_copy(cluster, active=False)
            self.evict_there(cluster, "DeactivatedDueToEvictedOnManagerCluster")
        runs = copy is not None and not copy.is_true(EVICTED) and copy.is_true(ADMITTED)
        ended = copy is not None and copy.is_true(FINISHED)
        if job is not None and not ended and job.suspended == runs:
            self.change_job(cluster, suspended=not runs, status=JobStatus(active=1 if runs else 0))

    def finish(self, cluster: Cluster) -> None:
        """The Job there has ended."""
        end = Condition("Complete", "True", "Done", "", self.time)
        self.change_job(cluster, status=JobStatus(active=0, conditions=[end]))
        self.say(cluster, FINISHED, True, "Succeeded", "Job finished successfully")

    def every(self, do: Callable[[Cluster], None]) -> None:
        """Do it in every cluster that can be reached."""
        for cluster in self.clusters.values():
            if cluster.reach == "Connected":
                do(cluster)

"""A worker cluster in memory: what is true there of one Workload, and what the manager has seen of it.

Its controllers behave as Kueue's do with a copy and its Job (docs/kueue-differences.md names the others).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from api.jobs import JobStatus
from api.meta import Condition
from api.times import rfc3339
from api.workloads import (
    ADMITTED,
    BLOCKED_ON_PREEMPTION_GATES,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
)
from controllers.multikueue.life.seen import ClusterSeen, Copy, Cost, Mark, Reach, RemoteJob, Said

__all__ = ["DIGEST", "MANAGER", "OTHER_MANAGER", "SECOND", "Cluster", "Ground"]

SECOND: Final = 1_000_000
MANAGER: Final = "manager-uid"
OTHER_MANAGER: Final = "another-manager"
DIGEST: Final = b"spec"


@dataclass
class Ground:
    """What all clusters share: the manager's clock, and versions that are never used twice."""

    now: int = 1_700_000_000 * SECOND
    versions: int = 0

    def version(self) -> str:
        """Another one each time."""
        self.versions += 1
        return str(self.versions)

    @property
    def time(self) -> str:
        """Now, as objects have it."""
        return rfc3339(self.now / SECOND)


@dataclass
class Cluster:
    """One worker cluster."""

    name: str
    ground: Ground
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
    open_gates: int = 0
    last_opened: int = 0
    refuses: str = ""
    """Why no copy can be made there."""
    refuses_job: bool = False
    lingers: bool = False
    """What is deleted there keeps a finalizer until the cluster works."""
    is_unheard: bool = False
    """The manager's watch of Jobs there is lost without a sign. Only answers say what a Job is."""
    excused: bool = False
    """It was lost while its gate was open, or its Job ran: until that ends, it is not counted."""

    def sync(self) -> None:
        """The watch of the manager brings everything."""
        if self.reach == "Connected":
            self.seen_copy = self.copy
            if not self.is_unheard:
                self.seen_job = self.job

    @property
    def gate_is_open(self) -> bool:
        """Whether the cluster may preempt for a copy of this manager, in truth."""
        copy = self.copy
        if copy is None or copy.is_deleting or self.has_foreign_copy:
            return False
        if copy.is_true(QUOTA_RESERVED) or copy.is_true(FINISHED) or not copy.active:
            return False
        return copy.gate == "Open" if self.honours_gates and copy.has_gate else True

    @property
    def job_runs(self) -> bool:
        """Whether pods may be started, in truth."""
        job = self.job
        if job is None or self.has_foreign_job:
            return False
        ended = any(each.type == "Complete" for each in job.status.conditions or ())
        return not (job.suspended or job.is_deleting or ended)

    @property
    def has_pods(self) -> bool:
        """Whether pods of this manager's Workload are active there, in truth."""
        return self.job is not None and not self.has_foreign_job and self.job.runs

    @property
    def has_foreign_copy(self) -> bool:
        """Whether the copy there is another manager's."""
        return self.copy is not None and _is_foreign(self.copy.mark)

    @property
    def has_foreign_job(self) -> bool:
        """Whether the Job there is another manager's."""
        return self.job is not None and _is_foreign(self.job.mark)

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
            self.open_gates,
            self.last_opened,
        )

    # ---- things come

    def put_copy(self, mark: Mark | None, **fields: Any) -> None:
        """A copy of this mark is there."""
        self.cost = None
        given = {"digest": DIGEST, "has_gate": True, "gate": "Closed", **fields}
        uid, version = f"copy-{self.ground.version()}", self.ground.version()
        self.copy = Copy(namespace="team", name="train", uid=uid, version=version, mark=mark, **given)

    def put_job(self, mark: Mark | None, **fields: Any) -> None:
        """A suspended Job of this mark is there."""
        uid, version = f"job-{self.ground.version()}", self.ground.version()
        self.job = RemoteJob(
            namespace="team", name="train", uid=uid, version=version, mark=mark, workload="train", **fields
        )

    def delete_copy(self) -> None:
        """Somebody deletes the copy."""
        self.cost = None
        if self.copy is not None and self.lingers:
            self.change_copy(is_deleting=True)
        else:
            self.copy = None

    def delete_job(self) -> None:
        """Somebody deletes the Job."""
        if self.job is not None and self.lingers:
            self.change_job(is_deleting=True)
        else:
            self.job = None

    # ---- somebody writes

    def change_copy(self, **changes: Any) -> None:
        """Somebody writes the copy."""
        assert self.copy is not None
        self.copy = msgspec.structs.replace(self.copy, version=self.ground.version(), **changes)

    def change_job(self, **changes: Any) -> None:
        """Somebody writes the Job there."""
        assert self.job is not None
        self.job = msgspec.structs.replace(self.job, version=self.ground.version(), **changes)

    def say(self, kind: str, status: bool, reason: str, message: str = "") -> None:
        """The copy gets a condition."""
        assert self.copy is not None
        said: Mapping[str, Said] = {
            **self.copy.conditions,
            kind: Said(status, reason, message, self.ground.now),
        }
        self.change_copy(conditions=said)

    # ---- its quota controller

    @property
    def waits(self) -> bool:
        """Whether its copy waits for quota, and may get it."""
        copy = self.copy
        if copy is None or copy.is_deleting or not copy.active:
            return False
        return not any(copy.is_true(kind) for kind in (QUOTA_RESERVED, EVICTED, FINISHED))

    def gated(self, cost: Cost | None = None) -> None:
        """It would preempt for its copy, and waits for the gate. It says so as Kueue does."""
        self.say(QUOTA_RESERVED, False, "PendingEvaluation")
        self.say(BLOCKED_ON_PREEMPTION_GATES, True, "PreemptionGated")
        self.cost = cost._replace(seen=self.ground.now) if cost is not None else None

    def cannot(self) -> None:
        """Nobody can be preempted for it any longer. BlockedOnPreemptionGates stays as it is (as Kueue's)."""
        self.say(QUOTA_RESERVED, False, "Pending", f"insufficient quota, {self.ground.versions} tries")

    def reserve(self) -> None:
        """The copy gets quota, and waits for the cluster's own checks."""
        self.say(QUOTA_RESERVED, True, "QuotaReserved")
        self.say(BLOCKED_ON_PREEMPTION_GATES, False, "QuotaReserved")
        self.cost = None

    def admit(self) -> None:
        """It admits its copy."""
        self.reserve()
        self.say(ADMITTED, True, "Admitted")

    def evict(self, reason: str = "Preempted") -> None:
        """It evicts its copy: gates close, its Job stops. A copy without a Job keeps its quota (as Kueue's)."""
        self.say(EVICTED, True, reason)
        self.say(ADMITTED, False, "NoReservation")
        if self.job is not None:
            self.say(QUOTA_RESERVED, False, "PendingEvaluation")
        self.say(BLOCKED_ON_PREEMPTION_GATES, False, reason)
        if self.copy is not None and self.copy.gate == "Open":
            self.change_copy(gate="Closed")
        if self.job is not None and not self.job.suspended:
            self.change_job(suspended=True)

    def work(self) -> None:
        """Its quota controller and its jobs controller do what follows there."""
        if self.copy is not None and self.copy.is_deleting:
            self.copy = None
        if self.job is not None and self.job.is_deleting:
            self.job = None
        copy, job = self.copy, self.job
        if copy is not None and copy.is_true(DEACTIVATION_TARGET) and not copy.is_true(EVICTED):
            self.change_copy(active=False)
            self.evict("DeactivatedDueToEvictedOnManagerCluster")
            copy, job = self.copy, self.job
        if job is None or self.has_foreign_job or (copy is not None and copy.is_true(FINISHED)):
            return
        runs = copy is not None and not copy.is_true(EVICTED) and copy.is_true(ADMITTED)
        if copy is None:  # nobody stops a Job whose Workload has gone
            runs = not job.suspended
        active = 1 if runs else 0
        if (job.suspended, job.status.active or 0) != (not runs, active):
            self.change_job(suspended=not runs, status=JobStatus(active=active))

    def finish(self) -> None:
        """The Job there has ended."""
        end = Condition("Complete", "True", "Done", "", self.ground.time)
        self.change_job(status=JobStatus(active=0, conditions=[end]))
        self.say(FINISHED, True, "Succeeded", "Job finished successfully")


def _is_foreign(mark: Mark | None) -> bool:
    return mark is not None and mark.manager != MANAGER

"""The life of a Job whose pods run in another cluster, against a model of its manager, of that cluster, and of a user.

Whatever its status shows: no quota is given back because of it, none is free for pods that still run there, its
template stays, and an API server takes every write.
"""

from __future__ import annotations

from copy import deepcopy

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from controllers.jobs.batch.life import (
    Around,
    ChangeWorkload,
    CreateWorkload,
    DeleteWorkload,
    PatchJob,
    ResetStartTime,
    Step,
    UnprotectWorkload,
    next_step,
)
from controllers.jobs.batch.workload_of import wish_of
from controllers.jobs.owned_workload import Classes
from controllers.multikueue.kinds.job_status import mirrored_status, status_patch
from runtime.exchange.workload_reports import NOTHING, Reported
from tests.kit.examples import examples
from tests.kit.job_status import ended, refusals
from tests.kit.jobs import Json, condition, job, merge, read_job, read_workload

GATE = "kueue.x-k8s.io/multikueue"
QUEUE = "kueue.x-k8s.io/queue-name"
PARALLELISM, COMPLETIONS = 2, 4
REST = 30


class DispatchedJobLife(RuleBasedStateMachine):
    """One Job, and the cluster that has it now."""

    def __init__(self) -> None:
        super().__init__()
        self.job: Json = job(managedBy=GATE, completions=COMPLETIONS)
        self.job["status"] = {}
        self.template = deepcopy(self.job["spec"]["template"])
        self.workload: Json | None = None
        self.reported: Reported = NOTHING
        self.done, self.pods = 0, 0
        """In the present attempt: pods that have succeeded there, and pods that run there."""
        self.is_lost = False
        self.seconds = 0

    @initialize(indexed=st.booleans())
    def begin(self, indexed: bool) -> None:
        self.job["spec"]["completionMode"] = "Indexed" if indexed else "NonIndexed"

    def now(self) -> str:
        self.seconds += 1
        return f"2026-01-01T00:{self.seconds // 60:02}:{self.seconds % 60:02}Z"

    # ---- reprieve

    def next(self) -> Step:
        read = read_job(self.job)
        workload = read_workload(self.workload) if self.workload is not None else None
        return next_step(
            read, workload, Around(wish_of(read, Classes({}, {})), may_run_elsewhere=self.may_run())
        )

    @rule()
    def act(self) -> None:
        self.look()

    def look(self) -> bool:
        """Returns whether anything has changed."""
        step, before = self.next(), deepcopy((self.job, self.workload))
        self.reported = step.reported
        match step.write:
            case PatchJob(what, patch):
                assert what in ("start", "stop")
                self.job = merge(self.job, patch)
            case ResetStartTime():
                self.write({"startTime": None})
            case CreateWorkload(body):
                assert self.workload is None
                self.workload = deepcopy({**body, "status": {}})
                self.workload["metadata"] |= {"uid": "w", "resourceVersion": "1"}
            case ChangeWorkload(patch):
                assert not self.is_true("QuotaReserved")
                assert self.workload is not None
                self.workload = merge(self.workload, patch)
            case DeleteWorkload():
                self.delete()
            case UnprotectWorkload():
                assert self.is_lost or not self.pods or ended(self.job["status"]), "pods run without quota"
                self.workload, self.pods = None, 0
            case _:
                assert step.write is None
        return (self.job, self.workload) != before

    def write(self, patch: Json) -> None:
        """The API server checks what is written to the Job's status."""
        status = merge(self.job["status"], patch)
        assert not list(refusals(self.job, status))
        self.job["status"] = status

    # ---- the manager

    def may_run(self) -> bool:
        """What it reports: a lost cluster counts as empty."""
        return bool(self.workload and self.workload["status"].get("clusterName")) and not (
            self.is_lost or self.pods == 0
        )

    @rule()
    def mirror(self) -> None:
        if self.workload is None or self.is_lost:
            return
        remote = self.remote() if self.workload["status"].get("clusterName") else None
        status = mirrored_status(self.job, remote)
        if status is not None:
            self.write(status_patch(self.job, status))

    @precondition(lambda self: self.workload is not None and not self.is_true("QuotaReserved"))
    @rule()
    def a_cluster_gets_it(self) -> None:
        assert self.workload is not None
        if "deletionTimestamp" in self.workload["metadata"] or self.is_true("Finished"):
            return
        self.workload["status"] |= {"clusterName": "a", "admission": {"clusterQueue": "q"}}
        self.say(QuotaReserved="True", Admitted="True", Evicted="False")
        self.done, self.pods, self.is_lost, self.start, self.failed = 0, 0, False, self.now(), 0

    @precondition(lambda self: self.is_true("Evicted") and self.is_true("QuotaReserved"))
    @rule()
    def nothing_runs_there(self) -> None:
        """It is evicted there, or its cluster counts as lost. Then the quota controller gives its quota back."""
        self.pods = 0
        self.carry_out()

    def carry_out(self) -> bool:
        """What the quota controller does."""
        if self.workload is None or self.is_true("Finished"):
            return False
        before, status = deepcopy(self.workload), self.workload["status"]
        if self.reported.finished is not None:
            self.say(Finished="True")
        elif self.is_true("Evicted") and self.is_true("QuotaReserved") and not self.may_run():
            for name in ("clusterName", "admission"):
                status.pop(name, None)
            self.say(QuotaReserved="False", Admitted="False")
        elif self.reported.reclaimable is not None:
            counts = {each["name"]: each["count"] for each in status.get("reclaimablePods", [])}
            after = dict(self.reported.reclaimable)
            if self.is_true("QuotaReserved"):
                after = {name: max(counts.get(name, 0), after.get(name, 0)) for name in counts | after}
            status["reclaimablePods"] = [{"name": name, "count": count} for name, count in after.items()]
        return before != self.workload

    @rule()
    def quota_controller(self) -> None:
        self.carry_out()

    @precondition(lambda self: self.is_true("QuotaReserved"))
    @rule()
    def evict(self) -> None:
        self.say(Evicted="True")

    # ---- the cluster that has it

    def remote(self) -> Json:
        status: Json = {"active": self.pods, "succeeded": self.done, "failed": self.failed}
        if self.pods or self.done:
            status["startTime"] = self.start
        if self.job["spec"]["completionMode"] == "Indexed" and self.done:
            status["completedIndexes"] = ",".join(map(str, range(self.done)))
        if self.done == COMPLETIONS:
            status |= {"completionTime": self.start, "conditions": [condition("Complete")]}
        return status

    @precondition(lambda self: self.is_true("Admitted") and not self.is_true("Evicted") and not self.is_lost)
    @rule(succeed=st.booleans())
    def pods_run_there(self, succeed: bool) -> None:
        """The Job there does not wait for the one here."""
        if succeed and self.pods:
            self.done += 1
        elif self.pods:
            self.failed += 1
        self.pods = min(PARALLELISM, COMPLETIONS - self.done)

    @precondition(lambda self: self.is_true("Admitted"))
    @rule()
    def cluster_is_lost(self) -> None:
        self.is_lost = True
        self.say(Evicted="True")

    # ---- a user

    @rule(suspend=st.booleans())
    def suspend_or_resume(self, suspend: bool) -> None:
        self.job["spec"]["suspend"] = suspend

    @rule(queue=st.sampled_from(("q", "r")))
    def change_queue(self, queue: str) -> None:
        self.job["metadata"]["labels"] = {QUEUE: queue}

    @precondition(lambda self: self.workload is not None)
    @rule()
    def delete(self) -> None:
        assert self.workload is not None
        self.workload["metadata"]["deletionTimestamp"] = self.now()

    # ---- what holds

    def is_true(self, kind: str) -> bool:
        found = self.workload["status"].get("conditions", []) if self.workload is not None else []
        return any(each["type"] == kind and each["status"] == "True" for each in found)

    def say(self, **conditions: str) -> None:
        assert self.workload is not None
        known = {each["type"]: each for each in self.workload["status"].get("conditions", [])}
        known |= {kind: condition(kind, status, "m") for kind, status in conditions.items()}
        self.workload["status"]["conditions"] = list(known.values())

    @invariant()
    def its_status_says_nothing_about_quota(self) -> None:
        reported = self.next().reported
        assert not reported.runs
        if self.workload is not None and self.workload["status"].get("clusterName"):
            assert not reported.nothing_runs

    @invariant()
    def its_template_and_its_numbers_stay(self) -> None:
        spec = self.job["spec"]
        assert spec["template"] == self.template
        assert (spec["parallelism"], spec["completions"]) == (PARALLELISM, COMPLETIONS)

    @invariant()
    def pods_there_have_quota_here(self) -> None:
        if self.workload is None or self.is_lost or not self.is_true("QuotaReserved"):
            return
        gone = sum(each["count"] for each in self.workload["status"].get("reclaimablePods", []))
        assert self.pods <= PARALLELISM - gone, "quota of pods that run is free for others"

    @rule()
    def rest(self) -> None:
        """Nobody does anything new."""
        for _ in range(REST):
            self.mirror()
            if self.is_true("Evicted") or (
                self.workload and "deletionTimestamp" in self.workload["metadata"]
            ):
                self.pods = 0
            if not self.look() and not self.carry_out():
                break
        else:
            raise AssertionError(f"nothing comes to rest: {self.next()}")
        if ended(self.job["status"]):
            assert self.workload is None or self.is_true("Finished")
            return
        assert self.workload is not None
        assert self.workload["spec"]["queueName"] == self.job["metadata"]["labels"][QUEUE]
        runs = self.is_true("Admitted") and not self.is_true("Evicted") and not self.is_true("Finished")
        assert self.job["spec"]["suspend"] is not runs
        assert not self.is_true("Evicted") or not self.is_true("QuotaReserved")


TestDispatchedJobLives = DispatchedJobLife.TestCase
TestDispatchedJobLives.settings = settings(max_examples=examples(200), stateful_step_count=30, deadline=None)

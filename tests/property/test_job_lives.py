"""The life of a Job in a queue, against a model of the Job controller, the quota controller, the API server and a user.

No Job runs for good without quota, quota is given back only when no pod is left, and every template comes back. A Job
that may start with fewer pods never runs more than have quota, and gets all its pods back.
"""

from __future__ import annotations

import os
from copy import deepcopy
from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from api.core import TimedToleration
from api.integration import STARTED_WITH_ANNOTATION
from controllers.jobs.batch.life import (
    Around,
    ChangeWorkload,
    CreateWorkload,
    DeleteWorkload,
    NeedsOriginal,
    PatchJob,
    ResetStartTime,
    Step,
    UnprotectWorkload,
    next_step,
)
from controllers.jobs.batch.workload_of import wish_of
from controllers.jobs.job_state import TemplateParts
from controllers.jobs.owned_workload import Classes
from quota.cycle.pod_set_infos import PodSetInfo
from runtime.exchange.workload_reports import NOTHING, Reported
from tests.kit.examples import examples
from tests.kit.jobs import CLEAN, Json, condition, job, merge, read_job, read_workload

LIVES = int(os.environ.get("REPRIEVE_LIVES", examples(200)))
SPOT = (TimedToleration("spot", "Exists"),)
LEAST = "kueue.x-k8s.io/job-min-parallelism"
FOLLOWS = "kueue.x-k8s.io/job-completions-equal-parallelism"
START = "2026-01-01T00:00:00Z"
QUEUE = "kueue.x-k8s.io/queue-name"
REST = 40
"""Number of rounds after which nothing may move any longer."""


class JobLife(RuleBasedStateMachine):
    """One Job, from its creation until it ends."""

    def __init__(self) -> None:
        super().__init__()
        self.job: Json = job()
        self.workload: Json | None = None
        self.reported: Reported = NOTHING
        self.pods, self.terminating = 0, 0
        self.clears_start_time = False
        self.asked = (2, 6)
        """parallelism and completions that the user has written last."""
        self.webhook = True
        """It is there when users write."""
        self.lost = False
        """What an admission had added to the template is not known any longer."""

    @initialize(
        suspended=st.booleans(),
        clears=st.booleans(),
        least=st.sampled_from((None, None, 1, 2)),
        follows=st.booleans(),
        webhook=st.booleans(),
    )
    def begin(self, suspended: bool, clears: bool, least: int | None, follows: bool, webhook: bool) -> None:
        """`clears`: the Job controller of 1.36 and later clears the start time itself."""
        self.job["spec"] |= {"suspend": suspended, "completions": 6}
        self.job["status"] = {}
        self.clears_start_time, self.webhook = clears, webhook
        if least is not None:
            self.job["metadata"]["annotations"] = {LEAST: str(least)}
            if follows:
                self.job["metadata"]["annotations"][FOLLOWS] = "true"
                self.job["spec"] |= {"completionMode": "Indexed", "parallelism": 6}
                self.asked = (6, 6)

    def has(self, annotation: str) -> bool:
        return annotation in self.job["metadata"].get("annotations", {})

    # ---- reprieve

    def next(self) -> Step:
        read = read_job(self.job)
        workload = read_workload(self.workload) if self.workload is not None else None
        around = Around(wish_of(read, Classes({}, {})), lambda _: [self.info()])
        step = next_step(read, workload, around)
        if isinstance(step.write, NeedsOriginal):
            assert self.workload is not None
            template = self.workload["spec"]["podSets"][0]["template"]
            original = msgspec.convert(template, TemplateParts)
            step = next_step(read, workload, reading(around, original))
        return step

    def info(self) -> PodSetInfo:
        return PodSetInfo("main", self.admitted(), {}, {}, {"kind": "spot"}, SPOT)

    def admitted(self) -> int:
        """The pods that have quota."""
        assert self.workload is not None
        (assignment,) = self.workload["status"]["admission"]["podSetAssignments"]
        count: int = assignment["count"]
        return count

    @rule()
    def act(self) -> None:
        """One look at the Job, and the write that follows."""
        self.look()

    @rule()
    def another_process_leads(self) -> None:
        """The former one has died before its write."""
        self.reported = NOTHING

    @rule()
    def a_write_fails(self) -> None:
        """What is reported holds all the same."""
        self.reported = self.next().reported

    @rule(fewer=st.integers(0, 4))
    def starts(self, fewer: int) -> None:
        """It takes many steps of others, and so would be seldom."""
        self.rest()
        if self.workload is not None and not self.holds() and not self.is_true("Finished"):
            self.admit(fewer)
            self.rest()

    @precondition(lambda self: self.holds())
    @rule()
    def is_evicted_and_gives_its_quota_back(self) -> None:
        """The API server refuses for a while that the Job gets its template back."""
        self.say(Evicted="True")
        for _ in range(3):
            step = self.next()
            self.reported = step.reported
            if isinstance(step.write, PatchJob) and step.write.what == "stop":
                self.write(step.write)
            self.job_controller()
            while self.terminating:
                self.a_pod_is_gone()
        self.carry_out_reports()

    def look(self) -> bool:
        """Returns whether anything has changed."""
        step = self.next()
        self.reported = step.reported
        return self.write(step.write)

    def write(self, write: Any) -> bool:
        before = deepcopy((self.job, self.workload))
        match write:
            case PatchJob(_, patch):
                self.patch_job(patch)
            case ResetStartTime():
                assert self.job["spec"]["suspend"], "the API server refuses it"
                self.job["status"].pop("startTime", None)
            case CreateWorkload(body):
                assert self.workload is None
                self.workload = deepcopy({**body, "status": {}})
                self.workload["metadata"] |= {"uid": "w", "resourceVersion": "1"}
            case ChangeWorkload(patch):
                assert self.workload is not None
                assert not self.holds() or "queueName" not in patch["spec"], "the API server refuses it"
                assert not self.holds() or "podSets" not in patch["spec"], "the webhook refuses it"
                self.workload = merge(self.workload, patch)
            case DeleteWorkload():
                self.delete_workload()
            case UnprotectWorkload():
                assert self.pods == self.terminating == 0, "something runs"
                self.workload = None
            case _:
                assert write is None
        return (self.job, self.workload) != before

    def patch_job(self, patch: Json) -> None:
        """As the API servers of 1.34 and 1.37 do, whichever is stricter."""
        after = without_empty_maps(merge(self.job, patch))
        if after["spec"]["template"] != self.job["spec"]["template"]:
            assert self.job["spec"]["suspend"], "the template of a Job that runs cannot change"
            status = self.job["status"]
            assert "startTime" not in status, "1.34 refuses it"
            assert not status.get("active"), "1.37 refuses it"
            assert self.said("Suspended"), "1.37 refuses it"
        self.check_counts(after["spec"])
        self.job = after

    def check_counts(self, after: Json) -> None:
        """What the API server and the webhook take."""
        before = self.job["spec"]
        if after["parallelism"] != before["parallelism"]:
            assert self.has(LEAST), "nobody asked for that"
            assert before["suspend"], "the webhook refuses it"
        if after["completions"] != before["completions"]:
            assert before.get("completionMode") == "Indexed", "the API server refuses it"
            assert before["completions"] == before["parallelism"], "the API server refuses it"
            assert after["completions"] == after["parallelism"], "the API server refuses it"

    def said(self, kind: str) -> bool:
        return any(
            each["type"] == kind and each["status"] == "True"
            for each in self.job["status"].get("conditions", [])
        )

    # ---- the Job controller

    @rule()
    def job_controller(self) -> None:
        status, spec = self.job["status"], self.job["spec"]
        if self.said("Complete"):
            return
        if spec["suspend"]:
            self.terminating += self.pods
            self.pods = 0
            status["conditions"] = [condition("Suspended")]
            if self.clears_start_time:
                status.pop("startTime", None)
        else:
            status.setdefault("startTime", START)
            status["conditions"] = [condition("Suspended", "False")]
            self.pods = max(0, min(spec["parallelism"], spec["completions"] - status.get("succeeded", 0)))
            if status.get("succeeded", 0) >= spec["completions"]:  # completions were lowered
                status["conditions"] = [condition("Complete")]
        self.count()

    @precondition(lambda self: self.terminating)
    @rule()
    def a_pod_is_gone(self) -> None:
        self.terminating -= 1
        self.count()

    @precondition(lambda self: self.pods)
    @rule()
    def a_pod_succeeds(self) -> None:
        status = self.job["status"]
        self.pods -= 1
        status["succeeded"] = status.get("succeeded", 0) + 1
        status["completedIndexes"] = f"0-{status['succeeded'] - 1}"
        if status["succeeded"] == self.job["spec"]["completions"]:
            status["conditions"] = [condition("Complete")]
        self.count()

    def count(self) -> None:
        self.job["status"] |= {"active": self.pods, "terminating": self.terminating}

    # ---- the quota controller

    def holds(self) -> bool:
        return self.is_true("QuotaReserved")

    def is_true(self, kind: str) -> bool:
        found = self.workload["status"].get("conditions", []) if self.workload is not None else []
        return any(each["type"] == kind and each["status"] == "True" for each in found)

    def say(self, **conditions: str) -> None:
        assert self.workload is not None
        known = {each["type"]: each for each in self.workload["status"].get("conditions", [])}
        known |= {kind: condition(kind, status, "m") for kind, status in conditions.items()}
        self.workload["status"]["conditions"] = list(known.values())

    @precondition(
        lambda self: self.workload is not None and not self.holds() and not self.is_true("Finished")
    )
    @rule(fewer=st.integers(0, 4))
    def admit(self, fewer: int) -> None:
        assert self.workload is not None
        if "deletionTimestamp" in self.workload["metadata"]:
            return
        (pods,) = self.workload["spec"]["podSets"]
        gone = sum(each["count"] for each in self.workload["status"].get("reclaimablePods", []))
        count = max(0, pods["count"] - gone)
        if "minCount" in pods:
            count = max(min(count, pods["minCount"]), count - fewer)
        assignment = {"name": "main", "flavors": {"cpu": "spot"}, "count": count}
        self.workload["status"]["admission"] = {"clusterQueue": "q", "podSetAssignments": [assignment]}
        self.say(QuotaReserved="True", Admitted="True", Evicted="False")

    @precondition(lambda self: self.holds() and not self.is_true("Evicted"))
    @rule()
    def evict(self) -> None:
        self.say(Evicted="True")

    @rule()
    def quota_controller(self) -> None:
        self.carry_out_reports()

    def carry_out_reports(self) -> bool:
        """What the quota controller does about what is reported. Returns whether anything has changed."""
        if self.workload is None or self.is_true("Finished"):
            return False
        before, status = deepcopy(self.workload), self.workload["status"]
        if self.reported.finished is not None:
            self.say(Finished="True")
        elif self.is_true("Evicted") and self.holds() and self.reported.nothing_runs:
            assert self.pods == self.terminating == 0, "quota is given back while pods run"
            status.pop("admission")
            self.say(QuotaReserved="False", Admitted="False")
        elif self.reported.reclaimable is not None:
            counts = {each["name"]: each["count"] for each in status.get("reclaimablePods", [])}
            after = dict(self.reported.reclaimable)
            if self.holds():
                after = {name: max(counts.get(name, 0), after.get(name, 0)) for name in counts | after}
            status["reclaimablePods"] = [{"name": name, "count": count} for name, count in after.items()]
            if not after:
                del status["reclaimablePods"]
        return before != self.workload

    # ---- users

    @rule(parallelism=st.integers(1, 4))
    def scale(self, parallelism: int) -> None:
        spec = self.job["spec"]
        started_with = spec["template"]["metadata"].get("annotations", {}).get(STARTED_WITH_ANNOTATION, "")
        if self.has(LEAST) and not spec["suspend"] and self.webhook:
            return  # the webhook refuses it
        if started_with.startswith(f"{parallelism} of "):
            return  # nobody can see that it is not our number
        both = spec["parallelism"] == spec["completions"] and spec.get("completionMode") == "Indexed"
        completions = parallelism if self.has(FOLLOWS) and both else self.asked[1]
        if spec["completions"] not in (completions, self.asked[1]) and not both:
            return
        spec["parallelism"] = parallelism
        if both and self.has(FOLLOWS):
            spec["completions"] = parallelism
        self.asked = spec["parallelism"], spec["completions"]

    @precondition(lambda self: self.job["spec"]["suspend"] or not self.webhook)
    @rule()
    def completions_follow_no_longer(self) -> None:
        self.job["metadata"].get("annotations", {}).pop(FOLLOWS, None)

    @precondition(lambda self: self.workload is not None)
    @rule()
    def workload_is_lost(self) -> None:
        """Somebody takes its finalizer off, and deletes it."""
        self.workload = None
        self.reported = NOTHING
        self.lost = self.lost or "kind" in self.job["spec"]["template"]["spec"]["nodeSelector"]

    @rule()
    def resume_by_hand(self) -> None:
        self.job["spec"]["suspend"] = False

    @rule(queue=st.sampled_from(["q", "r", ""]))
    def change_queue(self, queue: str) -> None:
        self.job["metadata"]["labels"] = {QUEUE: queue} if queue else {}

    @precondition(lambda self: self.workload is not None)
    @rule()
    def delete_workload(self) -> None:
        assert self.workload is not None
        self.workload["metadata"]["deletionTimestamp"] = START

    # ---- what holds

    @invariant()
    def a_job_that_runs_with_additions_has_quota(self) -> None:
        if self.workload is None and not self.lost:
            assert self.pods == 0 or "kind" not in self.job["spec"]["template"]["spec"]["nodeSelector"]

    @rule()
    def rest(self) -> None:
        """Nobody does anything new: all comes to rest, with pods only where there is quota for them."""
        for _ in range(REST):
            self.job_controller()
            while self.terminating:
                self.a_pod_is_gone()
            if not self.look() and not self.carry_out_reports():
                break
        else:
            raise AssertionError(f"nothing comes to rest: {self.next()}")
        self.job_controller()
        self.judge()

    def judge(self) -> None:
        if self.said("Complete"):
            assert self.workload is None or self.is_true("Finished") or self.is_deleted()
            return
        template = self.job["spec"]["template"]
        assert self.workload is not None, "the Job has no Workload"
        assert self.workload["spec"].get("queueName") == self.job["metadata"]["labels"].get(QUEUE)
        runs = not self.job["spec"]["suspend"]
        assert runs == (
            self.is_true("Admitted") and not self.is_true("Evicted") and not self.is_true("Finished")
        )
        (pods,) = self.workload["spec"]["podSets"]
        gone = sum(each["count"] for each in self.workload["status"].get("reclaimablePods", []))
        if runs:
            assert template["spec"]["nodeSelector"] == {"disk": "ssd", "kind": "spot"}
            assert [each["key"] for each in template["spec"]["tolerations"]] == ["own", "spot"]
            assert self.pods <= pods["count"] - gone
            assert self.pods <= self.admitted()
        else:
            assert self.pods == 0
            assert not self.is_true("Evicted") or not self.holds(), "quota is held for nothing"
            assert self.lost or template == CLEAN, "the Job has its template back"
            spec = self.job["spec"]
            assert (spec["parallelism"], spec["completions"]) == self.asked, "it has its numbers back"

    def is_deleted(self) -> bool:
        return self.workload is None or "deletionTimestamp" in self.workload["metadata"]


def without_empty_maps(body: Json) -> Json:
    """As an API server stores a template."""
    meta = body["spec"]["template"]["metadata"]
    kept = {key: value for key, value in meta.items() if value}
    return merge(body, {"spec": {"template": {"metadata": {key: None for key in meta if key not in kept}}}})


def reading(around: Around, original: TemplateParts) -> Around:
    return Around(around.wish, around.infos, original)


TestJobLives = JobLife.TestCase
TestJobLives.settings = settings(max_examples=LIVES, stateful_step_count=40, deadline=None)

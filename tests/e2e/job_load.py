"""Random load on Jobs in queues: teams that submit, change, resume and delete Jobs, and pods that end."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

from api.integration import STARTED_WITH_ANNOTATION
from hack.controlplane.client import ApiError, Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.following import until_quiet
from tests.e2e.job_sandbox import BATCH, QUEUE_NAME, JobSandbox
from tests.e2e.quota_load import OPTIONS, PASSED
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import REPRIEVE, wait_for

__all__ = ["OPTIONS", "JobLoad"]

QUIET_SECONDS: Final = 3.0
MOST: Final = 15
"""The number of Jobs that stay. Beyond it, one is removed before a new one comes."""
CPUS: Final[Mapping[str, int]] = {"best": 5, "strict": 3, "guest": 1}
"""By ClusterQueue."""
PRIORITIES: Final[Mapping[str, int]] = {"low": 0, "middle": 10, "high": 20}
LEAST: Final = "kueue.x-k8s.io/job-min-parallelism"
FOLLOWS: Final = "kueue.x-k8s.io/job-completions-equal-parallelism"
PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
WIDE: Final = ("ClusterQueue", "ResourceFlavor", "WorkloadPriorityClass")


class JobLoad:
    """Teams. The random numbers decide what they do."""

    def __init__(self, plane: ControlPlane, rng: random.Random) -> None:
        self.rng, self.steps = rng, 0
        self._made = 0
        self._asked: dict[str, int] = {}
        """By Job: the parallelism that its user has written last."""
        self._lost: set[str] = set()
        """Jobs whose Workload was lost: they keep what the flavor had added."""
        self._box = JobSandbox(plane, "stress-jobs")
        self._make_queues()
        self._actions: dict[Callable[[], object], int] = {
            self._create: 12,
            self._end_pods: 12,
            self._delete: 3,
            self._scale: 3,
            self._resume: 2,
            self._change_queue: 2,
            self._change_priority: 2,
            self._delete_workload: 2,
            self._lose_workload: 1,
            self._change_quota: 1,
        }

    def _make_queues(self) -> None:
        box = self._box
        within: Json = {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"}
        box.queue("best", CPUS["best"], cohort="team", preemption=within)
        box.queue("strict", CPUS["strict"], cohort="team", preemption=within, queueingStrategy="StrictFIFO")
        box.queue("guest", CPUS["guest"], cohort="team", preemption=within)
        for name, value in PRIORITIES.items():
            body = {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "value": value}
            box.client.create({**body, "metadata": {"name": box.of(name)}})

    # ---- teams

    def step(self) -> None:
        """One action."""
        self.steps += 1
        (action,) = self.rng.choices(list(self._actions), list(self._actions.values()))
        try:
            action()
        except ApiError as error:
            if error.status not in PASSED:
                raise

    def _create(self) -> None:
        if len(self.jobs()) >= MOST:
            self._delete()
        self._made += 1
        pods, rng = self.rng.choice((1, 1, 2, 3)), self.rng
        more: Any = {"completionMode": "Indexed"} if rng.random() < 0.3 else {}
        completions = pods + rng.choice((0, 1))
        annotations = {}
        if pods > 1 and rng.random() < 0.5:
            annotations[LEAST] = "1"
            if more and rng.random() < 0.7:
                annotations[FOLLOWS], completions = "true", pods
        if rng.random() < 0.5:
            more["suspend"] = True  # its user did, or the webhook
        self._box.job(
            f"j{self._made}",
            rng.choice(list(CPUS)),
            pods,
            labels={PRIORITY_CLASS: self._box.of(rng.choice(list(PRIORITIES)))},
            annotations=annotations,
            completions=completions,
            **more,
        )
        self._asked[f"j{self._made}"] = pods

    def _some(self) -> str | None:
        found = [each["metadata"]["name"] for each in self.jobs()]
        return self.rng.choice(found) if found else None

    def _delete(self) -> None:
        if name := self._some():
            policy = self.rng.choice(("Background", "Foreground"))
            path = f"/apis/{BATCH}/namespaces/{self._box.name}/jobs/{name}"
            self._box.client.request("DELETE", path, {"propagationPolicy": policy})

    def _end_pods(self) -> None:
        running = [each for each in self.jobs() if not each["spec"].get("suspend")]
        if running:
            name = self.rng.choice(running)["metadata"]["name"]
            self._box.end_pods(name, self.rng.choice((1, None)))

    def _scale(self) -> None:
        if name := self._some():
            job, pods = self._box.get_job(name), self.rng.choice((1, 2, 3))
            if _started_with(job)[0] == pods:
                return  # nobody can see that it is not our number
            version = {"resourceVersion": job["metadata"]["resourceVersion"]}
            self._box.patch_job(name, {"metadata": version, "spec": {"parallelism": pods}})
            self._asked[name] = pods

    def _resume(self) -> None:
        if name := self._some():
            self._box.patch_job(name, {"spec": {"suspend": False}})

    def _change_queue(self) -> None:
        if name := self._some():
            self._label(name, QUEUE_NAME, self.rng.choice(list(CPUS)))

    def _change_priority(self) -> None:
        if name := self._some():
            self._label(name, PRIORITY_CLASS, self._box.of(self.rng.choice(list(PRIORITIES))))

    def _label(self, name: str, key: str, value: str) -> None:
        self._box.patch_job(name, {"metadata": {"labels": {key: value}}})

    def _delete_workload(self) -> None:
        if names := self._box.names():
            self._box.client.delete(KUEUE, "Workload", self.rng.choice(names), self._box.name)

    def _lose_workload(self) -> None:
        """Somebody removes it by force."""
        if names := self._box.names():
            name, box = self.rng.choice(names), self._box
            self._lost |= {each["name"] for each in box.get(name)["metadata"].get("ownerReferences", ())}
            box.client.patch(KUEUE, "Workload", name, {"metadata": {"finalizers": None}}, box.name)
            box.client.delete(KUEUE, "Workload", name, box.name)

    def _change_quota(self) -> None:
        name = self.rng.choice(list(CPUS))
        self._set_quota(name, self.rng.choice((1, CPUS[name])))

    def _set_quota(self, name: str, cpus: int) -> None:
        quota = {"name": "cpu", "nominalQuota": cpus}
        flavor = {"name": self._box.flavor, "resources": [quota]}
        groups = [{"coveredResources": ["cpu"], "flavors": [flavor]}]
        self._box.patch_spec("ClusterQueue", self._box.of(name), {"resourceGroups": groups})

    # ---- the end

    def jobs(self) -> list[Json]:
        """All Jobs that have not ended and are not being deleted, in the order of their names."""
        found = self._box.client.list(BATCH, "Job", self._box.name)
        return sorted(
            (each for each in found if not _is_over(each) and "deletionTimestamp" not in each["metadata"]),
            key=lambda each: str(each["metadata"]["name"]),
        )

    def settle(self) -> None:
        """Nothing new happens."""
        for name, cpus in CPUS.items():
            self._set_quota(name, cpus)
        until_quiet(self._look, QUIET_SECONDS)

    def _look(self) -> list[Json]:
        client, space = self._box.client, self._box.name
        return [
            *client.list(BATCH, "Job", space),
            *client.list(KUEUE, "Workload", space),
            *client.list(REPRIEVE, "PreemptionPlan", space),
            *client.list("v1", "Pod", space),
            *client.list("events.k8s.io/v1", "Event", space),
        ]

    def wrong(self) -> list[str]:
        """Jobs that are not as their Workloads say, at rest."""
        return [text for each in self.jobs() for text in self._wrong_of(each)]

    def _wrong_of(self, job: Json) -> list[str]:
        box, name = self._box, job["metadata"]["name"]
        mine = [
            each
            for each in box.client.list(KUEUE, "Workload", box.name)
            if any(
                owner["uid"] == job["metadata"]["uid"]
                for owner in each["metadata"].get("ownerReferences", [])
            )
        ]
        if len(mine) != 1 or "deletionTimestamp" in mine[0]["metadata"]:
            return [f"{name} has {len(mine)} Workloads"]
        conditions = {
            each["type"]: each["status"] for each in mine[0].get("status", {}).get("conditions", [])
        }
        may_run = conditions.get("Admitted") == "True" and conditions.get("Evicted") != "True"
        runs, pods = not job["spec"].get("suspend"), len(box.pods(name))
        wrong = []
        if runs != may_run:
            wrong.append(f"{name} {'runs' if runs else 'does not run'}, and its Workload says {conditions}")
        is_clean = name in self._lost or "nodeSelector" not in job["spec"]["template"]["spec"]
        if not runs and (pods or not is_clean):
            wrong.append(f"{name} is suspended, and has {pods} pods or a node selector")
        (pod_set,) = mine[0]["spec"]["podSets"]
        admission = mine[0].get("status", {}).get("admission") or {}
        most = min(each["count"] for each in [pod_set, *admission.get("podSetAssignments", [])])
        if runs and pods > most:
            wrong.append(f"{name} has {pods} pods, and quota for {most}")
        asks = min(job["spec"]["parallelism"], job["spec"]["completions"])
        if not runs and asks != pod_set["count"]:
            wrong.append(f"{name} asks for {asks} pods, and its Workload for {pod_set['count']}")
        given, asked = _started_with(job)
        had = asked if job["spec"]["parallelism"] == given else job["spec"]["parallelism"]
        if had != self._asked[name]:
            wrong.append(f"{name} has parallelism {had}, and its user has written {self._asked[name]}")
        if mine[0]["spec"].get("queueName") != job["metadata"]["labels"].get(QUEUE_NAME):
            wrong.append(f"{name} and its Workload name different queues")
        return wrong

    def judge(self) -> list[str]:
        """It records nothing itself."""
        return []

    def remove(self) -> None:
        """Delete all, and wait until all is gone."""
        client, box = self._box.client, self._box
        for job in client.list(BATCH, "Job", box.name):
            path = f"/apis/{BATCH}/namespaces/{box.name}/jobs/{job['metadata']['name']}"
            client.request("DELETE", path, {"propagationPolicy": "Background"})
        wait_for(lambda: not client.list(KUEUE, "Workload", box.name), what="Workloads stay")
        for each in client.list(KUEUE, "LocalQueue", box.name):
            client.delete(KUEUE, "LocalQueue", each["metadata"]["name"], box.name)
        for kind in WIDE:
            for each in client.list(KUEUE, kind):
                client.delete(KUEUE, kind, each["metadata"]["name"])
        wait_for(lambda: not [each for kind in WIDE for each in client.list(KUEUE, kind)], what="queues stay")
        client.delete("v1", "Node", box.node)


def _started_with(job: Json) -> tuple[int, int]:
    """The parallelism that the Job was started with, and that it asked for; zeros if its template does not say."""
    kept = job["spec"]["template"]["metadata"].get("annotations", {}).get(STARTED_WITH_ANNOTATION)
    given, asked = map(int, kept.split(" of ")) if kept else (0, 0)
    return given, asked


def _is_over(job: Json) -> bool:
    conditions = job.get("status", {}).get("conditions", [])
    return any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions)

"""Jobs of one test in queues, with nodes on which their pods run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hack.controlplane import objects
from hack.controlplane.client import ApiError, Json
from hack.controlplane.nodes import wait_for_nodes
from hack.controlplane.plane import ControlPlane
from tests.e2e.quota_sandbox import KUEUE, QuotaSandbox
from tests.e2e.support import wait_for

__all__ = ["BATCH", "QUEUE_NAME", "JobSandbox"]

BATCH = "batch/v1"
POOL = "example.com/pool"
QUEUE_NAME = "kueue.x-k8s.io/queue-name"


class JobSandbox(QuotaSandbox):
    """The flavor has one large node, and pods run nowhere else."""

    def __init__(self, plane: ControlPlane, name: str) -> None:
        taint = {"key": POOL, "value": name, "effect": "NoSchedule"}
        tolerated = {"key": POOL, "operator": "Exists", "effect": "NoSchedule"}
        super().__init__(plane, name, {"nodeLabels": {POOL: name}, "tolerations": [tolerated]})
        self.node = f"{self.name}-node"
        self.client.create(objects.node(self.node, cpu="64", labels={POOL: name}, taints=[taint]))
        wait_for_nodes(self.client, self.node)

    def job(
        self,
        name: str,
        queue: str,
        pods: int = 1,
        *,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        template_labels: Mapping[str, str] | None = None,
        template_annotations: Mapping[str, str] | None = None,
        finalizers: bool = False,
        pod: Json | None = None,
        **spec: Any,
    ) -> str:
        """Create a Job whose pods ask for one CPU each. Its user does not suspend it. Returns its name."""
        body = objects.pod("template", restartPolicy="Never", **(pod or {}))["spec"]
        meta: Json = {
            "name": name,
            "namespace": self.name,
            "labels": {**({QUEUE_NAME: queue} if queue else {}), **(labels or {})},
            "annotations": dict(annotations or {}),
        }
        template_meta: Json = {
            "labels": dict(template_labels or {}),
            "annotations": dict(template_annotations or {}),
        }
        if finalizers:
            template_meta["finalizers"] = ["example.com/keeps"]
        content = {
            "parallelism": pods,
            "completions": pods,
            "template": {"metadata": template_meta, "spec": body},
            **spec,
        }
        self.client.create({"apiVersion": BATCH, "kind": "Job", "metadata": meta, "spec": content})
        return name

    # ---- what is seen

    def get_job(self, name: str) -> Json:
        return self.client.get(BATCH, "Job", name, self.name)

    def workload_of(self, job: str) -> str:
        """The name of the Job's Workload, once there is one that is not being deleted."""
        return wait_for(lambda: self._find(job), what=lambda: f"{job} has no Workload: {self.told(job)}")

    def _find(self, job: str) -> str | None:
        uid = self.get_job(job)["metadata"]["uid"]
        found = [
            each["metadata"]["name"]
            for each in self.client.list(KUEUE, "Workload", self.name)
            if "deletionTimestamp" not in each["metadata"]
            and any(owner["uid"] == uid for owner in each["metadata"].get("ownerReferences", []))
        ]
        return found[0] if found else None

    def pods(self, job: str) -> list[Json]:
        """Pods of the Job that have not ended."""
        return [
            each
            for each in self.client.list("v1", "Pod", self.name)
            if each["metadata"].get("labels", {}).get("job-name") == job
            and each["status"]["phase"] not in ("Succeeded", "Failed")
        ]

    def until_running(self, job: str, count: int) -> list[Json]:
        """`count` pods of the Job run, all where the flavor has its nodes."""

        def look() -> list[Json] | None:
            found = self.pods(job)
            running = [each for each in found if each["status"]["phase"] == "Running"]
            return running if len(running) == len(found) == count else None

        pods = wait_for(look, what=lambda: f"{job} does not run with {count} pods: {self.told(job)}")
        assert {each["spec"]["nodeName"] for each in pods} == {self.node}
        return pods

    def until_stopped(self, job: str) -> Json:
        """The Job is suspended, no pod of it is left, and it has the template of its user."""

        def look() -> Json | None:
            found = self.get_job(job)
            template = found["spec"]["template"]
            is_clean = (
                "nodeSelector" not in template["spec"]
                and "tolerations" not in template["spec"]
                and "annotations" not in template["metadata"]
            )
            return found if found["spec"]["suspend"] and not self.pods(job) and is_clean else None

        return wait_for(look, what=lambda: f"{job} is not stopped: {self.told(job)}")

    def until_event(self, job: str, reason: str, text: str = "") -> None:
        """There is such an event about the Job."""
        wait_for(
            lambda: any(each["reason"] == reason and text in each["note"] for each in self._events(job)),
            what=lambda: f"no event {reason} {text}: {self.told(job)}",
        )

    def _events(self, job: str) -> list[Json]:
        found = self.client.list("events.k8s.io/v1", "Event", self.name)
        return [each for each in found if each["regarding"].get("name") == job]

    def told(self, job: str) -> str:
        """All that is known of the Job."""
        try:
            body = self.get_job(job)
        except ApiError as error:
            return str(error)
        events = [(each["reason"], each["note"]) for each in self._events(job)]
        pods = [(each["metadata"]["name"], each["status"]["phase"]) for each in self.pods(job)]
        return f"{body['spec']} {body['status']} {pods} {events} {self.report()}"

    # ---- what others do

    def patch_job(self, name: str, patch: Json, subresource: str | None = None) -> None:
        self.client.patch(BATCH, "Job", name, patch, self.name, *([subresource] if subresource else []))

    def end_pods(self, job: str, count: int | None = None, phase: str = "Succeeded") -> None:
        """End `count` pods of the Job, or all (None), among those that have a node."""
        for pod in [each for each in self.pods(job) if each["spec"].get("nodeName")][:count]:
            self.client.patch(
                "v1", "Pod", pod["metadata"]["name"], {"status": {"phase": phase}}, self.name, "status"
            )

"""Kueue's manager of several clusters, played by its writes to a worker (Kueue at ff69552e, pkg/controller/
admissionchecks/multikueue and pkg/workload). Its decisions are the test's."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from api.kueue import RESOURCE_IN_USE
from api.multikueue import (
    EVICTED_ON_MANAGER,
    MANAGER_NAMESPACE,
    MULTIKUEUE_GATE,
    ORIGIN_LABEL,
    PREBUILT_WORKLOAD_ANNOTATION,
)
from api.times import rfc3339
from hack.controlplane import objects
from hack.controlplane.client import ApiError, Client, Json, path_of
from hack.controlplane.fleet import Fleet
from tests.e2e.job_sandbox import BATCH
from tests.e2e.quota_sandbox import KUEUE

__all__ = ["KueueManager", "apply_status", "known_status", "template_of"]

RBAC: Final = "rbac.authorization.k8s.io/v1"
APPLY: Final = "application/apply-patch+yaml"
ADMISSION_MANAGER: Final = "kueue-admission"
ORIGIN: Final = "multikueue"
QUEUE: Final = "kueue.x-k8s.io/queue-name"
STATUS: Final = (
    "conditions",
    "admission",
    "requeueState",
    "reclaimablePods",
    "admissionChecks",
    "resourceRequests",
    "accumulatedPastExecutionTimeSeconds",
    "schedulingStats",
    "nominatedClusterNames",
    "clusterName",
    "unhealthyNodes",
    "preemptionGates",
)
"""The fields of a Workload's status that Kueue knows. It decodes no other, so its PUT removes all others."""
APPLIED: Final = (
    "admission",
    "requeueState",
    "schedulingStats",
    "clusterName",
    "preemptionGates",
    "admissionChecks",
)
"""What its applies have, beside conditions."""
ADDED: Final = ("controller-uid", "job-name")
"""Labels of the Job controller, with and without their prefix."""
MANAGED: Final = (
    "QuotaReserved",
    "Admitted",
    "Evicted",
    "Preempted",
    "Requeued",
    "DeactivationTarget",
    "BlockedOnPreemptionGates",
)
"""The conditions that its applies have."""


ACCOUNT: Final = "kueue"
"""The ServiceAccount of Kueue's manager."""
USER: Final = f"system:serviceaccount:{MANAGER_NAMESPACE}:{ACCOUNT}"
RIGHTS: Final[tuple[tuple[str, str, tuple[str, ...]], ...]] = (
    (
        "kueue.x-k8s.io",
        "workloads",
        ("get", "list", "watch", "create", "update", "patch", "delete"),
    ),
    ("kueue.x-k8s.io", "workloads/status", ("get", "update", "patch")),
    ("batch", "jobs", ("get", "list", "watch", "create", "update", "patch", "delete")),
    ("batch", "jobs/status", ("get",)),
    ("", "pods", ("get", "list", "watch")),
)
"""By API group and resource: what Kueue's documentation has an administrator give it in a worker cluster."""


def _give_rights(worker: Client) -> None:
    name = {"metadata": {"name": "kueue-manager"}}
    rules = [
        {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
        for group, resource, verbs in RIGHTS
    ]
    worker.apply({"apiVersion": RBAC, "kind": "ClusterRole", **name, "rules": rules})
    binding = {
        "roleRef": {"apiGroup": RBAC.partition("/")[0], "kind": "ClusterRole", "name": "kueue-manager"},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": MANAGER_NAMESPACE}],
    }
    worker.apply({"apiVersion": RBAC, "kind": "ClusterRoleBinding", **name, **binding})


class KueueManager:
    """It writes as an account of its own beside our manager's, to one namespace. The policies take it for a manager."""

    def __init__(self, fleet: Fleet, worker: str, namespace: str) -> None:
        admin = fleet.workers[worker].client
        _give_rights(admin)
        self.client = admin.impersonating(
            f"system:serviceaccount:{MANAGER_NAMESPACE}:{ACCOUNT}", "system:serviceaccounts"
        )
        self.namespace = namespace

    def close(self) -> None:
        """End its connections."""
        self.client.close()

    # ---- copies

    def copy(
        self,
        name: str,
        *,
        pods: int = 1,
        queue: str = "q",
        priority: int = 0,
        priority_class: str = "",
        gated: bool = True,
        template: Json | None = None,
        **spec: Any,
    ) -> Json:
        """POST a copy of a Workload of the manager: without our mark, finalizers, owners and status. Returns what the
        API server answers."""
        content: Json = {
            "queueName": queue,
            "priority": priority,
            "podSets": [{"name": "main", "count": pods, "template": self._defaulted(template)}],
            "active": True,
            **spec,
        }
        if priority_class:
            ref = {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": priority_class}
            content["priorityClassRef"] = ref
        if gated:
            content["preemptionGates"] = [{"name": MULTIKUEUE_GATE}]
        meta = {"name": name, "namespace": self.namespace, "labels": {ORIGIN_LABEL: ORIGIN}}
        return self.client.create(
            {"apiVersion": KUEUE, "kind": "Workload", "metadata": meta, "spec": content}
        )

    def job(
        self, name: str, workload: str, *, pods: int = 1, template: Json | None = None, **spec: Any
    ) -> Json:
        """POST a copy of the manager's Job. Only the annotation names its Workload."""
        meta = {
            "name": name,
            "namespace": self.namespace,
            "labels": {ORIGIN_LABEL: ORIGIN, QUEUE: "q"},
            "annotations": {PREBUILT_WORKLOAD_ANNOTATION: workload},
        }
        content = {
            "parallelism": pods,
            "completions": pods,
            "suspend": True,
            "template": template or template_of(),
            **spec,
        }
        return self.client.create({"apiVersion": BATCH, "kind": "Job", "metadata": meta, "spec": content})

    def _defaulted(self, template: Json | None) -> Json:
        """The template as the manager's API server has it in its Job: with all defaults, and without what the Job
        controller adds."""
        meta = {"name": "asked", "namespace": self.namespace}
        spec = {"suspend": True, "template": template or template_of()}
        body = {"apiVersion": BATCH, "kind": "Job", "metadata": meta, "spec": spec}
        path = f"{path_of(BATCH, 'Job', self.namespace)}?dryRun=All"
        made: Json = self.client.request("POST", path, body)["spec"]["template"]
        labels = made["metadata"].get("labels") or {}
        kept = {key: value for key, value in labels.items() if key.rpartition("/")[2] not in ADDED}
        return {"metadata": {"labels": kept} if kept else {}, "spec": made["spec"]}

    def get(self, name: str) -> Json:
        """A copy."""
        return self.client.get(KUEUE, "Workload", name, self.namespace)

    def remove(self, workload: str, job: str = "") -> None:
        """The Job goes first, in the background. Then the finalizer of the copy is taken off by PUT, and the copy is
        deleted. A copy that its Job owns may be gone before that."""
        if job:
            self.client.delete(BATCH, "Job", job, self.namespace)
        try:
            self._release(workload)
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
        self.client.delete(KUEUE, "Workload", workload, self.namespace)

    def _release(self, workload: str) -> None:
        """Take the finalizer off. Raises ApiError if there is no such copy."""
        for _ in self._attempts():
            body = self.get(workload)
            finalizers = body["metadata"].get("finalizers") or []
            body["metadata"]["finalizers"] = [each for each in finalizers if each != RESOURCE_IN_USE]
            if self._put(body):
                break

    # ---- writes of what is there

    def set_gate(self, name: str, position: str, at: str = "") -> Json:
        """PUT of the whole status, with the gate and nothing that Kueue does not know. `at`: its time if not now."""
        for _ in self._attempts():
            body = self.get(name)
            gates = body.get("status", {}).get("preemptionGates") or ()
            others = [each for each in gates if each["name"] != MULTIKUEUE_GATE]
            state = {
                "name": MULTIKUEUE_GATE,
                "position": position,
                "lastTransitionTime": at or rfc3339(time.time()),
            }
            body["status"] = {**known_status(body), "preemptionGates": [*others, state]}
            if answer := self._put(body, "/status"):
                return answer
        raise TimeoutError(f"{name} changes all the time")

    def put_status(self, name: str) -> Json:
        """PUT of the whole status as it is."""
        for _ in self._attempts():
            body = self.get(name)
            body["status"] = known_status(body)
            if answer := self._put(body, "/status"):
                return answer
        raise TimeoutError(f"{name} changes all the time")

    def set_priority(self, name: str, priority: int) -> Json:
        """PUT of the object: the manager's spec, with the copy's own gates."""
        for _ in self._attempts():
            body = self.get(name)
            body["spec"]["priority"] = priority
            if answer := self._put(body):
                return answer
        raise TimeoutError(f"{name} changes all the time")

    def deactivate(self, name: str, message: str = "Preempted to accommodate a workload") -> None:
        """The local Workload was evicted: the condition DeactivationTarget, by an apply with all that the copy has."""
        condition = {
            "type": "DeactivationTarget",
            "status": "True",
            "reason": EVICTED_ON_MANAGER,
            "message": f"Evicted on manager: {message}",
            "lastTransitionTime": rfc3339(time.time()),
        }
        for _ in self._attempts():
            try:
                apply_status(self.client, self.get(name), condition)
            except ApiError as error:
                if error.status != 409:
                    raise
            else:
                return

    # ----

    def _path(self, name: str) -> str:
        return path_of(KUEUE, "Workload", self.namespace, name)

    def _put(self, body: Json, subresource: str = "") -> Json | None:
        """PUT on condition of the version that was read; None if there is another one."""
        try:
            return self.client.request("PUT", f"{self._path(body['metadata']['name'])}{subresource}", body)
        except ApiError as error:
            if error.status != 409:
                raise
            return None

    @staticmethod
    def _attempts() -> range:
        return range(50)


def apply_status(client: Client, seen: Json, *conditions: Json, versioned: bool = True) -> Json:
    """Apply what the writer's cache has (`seen`), with these conditions in place of its own. Without the version, it is
    written whatever has come meanwhile, as Kueue's scheduler does."""
    status = {key: seen["status"][key] for key in APPLIED if key in seen.get("status", {})}
    types = {each["type"] for each in conditions}
    kept = [
        each
        for each in seen.get("status", {}).get("conditions") or ()
        if each["type"] in MANAGED and each["type"] not in types
    ]
    meta = {"name": seen["metadata"]["name"], "namespace": seen["metadata"]["namespace"]}
    if versioned:
        meta["resourceVersion"] = seen["metadata"]["resourceVersion"]
    status["conditions"] = [*kept, *conditions]
    body = {"apiVersion": KUEUE, "kind": "Workload", "metadata": meta, "status": copy.deepcopy(status)}
    path = f"{path_of(KUEUE, 'Workload', meta['namespace'], meta['name'])}/status"
    return client.request("PATCH", f"{path}?fieldManager={ADMISSION_MANAGER}&force=true", body, APPLY)


def known_status(body: Json) -> Json:
    """The status as Kueue decodes it."""
    return {key: value for key, value in body.get("status", {}).items() if key in STATUS}


def template_of(cpu: str = "1", labels: Mapping[str, str] | None = None, **pod: Any) -> Json:
    """A pod template."""
    spec = objects.pod("template", cpu=cpu, restartPolicy="Never", **pod)["spec"]
    return {"metadata": {"labels": dict(labels or {})}, "spec": spec}

"""A small quota controller that behaves towards a manager as Kueue's does in a worker cluster (Kueue at ff69552e).

It knows one resource (`cpu`), one flavor, and preemption of lower priorities in the same ClusterQueue. It looks at
everything again and again, so it needs no cache: `stale` makes its scheduler write what it saw one look earlier.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Final

from api.kueue import RESOURCE_IN_USE
from api.multikueue import EVICTED_ON_MANAGER
from hack.controlplane.client import ApiError, Client, Json, path_of
from tests.e2e.job_sandbox import BATCH
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import condition
from tests.multicluster.kueue_objects import (
    condition_now,
    cpus_of,
    end_of,
    find,
    gate_states,
    gates_of,
    holds,
    is_idle,
    missing_gates,
    name_of,
    namespace_of,
    now,
    pods_of,
    prebuilt_of,
    priority_of,
    quota_of,
    user_of,
)

__all__ = ["KueueWorker"]

APPLY: Final = "application/apply-patch+yaml"
LOOK_SECONDS: Final = 0.1
JOB_UID: Final = "kueue.x-k8s.io/job-uid"
ORPHANED_CODES: Final = (404, 409, 422)
"""What changed or went meanwhile is looked at again."""
PENDING: Final = "PendingEvaluation"
CLEARED: Final = "AdmissionGatedBy cleared, waiting for quota reservation"


class KueueWorker:
    """It works in a thread inside the context."""

    def __init__(self, client: Client, *, honours_gates: bool = True, stale: bool = False) -> None:
        """`honours_gates`: its feature gate MultiKueueOrchestratedPreemption."""
        self._client, self._honours_gates, self._stale = client, honours_gates, stale
        self._before: dict[str, Json] = {}
        """By UID: each Workload as it was one look ago."""
        self._end, self._looking = threading.Event(), threading.Lock()
        self._thread = threading.Thread(target=self._run, name="Kueue's worker", daemon=True)
        self.errors: list[str] = []
        """What the API server refused, but for conflicts."""

    def __enter__(self) -> KueueWorker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, it looks at nothing."""
        with self._looking:
            yield

    def _run(self) -> None:
        while not self._end.wait(LOOK_SECONDS):
            with self._looking:
                self.look()

    def look(self) -> None:
        """One look at everything."""
        workloads = self._client.list(KUEUE, "Workload")
        jobs = [each for each in self._client.list(BATCH, "Job") if prebuilt_of(each)]
        for job in jobs:
            with self._tolerant():
                self._look_at_job(job, find(workloads, job["metadata"]["namespace"], prebuilt_of(job)))
        for workload in workloads:
            with self._tolerant():
                self._look_at(workload, user_of(jobs, workload))
        self._schedule()
        self._before = {each["metadata"]["uid"]: each for each in workloads}

    @contextlib.contextmanager
    def _tolerant(self) -> Iterator[None]:
        try:
            yield
        except ApiError as error:
            if error.status not in ORPHANED_CODES:
                self.errors.append(str(error))

    # ---- the controller of Workloads

    def _look_at(self, body: Json, job: Json | None) -> None:
        """The first step that is due; what follows comes with the next look."""
        if self._honours_gates and (missing := missing_gates(body)):
            self._put_status(body, preemptionGates=[*gates_of(body), *missing])
        elif "deletionTimestamp" in body["metadata"]:
            self._let_go(body, job)
        elif holds(body, "Finished"):
            self._take_off_finalizer(body)
        elif job is not None and (end := end_of(job)):
            succeeded = end["type"] == "Complete"
            reason = "Succeeded" if succeeded else "Failed"
            self._set(body, condition_now("Finished", "True", reason, end.get("message", "")))
        elif holds(body, "DeactivationTarget") and body["spec"].get("active", True):
            self._client.patch(
                KUEUE, "Workload", name_of(body), {"spec": {"active": False}}, namespace_of(body)
            )
        elif not body["spec"].get("active", True) and not holds(body, "Evicted"):
            self._evict(body, f"DeactivatedDueTo{EVICTED_ON_MANAGER}", "The workload is deactivated")
        elif holds(body, "Evicted") and holds(body, "QuotaReserved") and job is not None and is_idle(job):
            self._set(
                body,
                condition_now("QuotaReserved", "False", PENDING, "The workload was evicted"),
                condition_now("Admitted", "False", "NoReservation", "The workload has no reservation"),
                admission=None,
            )

    def _let_go(self, body: Json, job: Json | None) -> None:
        if job is not None and not job["spec"].get("suspend"):
            self._suspend(job)
        self._take_off_finalizer(body)

    def _suspend(self, job: Json, *, value: bool = True) -> None:
        self._client.patch(BATCH, "Job", name_of(job), {"spec": {"suspend": value}}, namespace_of(job))

    def _take_off_finalizer(self, body: Json) -> None:
        finalizers = body["metadata"].get("finalizers") or []
        if RESOURCE_IN_USE in finalizers:
            kept = [each for each in finalizers if each != RESOURCE_IN_USE]
            self._put({**body, "metadata": {**body["metadata"], "finalizers": kept}})

    def _evict(self, body: Json, reason: str, message: str, *others: Json) -> None:
        closed = [{**each, "position": "Closed", "lastTransitionTime": now()} for each in gates_of(body)]
        self._set(
            body,
            condition_now("Evicted", "True", reason, message),
            *others,
            *([condition_now("BlockedOnPreemptionGates", "False", reason, message)] if closed else []),
            **({"preemptionGates": closed} if closed else {}),
        )

    # ---- the controller of Jobs

    def _look_at_job(self, job: Json, workload: Json | None) -> None:
        if workload is None or "deletionTimestamp" in job["metadata"]:
            return
        owners = workload["metadata"].get("ownerReferences") or []
        if pods_of(workload) != job["spec"].get("parallelism", 1):
            if not holds(workload, "Finished"):
                message = "The prebuilt workload is out of sync with its user job"
                self._set(workload, condition_now("Finished", "True", "OutOfSync", message))
            elif not job["spec"].get("suspend"):  # "missing workload"
                self._suspend(job)
        elif not any(each["uid"] == job["metadata"]["uid"] for each in owners):
            self._adopt(job, workload)
        elif not end_of(job):
            starts = holds(workload, "Admitted") and not holds(workload, "Evicted")
            if bool(job["spec"].get("suspend")) == starts:
                self._suspend(job, value=not starts)

    def _adopt(self, job: Json, workload: Json) -> None:
        meta = workload["metadata"]
        owner = {
            "apiVersion": BATCH,
            "kind": "Job",
            "name": name_of(job),
            "uid": job["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        adopted = {
            **meta,
            "ownerReferences": [*(meta.get("ownerReferences") or []), owner],
            "labels": {**(meta.get("labels") or {}), JOB_UID: job["metadata"]["uid"]},
            "finalizers": sorted({*(meta.get("finalizers") or []), RESOURCE_IN_USE}),
        }
        self._put({**workload, "metadata": adopted})

    # ---- the scheduler

    def _schedule(self) -> None:
        """Each ClusterQueue on its own, in the order of priority and age."""
        workloads = [
            each
            for each in self._client.list(KUEUE, "Workload")
            if "deletionTimestamp" not in each["metadata"]
        ]
        local = {
            (namespace_of(each), name_of(each)): each["spec"]["clusterQueue"]
            for each in self._client.list(KUEUE, "LocalQueue")
        }
        for queue in self._client.list(KUEUE, "ClusterQueue"):
            name = name_of(queue)
            mine = [
                each
                for each in workloads
                if local.get((namespace_of(each), each["spec"]["queueName"])) == name
            ]
            mine.sort(
                key=lambda each: (-priority_of(each), each["metadata"]["creationTimestamp"], name_of(each))
            )
            self._schedule_queue(queue, [each for each in mine if not holds(each, "Finished")])

    def _schedule_queue(self, queue: Json, workloads: list[Json]) -> None:
        holders = [each for each in workloads if holds(each, "QuotaReserved")]
        free = quota_of(queue) - sum(cpus_of(each) for each in holders)
        going = sum(cpus_of(each) for each in holders if holds(each, "Evicted"))
        for body in workloads:
            waits = not holds(body, "QuotaReserved") and body["spec"].get("active", True)
            if not waits:
                continue
            needed = cpus_of(body)
            with self._tolerant():
                if needed <= free:
                    self._admit(body, queue)
                    free -= needed
                elif needed > free + going:
                    self._want_room(body, holders, needed - free - going)

    def _admit(self, body: Json, queue: Json) -> None:
        flavor = queue["spec"]["resourceGroups"][0]["flavors"][0]["name"]
        sets = [
            {
                "name": each["name"],
                "count": each["count"],
                "flavors": {"cpu": flavor},
                "resourceUsage": {"cpu": str(cpus_of(body))},
            }
            for each in body["spec"]["podSets"]
        ]
        ended = [
            condition_now(kind, "False", "QuotaReserved", "Previously: it was evicted")
            for kind in ("Evicted", "Preempted", "BlockedOnPreemptionGates")
            if condition(body, kind)
        ]
        self._apply(
            body,
            condition_now("QuotaReserved", "True", "QuotaReserved", f"Quota reserved in {name_of(queue)}"),
            condition_now("Admitted", "True", "Admitted", f"Admitted by {name_of(queue)}"),
            *ended,
            admission={"clusterQueue": name_of(queue), "podSetAssignments": sets},
        )

    def _want_room(self, body: Json, holders: list[Json], needed: int) -> None:
        """Evict lower priorities, if the gates are open; otherwise say that it would."""
        victims = []
        for each in sorted(holders, key=priority_of):
            if needed > 0 and priority_of(each) < priority_of(body) and not holds(each, "Evicted"):
                victims.append(each)
                needed -= cpus_of(each)
        if needed > 0:
            self._wait(body, "WaitingForQuota", "couldn't assign flavors: insufficient unused quota for cpu")
        elif self._honours_gates and any(each["position"] != "Open" for each in gate_states(body)):
            blocked = condition_now(
                "BlockedOnPreemptionGates", "True", "BlockedOnPreemptionGates", "gates are closed"
            )
            self._wait(
                body, PENDING, CLEARED, *([] if holds(body, "BlockedOnPreemptionGates") else [blocked])
            )
        else:
            uid = body["metadata"]["uid"]
            text = f"Preempted to accommodate a workload (UID: {uid}, JobUID: UNKNOWN) due to prioritization"
            for each in victims:
                self._evict(
                    each, "Preempted", text, condition_now("Preempted", "True", "InClusterQueue", text)
                )

    def _wait(self, body: Json, reason: str, message: str, *others: Json) -> None:
        found = condition(body, "QuotaReserved")
        if others or found is None or (found["reason"], found["message"]) != (reason, message):
            self._apply(
                body, condition_now("QuotaReserved", "False", reason, message), *others, versioned=False
            )

    # ---- writes

    def _apply(self, body: Json, *conditions: Json, versioned: bool = True, **status: Any) -> None:
        """As its scheduler writes: server-side apply with all that its cache has."""
        seen = self._before.get(body["metadata"]["uid"], body) if self._stale and not versioned else body
        kept = {
            key: value
            for key, value in seen.get("status", {}).items()
            if key in ("admission", "requeueState", "preemptionGates", "admissionChecks", "clusterName")
        }
        types = {each["type"] for each in conditions}
        others = [
            each for each in seen.get("status", {}).get("conditions") or () if each["type"] not in types
        ]
        meta = {"name": name_of(body), "namespace": namespace_of(body)}
        if versioned:
            meta["resourceVersion"] = body["metadata"]["resourceVersion"]
        made = {**kept, **status, "conditions": [*others, *conditions]}
        path = f"{path_of(KUEUE, 'Workload', namespace_of(body), name_of(body))}/status"
        self._client.request(
            "PATCH",
            f"{path}?fieldManager=kueue-admission&force=true",
            {"apiVersion": KUEUE, "kind": "Workload", "metadata": meta, "status": made},
            APPLY,
        )

    def _set(self, body: Json, *conditions: Json, **status: Any) -> None:
        types = {each["type"] for each in conditions}
        others = [
            each for each in body.get("status", {}).get("conditions") or () if each["type"] not in types
        ]
        self._put_status(body, conditions=[*others, *conditions], **status)

    def _put_status(self, body: Json, **status: Any) -> None:
        made = {
            key: value for key, value in {**body.get("status", {}), **status}.items() if value is not None
        }
        self._put({**body, "status": made}, "/status")

    def _put(self, body: Json, subresource: str = "") -> None:
        path = path_of(KUEUE, "Workload", namespace_of(body), name_of(body))
        self._client.request("PUT", f"{path}{subresource}", body)

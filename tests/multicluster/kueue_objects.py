"""What Kueue's worker, as it is played here, reads in Workloads, Jobs and queues."""

from __future__ import annotations

import time

from api.multikueue import PREBUILT_WORKLOAD_ANNOTATION
from api.times import rfc3339
from hack.controlplane.client import Json
from tests.e2e.support import condition

__all__ = [
    "OFF",
    "condition_now",
    "cpus_of",
    "end_of",
    "find",
    "gate_states",
    "gates_of",
    "holds",
    "is_idle",
    "missing_gates",
    "name_of",
    "namespace_of",
    "now",
    "pods_of",
    "prebuilt_of",
    "priority_of",
    "quota_of",
    "user_of",
]


def name_of(body: Json) -> str:
    """Its name."""
    return str(body["metadata"]["name"])


def namespace_of(body: Json) -> str:
    """Its namespace; empty without one."""
    return str(body["metadata"].get("namespace", ""))


OFF = 0.0
"""By how many seconds the clocks of the workers are wrong."""


def now() -> str:
    """The time there, as API servers write it."""
    return rfc3339(time.time() + OFF)


def condition_now(kind: str, status: str, reason: str, message: str) -> Json:
    """A condition that changes now."""
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": now(),
    }


def holds(body: Json, kind: str) -> bool:
    """Whether a condition is True."""
    found = condition(body, kind)
    return found is not None and found["status"] == "True"


def gates_of(body: Json) -> list[Json]:
    """The states of its gates."""
    return list(body.get("status", {}).get("preemptionGates") or ())


def missing_gates(body: Json) -> list[Json]:
    """A state, Closed, for each gate of the spec that has none."""
    there = {each["name"] for each in gates_of(body)}
    return [
        {"name": each["name"], "position": "Closed", "lastTransitionTime": now()}
        for each in body["spec"].get("preemptionGates") or ()
        if each["name"] not in there
    ]


def gate_states(body: Json) -> list[Json]:
    """The states of all gates of the spec."""
    return [*gates_of(body), *missing_gates(body)]


def priority_of(body: Json) -> int:
    """Its priority."""
    return int(body["spec"].get("priority") or 0)


def pods_of(body: Json) -> int:
    """How many pods it has."""
    return sum(int(each["count"]) for each in body["spec"]["podSets"])


def cpus_of(body: Json) -> int:
    """How many CPUs it needs."""
    return sum(
        int(each["count"]) * int(container["resources"]["requests"]["cpu"])
        for each in body["spec"]["podSets"]
        for container in each["template"]["spec"]["containers"]
    )


def quota_of(queue: Json) -> int:
    """The CPUs of a ClusterQueue."""
    groups = queue["spec"].get("resourceGroups") or ()
    return sum(
        int(resource["nominalQuota"])
        for group in groups
        for flavor in group["flavors"]
        for resource in flavor["resources"]
    )


def prebuilt_of(job: Json) -> str:
    """The annotation, else the label."""
    meta = job["metadata"]
    named = (meta.get("annotations") or {}).get(PREBUILT_WORKLOAD_ANNOTATION)
    return str(named or (meta.get("labels") or {}).get(PREBUILT_WORKLOAD_ANNOTATION) or "")


def find(workloads: list[Json], namespace: str, name: str) -> Json | None:
    """The Workload of a name."""
    return next(
        (each for each in workloads if (namespace_of(each), name_of(each)) == (namespace, name)), None
    )


def user_of(jobs: list[Json], workload: Json) -> Json | None:
    """The Job that uses a Workload."""
    key = namespace_of(workload), name_of(workload)
    return next((each for each in jobs if (namespace_of(each), prebuilt_of(each)) == key), None)


def end_of(job: Json) -> Json | None:
    """The condition of its end."""
    return next(
        (
            each
            for each in job["status"].get("conditions") or ()
            if each["type"] in ("Complete", "Failed") and each["status"] == "True"
        ),
        None,
    )


def is_idle(job: Json) -> bool:
    """Whether no pod of a Job is active, and none comes."""
    return bool(job["spec"].get("suspend")) and not job["status"].get("active")

"""The shape of the load: that of Kueue's own load test (test/performance/scheduler)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hack.controlplane.client import Json

__all__ = ["CLASSES", "COHORTS", "KUEUE", "QUEUES", "Class", "queue_objects", "workload"]

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
COHORTS: Final = 5
QUEUES: Final = 6
"""ClusterQueues of each cohort."""
FLAVOR: Final = "default"


@dataclass(frozen=True, slots=True)
class Class:
    """Workloads that are alike. Each ClusterQueue gets so many of them."""

    name: str
    count: int
    cpus: int
    seconds: float
    """How long one runs."""
    priority: int
    interval: float
    """Seconds between two creations in one ClusterQueue."""


CLASSES: Final = (
    Class("small", 350, 1, 0.2, 50, 0.1),
    Class("medium", 100, 5, 0.5, 100, 0.5),
    Class("large", 50, 20, 1.0, 200, 1.2),
)


def queue_objects(prefix: str, namespace: str) -> list[Json]:
    """The flavor, and for each queue a ClusterQueue and a LocalQueue of the same name."""
    flavor = f"{prefix}-{FLAVOR}"
    made: list[Json] = [_object("ResourceFlavor", flavor, {})]
    for name in queue_names(prefix):
        quota = {"name": "cpu", "nominalQuota": 20, "borrowingLimit": 100}
        flavors = [{"name": flavor, "resources": [quota]}]
        spec = {
            "cohortName": name.rpartition("-")[0],
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        }
        made.append(_object("ClusterQueue", name, spec))
        made.append(_object("LocalQueue", name, {"clusterQueue": name}, namespace))
    return made


def queue_names(prefix: str) -> list[str]:
    """All queues. The name without its last part is that of the cohort."""
    return [f"{prefix}-{cohort}-{queue}" for cohort in range(COHORTS) for queue in range(QUEUES)]


def workload(name: str, namespace: str, queue: str, kind: Class) -> Json:
    """One Workload, which runs for an annotated time once it is admitted."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": str(kind.cpus)}}}
    spec = {
        "queueName": queue,
        "priority": kind.priority,
        "podSets": [{"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}],
    }
    made = _object("Workload", name, spec, namespace)
    made["metadata"]["labels"] = {"load.reprieve.dev/class": kind.name}
    return made


def _object(kind: str, name: str, spec: Json, namespace: str = "") -> Json:
    meta: Json = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": spec}

"""The objects that the load consists of, and what is written about them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from hack.load.shape import Class, Shape

__all__ = ["API_VERSION", "Json", "admitted", "ended", "finished", "local_queue_names", "queues", "workload"]

API_VERSION: Final = "kueue.x-k8s.io/v1beta2"

Json = dict[str, Any]


def local_queue_names(shape: Shape) -> list[str]:
    """The names of the LocalQueues."""
    return [f"c{cohort}-q{queue}" for cohort in range(shape.cohorts) for queue in range(shape.queues)]


def queues(shape: Shape, name: str) -> Iterator[Json]:
    """The flavor, and a ClusterQueue and LocalQueue for each name. `name`: of the namespace; others begin with it."""
    yield _body("ResourceFlavor", name, spec={})
    for local in local_queue_names(shape):
        cohort = f"{name}-{local.partition('-')[0]}"
        yield _body("ClusterQueue", f"{name}-{local}", spec=_cluster_queue(shape, cohort, flavor=name))
        yield _body("LocalQueue", local, name, spec={"clusterQueue": f"{name}-{local}"})


def _cluster_queue(shape: Shape, cohort: str, flavor: str) -> Json:
    quota = {"name": "cpu", "nominalQuota": str(shape.cpu), "borrowingLimit": str(shape.borrowing_limit)}
    group = {"coveredResources": ["cpu"], "flavors": [{"name": flavor, "resources": [quota]}]}
    return {
        "cohortName": cohort,
        "namespaceSelector": {},
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        "resourceGroups": [group],
    }


def workload(name: str, namespace: str, queue: str, of: Class) -> Json:
    """A Workload of one pod."""
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": str(of.cpu)}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {
        "queueName": queue,
        "priority": of.priority,
        "podSets": [{"name": "main", "count": 1, "template": template}],
    }
    return _body("Workload", name, namespace, spec=spec)


def finished(name: str, namespace: str) -> Json:
    """What its maker applies when it has run."""
    condition = _condition("Finished", "True", "Succeeded", "The load has run it")
    return _body("Workload", name, namespace, status={"conditions": [condition]})


def ended(version: str, conditions: list[Json]) -> Json:
    """The merge patch by which its maker ends an eviction: quota is given back, as Kueue's job controllers do it.

    `conditions` are those of this resourceVersion.
    """
    message = "The load has ended it"
    now = {"QuotaReserved": "Pending", "Admitted": "NoReservation"}
    changed = [
        _condition(each["type"], "False", now[each["type"]], message)
        if each["type"] in now and each["status"] == "True"
        else each
        for each in conditions
    ]
    return {
        "metadata": {"resourceVersion": version},
        "status": {"admission": None, "conditions": changed},
    }


def admitted(queue: str, flavor: str, cpu: int, round_: int) -> Json:
    """A merge patch as whoever admits sends it. `round_`: another number makes another text."""
    assignment = {
        "name": "main",
        "count": 1,
        "flavors": {"cpu": flavor},
        "resourceUsage": {"cpu": str(cpu)},
    }
    text = f"Quota reserved in ClusterQueue {queue}, wait time since queued was {round_}s"
    conditions = [
        _condition("QuotaReserved", "True", "QuotaReserved", text),
        _condition("Admitted", "True", "Admitted", f"The workload is admitted, round {round_}"),
    ]
    admission = {"clusterQueue": queue, "podSetAssignments": [assignment]}
    return {"status": {"admission": admission, "conditions": conditions}}


def _condition(type_: str, status: str, reason: str, message: str) -> Json:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _body(kind: str, name: str, namespace: str = "", **parts: Json) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, **parts}

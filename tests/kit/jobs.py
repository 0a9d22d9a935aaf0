"""Jobs and their Workloads for tests of the jobs controller, as an API server would show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from api.integration import QUEUE_NAME_LABEL
from api.jobs import TemplatedJob
from api.validation import convert
from api.workloads import Workload
from tests.kit.manifests import kueue

__all__ = ["CLEAN", "UID", "Json", "condition", "group_workload", "job", "merge", "read_job", "read_workload"]

UID: Final = "0000-job"
Json = dict[str, Any]

CLEAN: Final[Json] = {
    "metadata": {"labels": {"app": "train", "controller-uid": UID, "job-name": "train"}},
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "own", "operator": "Exists", "tolerationSeconds": 7}],
        "restartPolicy": "Never",
    },
}
"""A template as its user wrote it, with what the API server adds. Nobody here reads restartPolicy."""


def job(*, queue: str = "q", labels: Mapping[str, str] | None = None, **spec: Any) -> Json:
    """A Job of two pods at a time that was just created, suspended."""
    names = {**({QUEUE_NAME_LABEL: queue} if queue else {}), **(labels or {})}
    return {
        "metadata": {
            "name": "train",
            "namespace": "ns",
            "uid": UID,
            "resourceVersion": "1",
            "labels": names,
        },
        "spec": {"suspend": True, "parallelism": 2, "completions": 2, "template": CLEAN, **spec},
        "status": {"conditions": [condition("Suspended")]},
    }


def condition(kind: str, status: str = "True", message: str = "") -> Json:
    """A condition of either kind of object."""
    return {
        "type": kind,
        "status": status,
        "reason": kind,
        "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }


def group_workload(true: Iterable[str], counts: Mapping[str, int], uid: str, **metadata: Any) -> Workload:
    """The Workload of a PodGroup in `team`: the conditions that are True, and how many pods each pod set has."""
    template: Any = {"spec": {"containers": []}}
    pod_sets = [
        {"name": name, "count": count, "template": template} for name, count in sorted(counts.items())
    ]
    spec = {"queueName": "q", "priority": 0, "podSets": pod_sets}
    status = {"conditions": [condition(kind, message="because") for kind in true]}
    body: Any = kueue("Workload", "w", "team", spec=spec, status=status)
    body["metadata"] |= {"uid": uid, **metadata}
    made: Workload = convert(body, Workload)
    return made


def read_job(body: Json) -> TemplatedJob:
    """As a watch reads it."""
    return msgspec.json.decode(msgspec.json.encode(body), type=TemplatedJob)


def read_workload(body: Json) -> Workload:
    """As a watch reads it."""
    return msgspec.json.decode(msgspec.json.encode(body), type=Workload)


def merge(body: Json, patch: Json) -> Json:
    """What a merge patch makes of the object (RFC 7386)."""
    result = dict(body)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merge(result.get(key) or {}, value)
        else:
            result[key] = value
    return result

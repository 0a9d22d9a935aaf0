"""The Workload of an owner, whichever kind it is: its name, its metadata, and its spec without the pod sets."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from api.core import PriorityClass
from api.integration import MAX_EXEC_TIME_LABEL, PRIORITY_CLASS_LABEL
from api.kueue import API_VERSION, RESOURCE_IN_USE, WorkloadPriorityClass
from api.meta import ObjectMeta
from api.multikueue import is_copy
from api.syntax import whole_number
from api.workloads import PriorityClassRef, Workload

__all__ = [
    "Classes",
    "JobError",
    "Wish",
    "class_of_label",
    "owned_body",
    "owned_name",
    "owner_reference",
    "seconds_of_label",
]

MAX_NAME: Final = 253
DIGEST: Final = 5
MOST_SECONDS: Final = 2**31 - 1


class JobError(ValueError):
    """The owner cannot become a Workload. The message names the field."""


@dataclass(frozen=True, slots=True)
class Classes:
    """Where priorities come from, by name."""

    workload_priority_classes: Mapping[str, WorkloadPriorityClass]
    priority_classes: Mapping[str, PriorityClass]


@dataclass(frozen=True, slots=True)
class Wish:
    """The spec of the Workload that an owner asks for, without its pod sets."""

    queue_name: str
    priority: int
    priority_class_ref: PriorityClassRef | None
    maximum_execution_time_seconds: int | None

    def spec(self) -> dict[str, Any]:
        """As JSON has it. What is not wished for is null."""
        ref = self.priority_class_ref
        return {
            "queueName": self.queue_name or None,
            "priority": self.priority,
            "priorityClassRef": msgspec.to_builtins(ref),
            "maximumExecutionTimeSeconds": self.maximum_execution_time_seconds,
        }

    def changes(self, workload: Workload) -> dict[str, Any]:
        """What is different in the Workload, as a merge patch of its spec.

        The spec of a copy is the business of the manager that made it: a class of the same name may have another value
        here (Kueue's issue 13929).
        """
        if is_copy(workload.metadata):
            return {}
        spec = workload.spec
        is_ = Wish(
            spec.queue_name,
            spec.priority or 0,
            spec.priority_class_ref,
            spec.maximum_execution_time_seconds,
        ).spec()
        return {name: wanted for name, wanted in self.spec().items() if wanted != is_[name]}


def owned_name(kind: str, group: str, meta: ObjectMeta) -> str:
    """The name of the owner's Workload, `kind-name-digest`. An owner of the same name that is made later gets another
    one."""
    text = "\n".join((kind, group, meta.name, meta.uid))
    digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:DIGEST]
    return f"{f'{kind.lower()}-{meta.name}'[: MAX_NAME - DIGEST - 1].rstrip('.-')}-{digest}"


def owner_reference(api_version: str, kind: str, meta: ObjectMeta, *, blocks: bool) -> dict[str, Any]:
    """The owner, as its Workload names it. `blocks`: a deletion in the foreground waits for the Workload."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": blocks,
    }


def owned_body(
    name: str,
    namespace: str,
    owner: Mapping[str, Any],
    wish: Wish,
    pod_sets: Sequence[Mapping[str, Any]],
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The Workload to create, as JSON has it."""
    wished = {key: value for key, value in wish.spec().items() if value is not None}
    return {
        "apiVersion": API_VERSION,
        "kind": "Workload",
        "metadata": {
            "name": name,
            "namespace": namespace,
            **({"labels": dict(labels)} if labels else {}),
            "finalizers": [RESOURCE_IN_USE],
            "ownerReferences": [dict(owner)],
        },
        "spec": {**wished, "podSets": list(pod_sets)},
    }


def class_of_label(labels: Mapping[str, str] | None, classes: Classes) -> tuple[PriorityClassRef, int] | None:
    """The WorkloadPriorityClass that the owner names, and its value; None if it names none. Raises JobError."""
    name = (labels or {}).get(PRIORITY_CLASS_LABEL)
    if not name:
        return None
    own = classes.workload_priority_classes.get(name)
    if own is None:
        raise JobError(
            f"metadata.labels[{PRIORITY_CLASS_LABEL}]: WorkloadPriorityClass {name} does not exist"
        )
    return PriorityClassRef("kueue.x-k8s.io", "WorkloadPriorityClass", name), own.value


def seconds_of_label(labels: Mapping[str, str] | None) -> int | None:
    """maximumExecutionTimeSeconds that the owner names; None if it names none. Raises JobError."""
    text = (labels or {}).get(MAX_EXEC_TIME_LABEL)
    if text is None:
        return None
    seconds = whole_number(text, 1, MOST_SECONDS)
    if seconds is None:
        raise JobError(f"metadata.labels[{MAX_EXEC_TIME_LABEL}]: {text[:40]!r} is not a whole number above 0")
    return seconds

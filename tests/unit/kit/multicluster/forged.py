"""Forged objects and histories of several clusters."""

from __future__ import annotations

import copy
from typing import Any

from api.multikueue import DISPATCHED_BY, MULTIKUEUE_GATE, ORIGIN_LABEL, PREBUILT_WORKLOAD_ANNOTATION
from tests.kit.multicluster.history import MANAGER, Event, History, Json

__all__ = [
    "ATTEMPT",
    "KEY",
    "OPEN",
    "Forger",
    "condition",
    "copy_of",
    "dispatch_plan",
    "job",
    "job_copy",
    "plan",
    "workload",
]

KEY = "ns/w"
UID = "uid-w"
ATTEMPT = "2026-01-01T00:00:00Z"
OPEN = "alpha: may preempt until 2026-01-01T00:05:00Z"
SAID = f"No cluster has it yet.\n{OPEN}\nbeta: waits for quota: too much is asked"
"""The check's message while it is alpha's turn."""


def condition(kind: str, status: str = "True", reason: str = "R", message: str = "because") -> Json:
    """A condition since the attempt."""
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": ATTEMPT,
    }


def body(kind: str, name: str, uid: str, **meta: Any) -> Json:
    """An object in the namespace `ns`."""
    return {"kind": kind, "metadata": {"namespace": "ns", "name": name, "uid": uid, **meta}, "spec": {}}


def workload(*conditions: Json, check: str = "Pending", said: str = SAID, **status: Any) -> Json:
    """The manager's Workload. It has quota unless a condition says something else."""
    made = body("Workload", "w", UID, ownerReferences=[{"kind": "Job", "uid": "uid-j"}])
    types = {each["type"] for each in conditions}
    quota = [] if "QuotaReserved" in types else [condition("QuotaReserved")]
    checks = [{"name": "check", "state": check, "message": said}]
    made["status"] = {"conditions": [*quota, *conditions], "admissionChecks": checks, **status}
    return made


def job(**spec: Any) -> Json:
    """The manager's Job."""
    return {**body("Job", "j", "uid-j"), "spec": spec, "status": {}}


def copy_of(
    *conditions: Json, gate: str = "Closed", uid: str = "uid-copy", mark: str = f"m/{UID}/{ATTEMPT}"
) -> Json:
    """A copy of the Workload in a worker."""
    marks = {"annotations": {DISPATCHED_BY: mark}} if mark else {}
    made = body("Workload", "w", uid, labels={ORIGIN_LABEL: "multikueue"}, **marks)
    gates = [{"name": MULTIKUEUE_GATE, "position": gate}] if gate else []
    made["status"] = {"conditions": list(conditions), "preemptionGates": gates}
    return made


def job_copy(*ends: str, suspend: bool = False, uid: str = "uid-jcopy") -> Json:
    """A copy of the Job in a worker."""
    annotations = {DISPATCHED_BY: f"m/{UID}/{ATTEMPT}", PREBUILT_WORKLOAD_ANNOTATION: "w"}
    made = body("Job", "j", uid, labels={ORIGIN_LABEL: "multikueue"}, annotations=annotations)
    conditions = [condition(each) for each in ends]
    return {**made, "spec": {"suspend": suspend}, "status": {"conditions": conditions}}


def plan(phase: str = "Evicting", preemptor: str = "uid-copy") -> Json:
    """A PreemptionPlan for a copy."""
    spec = {"preemptor": {"kind": "Workload", "namespace": "ns", "name": "w", "uid": preemptor}}
    return {**body("PreemptionPlan", "p", "uid-p"), "spec": spec, "status": {"phase": phase}}


def dispatch_plan(
    cluster: str, number: int = 1, phase: str = "Open", attempt: str = ATTEMPT, *, began: int = 0
) -> Json:
    """A turn of the Workload: five minutes from `began` (in minutes), or after those before it."""
    minute = began or number * 5
    spec = {
        "workload": {"name": "w", "uid": UID, "attempt": attempt},
        "cluster": cluster,
        "number": number,
        "began": f"2026-01-01T00:{minute:02}:00.000001Z",
        "until": f"2026-01-01T00:{minute + 5:02}:00.000001Z",
    }
    made = body("DispatchPlan", f"w-{number}", f"uid-turn-{number}")
    return {**made, "spec": spec, "status": {"phase": phase}}


class Forger:
    """Writes a history. Every event has a moment of its own."""

    def __init__(self, **history: Any) -> None:
        self.history = History(**history)
        self._version = 0
        self._known: set[tuple[str, str]] = set()

    def put(self, at: float, cluster: str, *bodies: Json) -> Event:
        """Objects come or change. Returns the last event."""
        for each in bodies:
            place = cluster, each["metadata"]["uid"]
            self._record(at, cluster, "MODIFIED" if place in self._known else "ADDED", each)
            self._known.add(place)
        return self.history.events[-1]

    def delete(self, at: float, cluster: str, each: Json) -> None:
        """An object goes."""
        self._record(at, cluster, "DELETED", each)

    def turn(self, at: float, cluster: str, number: int = 1, uid: str = "uid-copy") -> None:
        """The gate opens in a cluster, as it should."""
        self.put(at, MANAGER, dispatch_plan(cluster, number))
        self.put(at + 0.1, cluster, copy_of(gate="Open", uid=uid))

    def _record(self, at: float, cluster: str, what: str, each: Json) -> None:
        self._version += 1
        made = copy.deepcopy(each)
        made["metadata"]["resourceVersion"] = str(self._version)
        self.history.record(Event(at, cluster, what, made))


def objects(*bodies: Json) -> dict[str, list[Json]]:
    """By kind."""
    found: dict[str, list[Json]] = {}
    for each in bodies:
        found.setdefault(each["kind"], []).append(each)
    return found

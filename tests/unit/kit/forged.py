"""Histories and clusters made up by hand: a clean one, and changes that make it wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hack.controlplane import objects
from tests.kit.stress.history import Asked, History

Json = dict[str, Any]

START = 1_000_000.0
USER = "reprieve"


class Forge:
    """Writes a history, one state a second."""

    def __init__(self) -> None:
        self.history = History()
        self.now = START
        self._version = 0

    def tell(self, body: Json, event: str = "MODIFIED", **changes: Any) -> Json:
        """The next state of an object; `changes` go into its metadata, and are kept."""
        self._version += 1
        self.now += 1
        return self._record(body, event, **changes)

    def _record(self, body: Json, event: str, **changes: Any) -> Json:
        meta = {**body["metadata"], **changes, "resourceVersion": str(self._version)}
        told = {**body, "metadata": meta}
        self.history.record(event, told, self.now)
        return told

    def mark(self, pod: Json, term: int | None = 1) -> Json:
        """reprieve marks a pod, in no time. Without a term, kube-scheduler does."""
        self._version += 1
        message = "hero preempts this pod" + (f" [term {term} of one]" if term is not None else "")
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "PreemptionByScheduler",
            "message": message,
        }
        return self._record({**pod, "status": {**pod["status"], "conditions": [condition]}}, "MODIFIED")

    def ask(self, pod: Json) -> None:
        """reprieve asks for a pod's deletion, which happens at once."""
        meta = pod["metadata"]
        self.now += 1
        self.history.deletions.append(
            Asked(
                meta["uid"],
                meta["namespace"],
                meta["name"],
                self.now,
                self.now + 0.1,
                meta.get("resourceVersion", ""),
            )
        )

    def delete(self, pod: Json) -> None:
        """reprieve marks a pod and asks for its deletion, and the watch tells it."""
        marked = self.mark(pod)
        self.ask(marked)
        self.tell(marked, "DELETED")

    def miss(self, kind: str, *there: Json) -> None:
        """Nobody watches the kind for ten seconds. These objects are there afterwards, others are gone.

        One with a resourceVersion has not changed meanwhile: give what `tell` returned.
        """
        cut = self.now + 1
        self.now += 10
        self._version += 10
        told = []
        for body in there:
            version = body["metadata"].get("resourceVersion") or str(self._version - 1)
            told.append({**body, "metadata": {**body["metadata"], "resourceVersion": version}})
        self.history.list_anew(kind, told, cut, self._version, self.now)

    def done(self) -> History:
        """Ready to be checked."""
        self.history.sort()
        return self.history


def preempted(of: Json, group_uid: str = "uid-hero") -> Json:
    """The event by which kube-scheduler says for which native group it has evicted a pod."""
    uid = of["metadata"]["uid"]
    return {
        "kind": "Event",
        "metadata": {"namespace": "d", "name": f"event-{uid}", "uid": f"uid-event-{uid}"},
        "reason": "Preempted",
        "regarding": {"kind": "Pod", "namespace": "d", "uid": uid},
        "note": f"Preempted by podgroup {group_uid} on node n0",
    }


def take(
    forge: Forge, of: Json, *, scheduler: str = "default-scheduler", preemptor: str = "podgroup"
) -> Json:
    """kube-scheduler marks a pod for a preemptor."""
    said = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "PreemptionByScheduler",
        "message": f"{scheduler}: preempting to accommodate a higher priority {preemptor}",
    }
    return forge.tell({**of, "status": {**of["status"], "conditions": [said]}})


def evict_for(forge: Forge, of: Json, group_uid: str = "uid-hero") -> None:
    """kube-scheduler evicts a pod for a native group."""
    marked = take(forge, of)
    forge.tell(marked, "DELETED")
    forge.tell(preempted(of, group_uid), "ADDED")


def pod(name: str, priority: int = 10, *, node: str | None = "n0", group: str | None = None) -> Json:
    """A pod, bound unless `node` is None."""
    body = objects.pod(name, "d", group=group, node_name=node)
    body["metadata"]["uid"] = f"uid-{name}"
    body["spec"]["priority"] = priority
    return {**body, "status": {"phase": "Running" if node else "Pending"}}


def group(name: str, priority: int, *, minimum: int = 1, mode: str | None = None) -> Json:
    """A gang with its priority spelled out."""
    body = objects.pod_group(name, "d", min_count=minimum, mode=mode, priority=priority)
    body["metadata"]["uid"] = f"uid-{name}"
    return body


def node(name: str, cpu: str = "2") -> Json:
    """A node that takes everybody."""
    return objects.node(name, cpu=cpu)


def plan(
    name: str,
    phase: str,
    *,
    preemptor: str = "hero",
    victims: Sequence[Json] = (),
    reason: str = "",
    **status: Any,
) -> Json:
    """A plan of a gang of priority 100."""
    conditions = [{"type": phase, "status": "True", "reason": reason or phase, "message": ""}]
    asks = {
        "kind": "PodGroup",
        "namespace": "d",
        "name": preemptor,
        "uid": f"uid-{preemptor}",
        "priority": 100,
    }
    return {
        "apiVersion": "reprieve.dev/v1alpha1",
        "kind": "PreemptionPlan",
        "metadata": {"namespace": "d", "name": name, "uid": f"uid-{name}"},
        "spec": {"preemptor": asks, "victims": list(victims), "placements": []},
        "status": {"phase": phase, "conditions": conditions, **status},
    }


def victim(*pods: Json, unit: str | None = None) -> Json:
    """A unit of a plan: a group in `all` mode, or one pod."""
    named = [
        {"namespace": "d", "name": each["metadata"]["name"], "uid": each["metadata"]["uid"], "node": "n0"}
        for each in pods
    ]
    name = unit or named[0]["name"]
    kind = "PodGroup" if unit else "Pod"
    return {"kind": kind, "namespace": "d", "name": name, "uid": f"uid-{name}", "priority": 10, "pods": named}


def audited(name: str, *, user: str = USER, code: int = 200, resource: str = "pods", **options: Any) -> str:
    """A line of the audit log: a deletion."""
    return json.dumps(
        {
            "verb": "delete",
            "user": {"username": user},
            "objectRef": {"resource": resource, "namespace": "d", "name": name},
            "responseStatus": {"code": code},
            "requestObject": {"preconditions": {"uid": f"uid-{name}"}, **options},
            "requestReceivedTimestamp": "2026-01-01T00:00:00.250000Z",
            "stageTimestamp": "2026-01-01T00:00:00.500000Z",
        },
        separators=(",", ":"),
    )

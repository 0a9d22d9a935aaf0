"""What kube-scheduler says of pods that it evicts: an event on the pod, and a condition while the pod terminates.

The event names the preemptor by UID. The condition says only whether that is a pod or a PodGroup of its own kind.
Source: `NewExecutor` in pkg/scheduler/framework/preemption/executor.go, as of 1.37.1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from api.core import Pod
from api.meta import ObjectMeta, Struct

__all__ = ["PREEMPTED", "Mark", "PreemptedEvent", "marks_of"]

PREEMPTED: Final = "Preempted"
"""Reason of the event."""
EVENT: Final = re.compile(r"^Preempted by (pod|podgroup) (\S+) on node (\S+)")
"""Our own event on a victim begins with another spelling of the kind."""
CONDITION: Final = re.compile(r"^(\S+): preempting to accommodate a higher priority (pod|podgroup)$")
KINDS: Final = {"pod": "Pod", "podgroup": "PodGroup"}


class Reference(Struct):
    """core/v1 ObjectReference."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class PreemptedEvent(Struct, kw_only=True):
    """core/v1 Event with the reason Preempted."""

    metadata: ObjectMeta
    involved_object: Reference
    related: Reference | None = None
    reason: str = ""
    message: str = ""
    event_time: str | None = None
    first_timestamp: str | None = None

    @property
    def when(self) -> str:
        """When it was written (RFC 3339); empty if it does not say."""
        return self.event_time or self.first_timestamp or self.metadata.creation_timestamp or ""


@dataclass(frozen=True, slots=True)
class Mark:
    """kube-scheduler has evicted a pod, or is about to."""

    uid: str
    """Of the pod."""
    kind: str
    """Of the preemptor: Pod, or PodGroup for one of kube-scheduler's own kind."""
    preemptor: str
    """NAMESPACE/NAME; empty if it is not known."""
    preemptor_uid: str
    """Empty if it is not known."""
    at: str
    """RFC 3339; empty if it is not known."""
    says: str

    def plain(self, plan: str) -> dict[str, Any]:
        """For programs. `plan`: NAMESPACE/NAME of the plan by which the scheduler evicted, if there is one."""
        return {
            "uid": self.uid,
            "preemptor": {
                "kind": self.kind,
                "name": self.preemptor or None,
                "uid": self.preemptor_uid or None,
            },
            "time": self.at or None,
            "message": self.says,
            "plan": plan or None,
        }


def marks_of(pods: Sequence[Pod], events: Sequence[PreemptedEvent]) -> list[Mark]:
    """One for each pod (UID). The event says more than the condition."""
    found = dict[str, Mark]()
    for pod in pods:
        if (mark := _of_condition(pod)) is not None:
            found[mark.uid] = mark
    for event in sorted(events, key=lambda each: each.when):
        if (mark := _of_event(event)) is not None:
            found[mark.uid] = mark
    return sorted(found.values(), key=lambda each: (each.at, each.uid))


def _of_event(event: PreemptedEvent) -> Mark | None:
    match = EVENT.match(event.message)
    if event.reason != PREEMPTED or match is None:
        return None
    related = event.related
    known = related is not None and related.uid == match[2]
    name = f"{related.namespace}/{related.name}" if related is not None and known else ""
    return Mark(event.involved_object.uid, KINDS[match[1]], name, match[2], event.when, event.message)


def _of_condition(pod: Pod) -> Mark | None:
    for each in pod.status.conditions or ():
        match = CONDITION.match(each.message or "") if each.type == "DisruptionTarget" else None
        if match is not None and each.status == "True":
            at = each.last_transition_time or ""
            return Mark(pod.metadata.uid, KINDS[match[2]], "", "", at, each.message)
    return None

"""What kube-scheduler says of pods that it preempts: an event on the pod, and a condition while the pod terminates.

The event names the preemptor by UID. The condition says only whether that is a pod or a PodGroup of its own kind. Our
own marks are conditions of the same reason, and signed (docs/decisions/0036).
Source: `NewExecutor` in pkg/scheduler/framework/preemption/executor.go, as of 1.37.1. It writes the condition by
`PatchPodStatus`, which sends only what differs from the condition that it saw last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NamedTuple

from api.disruption import DISRUPTION_TARGET
from api.meta import Condition, ObjectMeta, Struct

__all__ = [
    "PREEMPTED",
    "PREEMPTION_BY_SCHEDULER",
    "SIGNED",
    "PreemptedEvent",
    "Preemption",
    "Reference",
    "mark_in",
    "preemption_of",
]

PREEMPTED: Final = "Preempted"
"""Reason of the event."""
PREEMPTION_BY_SCHEDULER: Final = "PreemptionByScheduler"
"""Upstream's reason of the condition of a preempted pod. kube-scheduler writes it, too, and does not sign."""
MARKS: Final = {("True", PREEMPTION_BY_SCHEDULER), ("", PREEMPTION_BY_SCHEDULER), ("", "")}
"""Status and reason of its condition. They are empty if it saw the same in a mark of ours, and we withdrew that before
its write came."""
SIGNED: Final = re.compile(r" \[term (\d+) of ([^\]]*)\]$")
EVENT: Final = re.compile(r"^Preempted by (pod|podgroup) (\S+) on node (\S+)")
"""Our own event on a victim begins with another spelling of the kind."""
KINDS: Final[Mapping[str, Literal["Pod", "PodGroup"]]] = {"pod": "Pod", "podgroup": "PodGroup"}


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


class Preemption(NamedTuple):
    """What an event says."""

    kind: Literal["Pod", "PodGroup"]
    """Of the preemptor: Pod, or PodGroup for one of kube-scheduler's own kind."""
    preemptor: str
    """Its UID."""
    node: str


def preemption_of(event: PreemptedEvent) -> Preemption | None:
    """The preemptor that the event names; None for an event that kube-scheduler did not write."""
    match = EVENT.match(event.message)
    if event.reason != PREEMPTED or match is None:
        return None
    return Preemption(KINDS[match[1]], match[2], match[3])


def mark_in(conditions: Iterable[Condition]) -> Condition | None:
    """The condition by which a scheduler, and not reprieve, says that it preempts the pod; None without one."""
    for each in conditions:
        if each.type == DISRUPTION_TARGET and (each.status, each.reason) in MARKS:
            return each if SIGNED.search(each.message) is None else None
    return None

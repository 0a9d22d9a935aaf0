"""What kube-scheduler says of pods that it evicts: an event on the pod, and a condition while the pod terminates.

See `api.preempted`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from api.core import Pod
from api.preempted import PREEMPTED, PreemptedEvent, preemption_of

__all__ = ["PREEMPTED", "Mark", "PreemptedEvent", "marks_of"]

CONDITION: Final = re.compile(r"^(\S+): preempting to accommodate a higher priority (pod|podgroup)$")
KINDS: Final = {"pod": "Pod", "podgroup": "PodGroup"}


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
    said = preemption_of(event)
    if said is None:
        return None
    related = event.related
    known = related is not None and related.uid == said.preemptor
    name = f"{related.namespace}/{related.name}" if related is not None and known else ""
    return Mark(event.involved_object.uid, said.kind, name, said.preemptor, event.when, event.message)


def _of_condition(pod: Pod) -> Mark | None:
    for each in pod.status.conditions or ():
        match = CONDITION.match(each.message or "") if each.type == "DisruptionTarget" else None
        if match is not None and each.status in ("True", ""):  # see `api.preempted.MARKS`
            at = each.last_transition_time or ""
            return Mark(pod.metadata.uid, KINDS[match[2]], "", "", at, each.message)
    return None

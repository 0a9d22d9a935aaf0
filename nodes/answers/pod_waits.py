"""Why one pod waits, from what the API server stores of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from api.core import Pod
from api.groups import SCHEDULING_GATE
from nodes.state.pods.pods import ENDED

__all__ = ["PodState", "PodWait", "why_pod_waits"]

PodState = Literal["Ended", "Terminating", "Bound", "Gated", "Rejected", "Unanswered"]

DEFAULT_SCHEDULER: Final = "default-scheduler"
"""The API server writes it where a pod names none."""


@dataclass(frozen=True, slots=True)
class PodWait:
    """Where a pod stands, and why."""

    state: PodState
    sentence: str
    scheduler: str
    """Who schedules it: spec.schedulerName."""
    since: str = ""
    """When its PodScheduled condition changed (RFC 3339); empty if it has none."""

    @property
    def waits(self) -> bool:
        """Whether it has no node yet, and may still get one."""
        return self.state in {"Gated", "Rejected", "Unanswered"}


def why_pod_waits(pod: Pod) -> PodWait:
    """The state of the pod and one sentence. The scheduler's own words stand in it as they are."""
    scheduler = pod.spec.scheduler_name or DEFAULT_SCHEDULER
    found = [each for each in pod.status.conditions or () if each.type == "PodScheduled"]
    since = (found[0].last_transition_time or "") if found else ""
    state, sentence = _over(pod) or _waiting(pod, found[0].message if found else "", scheduler)
    return PodWait(state, sentence, scheduler, since)


def _over(pod: Pod) -> tuple[PodState, str] | None:
    """For a pod that does not wait."""
    node = f" on node {pod.spec.node_name}" if pod.spec.node_name else ""
    if pod.status.phase in ENDED:
        return "Ended", f"It does not wait: it ended{node} ({pod.status.phase})."
    if pod.metadata.deletion_timestamp is not None:
        return "Terminating", f"It does not wait: it terminates{node}."
    if node:
        return "Bound", f"It does not wait: it is bound to node {pod.spec.node_name}."
    return None


def _waiting(pod: Pod, message: str, scheduler: str) -> tuple[PodState, str]:
    if gates := sorted(gate.name for gate in pod.spec.scheduling_gates or ()):
        named = f"It waits because of scheduling gates: {', '.join(gates)}."
        ours = (
            " reprieve removes its gate from all members of a gang at once."
            if SCHEDULING_GATE in gates
            else ""
        )
        return "Gated", f"{named}{ours} No scheduler tries it before they are removed."
    if message:
        return "Rejected", f"It waits, and {scheduler} says: {message}"
    return "Unanswered", f"It waits, and {scheduler} has not said why. Perhaps no such scheduler runs."

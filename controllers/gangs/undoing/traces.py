"""What of ours is on one pod, as its object says it."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from api.core import Pod
from api.groups import SCHEDULING_GATE
from controllers.gangs.mirror.marked_pods import mark_of
from controllers.gangs.mirror.waiting import PULSE_NODE, waiting_pod

__all__ = ["Traces", "traces_of"]


class Traces(NamedTuple):
    """See `controllers.gangs.undoing.leftovers.Left`."""

    marked: bool = False
    gated: bool = False
    nominated: str = ""
    held: bool = False

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return self.marked or self.gated or bool(self.nominated) or self.held


def traces_of(pod: Pod, planned: Collection[str] = ()) -> Traces:
    """`planned`: the nodes on which plans of Enforce put the pod. A pod that leaves has nothing of ours."""
    if pod.metadata.deletion_timestamp:
        return Traces()
    marked = mark_of(pod) is not None
    if pod.spec.node_name or pod.status.phase in ("Succeeded", "Failed"):
        return Traces(marked)
    waiting = waiting_pod(pod)
    is_ours = waiting.nominated == PULSE_NODE or waiting.nominated in planned
    gated = any(gate.name == SCHEDULING_GATE for gate in pod.spec.scheduling_gates or ())
    held = bool(waiting.held) or waiting.is_refused
    return Traces(marked, gated, waiting.nominated if is_ours else "", held)

"""What the table of pods reads from one pod."""

from __future__ import annotations

import sys
from enum import IntEnum
from typing import Final, NamedTuple

from api.core import MIRROR_POD_ANNOTATION, Pod
from api.disruption import DaemonSetPods, disruption_cost
from api.groups import SCHEDULING_GATE
from api.meta import Condition, controller_reference
from api.times import EPOCH_SECONDS, SECOND, instant, parse_rfc3339
from nodes.state.columns.flags import DAEMON, GATED, KEPT, NEVER, STAYING, TERMINATING, UNSAID, UNSTARTED

__all__ = [
    "NOWHERE",
    "Change",
    "Controller",
    "Facts",
    "MemberStatus",
    "controller_of",
    "cost_of",
    "deletion_time",
    "flags_of",
    "whole_seconds",
]


NOWHERE: Final = -1
"""The row of what a pod does not have."""


class Change(IntEnum):
    """What an event changed."""

    NOTHING = 0
    STATUS = 1
    """The scheduler's status of a group's member."""
    DECISION = 2
    """Something that decisions depend on."""


NOTHING: Final = Change.NOTHING
DECISION: Final = Change.DECISION


class Facts(NamedTuple):
    """A pod's values in the columns of the table. Rows are those of other tables."""

    node: int
    pod_class: int
    group: int
    labels: int
    priority: int
    scheduler: int
    controller: int
    start: int
    created: int
    cost: int
    flags: int

    @property
    def leaves(self) -> bool:
        """As `is_leaving`, for one pod."""
        return self.flags & (TERMINATING | STAYING) == TERMINATING

    @property
    def unit(self) -> tuple[int, int, int]:
        """What decides who may evict the pod."""
        return self.priority, self.group, self.flags & ~UNSTARTED

    @property
    def weight(self) -> Change:
        """NOTHING for a pod that is neither bound nor a member of a group: it changes only the decision for itself."""
        ordinary = self.node == NOWHERE and self.group == NOWHERE
        return NOTHING if ordinary else DECISION


class MemberStatus(NamedTuple):
    """What is kept of a group's member besides the columns: the result of scheduling it so far."""

    nominated_node_name: str
    scheduled: Condition | None
    """The pod's condition PodScheduled."""


class Controller(NamedTuple):
    """The owner reference of a pod whose `controller` is true. Its namespace is the pod's."""

    api_version: str
    kind: str
    name: str
    uid: str


def deletion_time(pod: Pod) -> float | None:
    """When a bound pod that terminates should be gone: the API server has added its grace period already."""
    deletion = pod.metadata.deletion_timestamp
    if deletion is None or not pod.spec.node_name:
        return None
    return parse_rfc3339(deletion, "metadata.deletionTimestamp")


def controller_of(pod: Pod) -> Controller | None:
    """Who would create the pod again; None for a pod without a controller."""
    owner = controller_reference(pod.metadata)
    if owner is None:
        return None
    return Controller(
        sys.intern(owner.api_version), sys.intern(owner.kind), sys.intern(owner.name), owner.uid
    )


def cost_of(pod: Pod) -> int:
    """The pod's own disruption cost; UNSAID if it has none."""
    cost = disruption_cost(pod.metadata.annotations)
    return UNSAID if cost is None else cost


def flags_of(pod: Pod, daemon_set_pods: DaemonSetPods) -> int:
    """All flags but STAYING: whether a pod stays depends on the time, see `Tables.tell_time`."""
    meta = pod.metadata
    flags = TERMINATING if meta.deletion_timestamp is not None else 0
    if meta.annotations is not None and MIRROR_POD_ANNOTATION in meta.annotations:
        flags |= KEPT
    gates = pod.spec.scheduling_gates
    if gates and any(gate.name != SCHEDULING_GATE for gate in gates):
        flags |= GATED
    if pod.spec.preemption_policy == "Never":
        flags |= NEVER
    owner = controller_reference(meta)
    if owner is not None and owner.kind == "DaemonSet":
        flags |= DAEMON | (KEPT if daemon_set_pods == "Keep" else 0)
    if pod.spec.node_name and pod.status.start_time is None:
        flags |= UNSTARTED
    return flags


def whole_seconds(text: str | None, field: str, default: int) -> int:
    """Seconds since the epoch. Raises ValueError, which names the field."""
    if text is None:
        return default
    nanoseconds = instant(text)
    if nanoseconds is None or nanoseconds % SECOND:
        return int(parse_rfc3339(text, field))
    return nanoseconds // SECOND - EPOCH_SECONDS

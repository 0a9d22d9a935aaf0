"""Whether kube-scheduler tries a gang of its own kind. It tries all of it, or none.

Source: validatePodGroup in pkg/scheduler/schedule_one_podgroup.go. Members that are bound count there, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Literal, NamedTuple

from api.groups import PodGroup
from api.words import counted
from nodes.groups.native import part_of
from nodes.search.preemptors.mismatch import Asking, mismatch

__all__ = ["NotTried", "longest_wait", "why_not_tried"]


class NotTried(NamedTuple):
    """Why the scheduler does not try the gang. Nothing is planned or reserved for it meanwhile."""

    phase: Literal["Unschedulable", "Blocked"]
    reason: str
    """A word in CamelCase, as conditions have it."""
    message: str


def longest_wait(max_backoff: float, members: int) -> float:
    """How long a group that was turned down waits at most for its next attempt, in seconds.

    `max_backoff`: podMaxBackoffSeconds. `members`: how many wait. Source: calculateBackoffDuration in
    pkg/scheduler/backend/queue/backoff_queue.go.
    """
    return max_backoff * sqrt(max(1, members))


def why_not_tried(group: PodGroup, priority: int, members: Sequence[Asking], gated: int) -> NotTried | None:
    """None if the scheduler tries the gang once minCount members exist.

    `priority`: the group's. `members`: all of them, bound ones included; one of each kind is enough. `gated`: how many
    pods of the group have a scheduling gate of another program.
    """
    if parent := part_of(group):
        text = f"it is a part of CompositePodGroup {parent}, and parts are not planned for"
        return NotTried("Blocked", "CompositePodGroup", text)
    if gated:
        has = "has" if gated == 1 else "have"
        text = f"{counted(gated, 'pod')} {has} a scheduling gate of another program: the scheduler tries all or none"
        return NotTried("Unschedulable", "SchedulingGated", text)
    if all(member.never for member in members):  # then it is no difference
        members = [member._replace(never=False) for member in members]
    differs = mismatch(group, priority, members)
    return NotTried("Unschedulable", differs.reason, differs.text) if differs is not None else None

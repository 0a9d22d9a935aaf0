"""Members that do not say the same as their group: nobody is evicted for such a gang.

The scheduler tries each pod with the pod's own priority, and we evict with the group's. See docs/decisions/0025.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from api.groups import PodGroup
from api.plans import MismatchReason
from nodes.groups.forms import by_its_pods

__all__ = ["Asking", "Mismatch", "mismatch"]

NAMED: Final = 3
"""Schedulers that a message names."""


class Asking(NamedTuple):
    """What an unbound member says of itself."""

    name: str
    priority: int
    never: bool
    """Its preemptionPolicy is Never."""
    scheduler: str
    """spec.schedulerName."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What differs: for programs, and in words that say how to set it."""

    reason: MismatchReason
    text: str


def mismatch(group: PodGroup, priority: int, members: Sequence[Asking]) -> Mismatch | None:
    """What is wrong with a group that may evict; None if all its unbound members agree with it and one another.

    `priority` is the group's. All unbound members count, those beyond minCount too: the scheduler tries them all.
    """
    faults = [
        *_priorities(group, priority, members),
        *_policies(group, members),
        *_schedulers(members),
    ]
    return Mismatch(faults[0].reason, "; ".join(fault.text for fault in faults)) if faults else None


def _priorities(group: PodGroup, priority: int, members: Sequence[Asking]) -> Iterator[Mismatch]:
    if others := [member for member in members if member.priority != priority]:
        its = "another pod of its group" if by_its_pods(group) else "its PodGroup"
        said = f"pod {others[0].name} has priority {others[0].priority}, and {its} has {priority}"
        yield Mismatch("PriorityMismatch", f"{said}{_count(others)}: {_one_class(group)}")


def _policies(group: PodGroup, members: Sequence[Asking]) -> Iterator[Mismatch]:
    if others := [member for member in members if member.never]:
        its = "its group" if by_its_pods(group) else "its PodGroup"
        said = f"pod {others[0].name} has preemptionPolicy Never, and {its} has PreemptLowerPriority"
        yield Mismatch("PriorityMismatch", f"{said}{_count(others)}: {_one_class(group)}")


def _schedulers(members: Sequence[Asking]) -> Iterator[Mismatch]:
    first = {member.scheduler: member.name for member in reversed(members)}
    if len(first) > 1:
        said = ", ".join(f"pod {name} has {scheduler}" for scheduler, name in sorted(first.items())[:NAMED])
        text = f"its pods name {len(first)} schedulers ({said}): set one schedulerName"
        yield Mismatch("SchedulerMismatch", text)


def _count(others: Sequence[Asking]) -> str:
    return f" ({len(others)} pods differ)" if len(others) > 1 else ""


def _one_class(group: PodGroup) -> str:
    """How to set it. Neither a pod's priority nor a PodGroup's can be changed later."""
    if by_its_pods(group):
        return "create all of them with one priorityClassName"
    name = group.spec.priority_class_name
    which = f"the PodGroup's is {name}" if name else "the PodGroup has none"
    return f"create both with one priorityClassName ({which})"

"""The pods of a group, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from api.core import Pod
from api.groups import SCHEDULING_GATE, PodGroup
from nodes.answers.group_counts import GroupCounts
from nodes.search.preemptors.gangs import minimum_of
from nodes.state.pods.pods import ENDED

__all__ = ["Members", "count_members"]


@dataclass(frozen=True, slots=True)
class Members:
    """The pods of a group, counted."""

    exist: int
    required: int
    bound: int
    gated: int
    """Pods with a scheduling gate of another program. They do not count as existing."""
    gates: tuple[str, ...]
    """Those gates."""
    ours: int
    """Pods with our scheduling gate."""
    terminating: int
    ended: int

    def numbers(self, minimum: int | None) -> dict[str, int | str]:
        """By the names of docs/why.md."""
        counts = {
            "minCount": minimum,
            "members": self.exist,
            "requiredMembers": self.required,
            "boundMembers": self.bound,
            "gatedPods": self.gated,
            "podsWithOurGate": self.ours,
            "terminatingPods": self.terminating,
            "endedPods": self.ended,
        }
        return {name: count for name, count in counts.items() if count is not None}


def count_members(counts: GroupCounts, row: int, group: PodGroup | None, pods: Sequence[Pod]) -> Members:
    """The pods of the group in this row, -1 without one. `pods`: the same whole, also those that have ended."""
    found = counts.of(row)
    succeeded = counts.snapshot.group_succeeded[row] if row >= 0 else 0
    waiting = [
        pod for pod in pods if pod.status.phase not in ENDED and pod.metadata.deletion_timestamp is None
    ]
    gates = [gate.name for pod in waiting for gate in pod.spec.scheduling_gates or ()]
    return Members(
        exist=found.exist,
        required=(minimum_of(group, found.exist, succeeded) or 0) if group is not None else 0,
        bound=found.bound,
        gated=found.gated,
        gates=tuple(sorted({gate for gate in gates if gate != SCHEDULING_GATE})),
        ours=gates.count(SCHEDULING_GATE),
        terminating=found.terminating,
        ended=sum(pod.status.phase in ENDED for pod in pods),
    )

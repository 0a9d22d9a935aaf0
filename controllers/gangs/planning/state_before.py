"""Gangs that are observed are decided about on the state before their scheduler began to place them.

No gang is held where nothing is enforced. Its scheduler binds members as they come, and evicts pods for them, before
the last one exists. Enforce would have decided on the state without that. So does Observe, as far as it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from math import inf

from api.clock import Clock
from api.core import Pod
from controllers.gangs.keys import GroupKey
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.scheduler_marks import SchedulerMarks
from nodes.search.preemptors.before import NotPutBackError, put_back
from nodes.state.columns.flags import TERMINATING
from nodes.state.snapshot import Snapshot

__all__ = ["StateBefore"]


class StateBefore:
    """Puts back what the scheduler did for a gang, in a snapshot, while the pods that it evicted still terminate."""

    def __init__(
        self, roster: Roster, marks: SchedulerMarks, has_run: Callable[[GroupKey], bool], clock: Clock
    ) -> None:
        """`has_run`: whether the gang has run whole. Then its bound members run, and nothing is put back."""
        self._roster, self._marks, self._has_run, self._clock = roster, marks, has_run, clock
        self._gone: dict[str, float] = {}
        """By node: when a pod that a scheduler had preempted there went last, in seconds since the epoch."""

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod; None when it is gone. To be called before the marks hear of it."""
        node = self._marks.node_of(uid) if pod is None else None
        if node is not None:
            self._gone[node] = self._clock.wall()

    def apply(self, snapshot: Snapshot, group: GroupKey) -> tuple[Snapshot, str]:
        """The state before, and why it is not known; then it is the snapshot as it is. Empty if it is known."""
        if self._has_run(group):
            return snapshot, ""
        members = self._roster.members(group)
        bound = {member.uid: member.node for member in members if member.node is not None}
        own = {row for member in members if (row := snapshot.pod_rows.get(member.uid)) is not None}
        nominated = {snapshot.node_names[snapshot.nominated[row]] for row in own if row in snapshot.nominated}
        nodes = nominated | set(bound.values())
        try:
            return put_back(snapshot, bound, self._evicted(snapshot, group, own, nodes)), ""
        except NotPutBackError as error:
            return snapshot, str(error)

    def _evicted(
        self, snapshot: Snapshot, group: GroupKey, own: Set[int], nodes: Set[str]
    ) -> Collection[str]:
        """The pods (UIDs) that were preempted for the gang: on a node that a member got, or is nominated to.

        Raises NotPutBackError if one has gone, or if it may have been for somebody else.
        """
        since = min((snapshot.pod_created.item(row) for row in own), default=0)
        for node in sorted(nodes):
            if self._gone.get(node, -inf) >= since:
                raise NotPutBackError(f"a pod that was preempted on node {node} is gone")
        priority = self._roster.group_priority(group)
        found = [uid for node in nodes for uid in self._marks.on(node, since=-inf)]
        rows = {uid: row for uid in found if (row := snapshot.pod_rows.get(uid)) is not None}
        evicted = {
            uid: row
            for uid, row in rows.items()
            if snapshot.pod_flags[row] & TERMINATING and (priority or 0) > snapshot.pod_priority[row]
        }
        others = {place for row, place in snapshot.nominated.items() if row not in own}
        places = {snapshot.pod_node.item(row) for row in evicted.values()}
        if shared := sorted(snapshot.node_names[place] for place in places & others):
            raise NotPutBackError(
                f"pods on node {shared[0]} were preempted, and another pod is nominated to it"
            )
        return evicted

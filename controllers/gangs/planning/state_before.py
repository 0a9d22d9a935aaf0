"""Gangs that are observed are decided about on the state before their scheduler began to place them.

No gang is held where nothing is enforced. Its scheduler binds members as they come, and evicts pods for them, before
the last one exists. Enforce would have decided on the state without that. So does Observe, as far as it is known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Set
from math import inf

from api.core import Pod
from api.groups import has_run
from controllers.gangs.keys import GroupKey
from controllers.gangs.mirror.preempted_pods import PreemptedPods
from controllers.gangs.mirror.roster import MemberView, Roster
from controllers.gangs.mirror.scheduler_marks import SchedulerMarks
from nodes.search.preemptors.before import NotPutBackError, put_back, with_gone
from nodes.state.columns.flags import TERMINATING
from nodes.state.kept import KeptPod
from nodes.state.snapshot import Snapshot

__all__ = ["StateBefore"]


class StateBefore:
    """Puts back what the scheduler did for a gang, in a snapshot."""

    def __init__(
        self,
        roster: Roster,
        marks: SchedulerMarks,
        preempted: PreemptedPods,
        has_run: Callable[[GroupKey], bool],
    ) -> None:
        """`has_run`: whether the gang has run whole. Then its bound members run, and nothing is put back."""
        self._roster, self._marks, self._preempted, self._has_run = roster, marks, preempted, has_run
        self._begun = frozenset[str]()
        """UIDs of groups for which a scheduler had done something before this term."""

    def begin(self) -> None:
        """A term begins: pods may have gone that nobody saw. The mirror must be synced."""
        self._begun = frozenset(
            group.metadata.uid
            for key, group in self._roster.groups()
            if not has_run(group) and any(self._is_placed(member) for member in self._roster.members(key))
        )

    def _is_placed(self, member: MemberView) -> bool:
        view = self._roster.view(member.uid)
        status = view.status if view is not None else None
        return member.node is not None or (status is not None and bool(status.nominated_node_name))

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod; None when it is gone."""
        self._preempted.pod_changed(uid, pod)

    def apply(self, snapshot: Snapshot, group: GroupKey) -> tuple[Snapshot, str]:
        """The state before, and why it is not known; then it is the snapshot as it is. Empty if it is known."""
        if self._has_run(group):
            return snapshot, ""
        members = self._roster.members(group)
        bound = {member.uid: member.node for member in members if member.node is not None}
        own = {row for member in members if (row := snapshot.pod_rows.get(member.uid)) is not None}
        nominated = {snapshot.node_names[snapshot.nominated[row]] for row in own if row in snapshot.nominated}
        nodes = nominated | set(bound.values())
        if nodes and self._roster.preemptor_uid(group) in self._begun:
            return snapshot, "it had begun before reprieve began to lead"
        priority = self._roster.group_priority(group) or 0
        try:
            evicted = self._evicted(snapshot, nodes, priority)
            gone = self._gone(snapshot, nodes, own, priority)
            self._check_others(snapshot, own, evicted, gone)
            return put_back(with_gone(snapshot, gone), bound, evicted), ""
        except NotPutBackError as error:
            return snapshot, str(error)

    def _evicted(self, snapshot: Snapshot, nodes: Set[str], priority: int) -> dict[str, int]:
        """The pods that were preempted for the gang and still terminate: rows by UID.

        They are on a node that a member got, or is nominated to.
        """
        found = [uid for node in nodes for uid in self._marks.on(node, since=-inf)]
        rows = {uid: row for uid in found if (row := snapshot.pod_rows.get(uid)) is not None}
        return {
            uid: row
            for uid, row in rows.items()
            if snapshot.pod_flags[row] & TERMINATING and priority > snapshot.pod_priority[row]
        }

    def _gone(self, snapshot: Snapshot, nodes: Set[str], own: Set[int], priority: int) -> list[KeptPod]:
        """Those that are gone. Raises NotPutBackError if one of them is not kept."""
        since = min((snapshot.pod_created.item(row) for row in own), default=0)
        found = list[KeptPod]()
        for node in sorted(nodes):
            pods = self._preempted.gone_from(node, since)
            if pods is None:
                raise NotPutBackError(f"a pod that was preempted on node {node} is gone")
            found += [each for each in pods if each.priority < priority]
        return found

    def _check_others(
        self, snapshot: Snapshot, own: Set[int], evicted: dict[str, int], gone: Collection[KeptPod]
    ) -> None:
        """Raises NotPutBackError if one of these pods may have been preempted for somebody else."""
        names = snapshot.node_names
        others = {names[place] for row, place in snapshot.nominated.items() if row not in own}
        left = {each.node for each in gone}
        places = {names[snapshot.pod_node.item(row)] for row in evicted.values()} | left
        if shared := sorted(places & others):
            raise NotPutBackError(
                f"pods on node {shared[0]} were preempted, and another pod is nominated to it"
            )
        known = {*(snapshot.pod_uids[row] for row in own), *evicted}
        for node in sorted(left):
            if self._preempted.newcomers(node, known):
                raise NotPutBackError(f"pods on node {node} were preempted, and another pod has come to it")

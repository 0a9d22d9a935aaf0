"""Pods that wait, and that a new term must hear of although they came before it: kept in every process.

A term that begins in a process that has followed the cluster for long gets no events of what is there already. Tables
do not keep what a scheduler said of a pod. So these pods are kept whole; of all others the tables know enough.
"""

from __future__ import annotations

from collections.abc import Iterator

from api.core import Pod
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.scheduler.rejections import is_ours

__all__ = ["PendingPods"]


class PendingPods:
    """Pods that are neither bound nor terminating, and that have a group, or that our filter has turned down."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._pods: dict[str, Pod] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[tuple[str, Pod]]:
        """Each pod with its UID, in the order in which they came."""
        return iter(list(self._pods.items()))

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod; None when it is gone, or has ended."""
        if pod is not None and self._concerns_us(pod):
            self._pods[uid] = pod
        else:
            self._pods.pop(uid, None)

    def _concerns_us(self, pod: Pod) -> bool:
        if pod.metadata.deletion_timestamp or pod.spec.node_name:
            return False
        may_have_a_gang = pod.spec.scheduling_group is not None or self._roster.gang_of(pod) is not None
        return may_have_a_gang or any(
            is_ours(each.message)
            for each in pod.status.conditions or ()
            if each.type == "PodScheduled" and each.status == "False"
        )

"""The pods that kube-scheduler itself evicts: it marks them as we do, and does not sign."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from api.core import Pod
from api.disruption import DISRUPTION_TARGET
from api.meta import Condition
from controllers.gangs.mirror.marked_pods import PREEMPTED, SIGNED

__all__ = ["Preempted", "PreemptedPods"]


class Preempted(NamedTuple):
    """Such a pod."""

    namespace: str
    name: str
    leaving: bool
    """It terminates."""


class PreemptedPods:
    """A projection of the watched pods, kept in every process."""

    def __init__(self) -> None:
        self._pods: dict[str, Preempted] = {}

    def __iter__(self) -> Iterator[str]:
        """UIDs."""
        return iter(list(self._pods))

    def find(self, uid: str) -> Preempted | None:
        """The pod; None if the scheduler does not evict it, or if it is gone."""
        return self._pods.get(uid)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """The tables have a new state of a pod; None when it is gone."""
        if pod is not None and pod.spec.node_name and any(map(_is_theirs, pod.status.conditions or ())):
            meta = pod.metadata
            self._pods[uid] = Preempted(meta.namespace, meta.name, meta.deletion_timestamp is not None)
        else:
            self._pods.pop(uid, None)


def _is_theirs(condition: Condition) -> bool:
    said = condition.type, condition.status, condition.reason
    return said == (DISRUPTION_TARGET, "True", PREEMPTED) and SIGNED.search(condition.message) is None

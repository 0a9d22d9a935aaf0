"""Pods that our filter let onto nodes with reserved room, and that may be on their way there.

The scheduler assumes a pod at once and binds it later. Until the mirror shows the binding, only a grant keeps the next
pod out of the same room. A grant ends when the attempt has ended that it was given in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, ValuesView
from dataclasses import dataclass
from typing import Final

from api.clock import Clock
from api.core import Pod
from controllers.gangs.mirror.group_members import Requests
from runtime.mirror.versions import UNKNOWN, number_of

__all__ = ["Grant", "Grants"]

GRANT_SECONDS: Final = 30.0
"""How long a pod that our filter let pass counts as on its way; a bind that takes longer has failed."""

Said = tuple[str, str, str]
"""Status, reason and message of a condition."""


@dataclass(frozen=True, slots=True)
class Grant:
    """What one pod may take, on any one of some nodes."""

    pod: str
    """UID."""
    nodes: frozenset[str]
    requests: Requests
    until: float
    """Monotonic seconds."""
    version: int
    """The pod's resourceVersion as the scheduler had it in the attempt."""
    said: Said | None
    """The pod's condition PodScheduled as the scheduler had it; None without one."""
    nominated: str
    """The node to which the pod was nominated as the scheduler had it; empty without one."""

    def has_failed(self, pod: Pod) -> bool:
        """Whether the scheduler has said since that the attempt found no node, or that the binding failed.

        A state of the pod from before the attempt says nothing. Nor does the message of an earlier attempt, which may
        stand for long.
        """
        said = _said(pod)
        if said is None or said[0] != "False" or said == self.said:
            return False
        return self._is_older(pod)

    def has_nominated(self, pod: Pod) -> bool:
        """Whether the scheduler has said since that the pod is to come to another node than before."""
        nominated = pod.status.nominated_node_name
        return bool(nominated) and nominated != self.nominated and self._is_older(pod)

    def _is_older(self, pod: Pod) -> bool:
        return UNKNOWN != self.version < number_of(pod.metadata.resource_version)


class Grants:
    """At most one grant for each pod (UID)."""

    def __init__(self, clock: Clock, seconds: float = GRANT_SECONDS) -> None:
        """`seconds`: how long a grant lasts at most."""
        self._clock, self._seconds = clock, seconds
        self._by_pod: OrderedDict[str, Grant] = OrderedDict()
        """In the order in which they end with time."""
        self._hooks: list[Callable[[Grant, int], None]] = []

    def __contains__(self, uid: object) -> bool:
        return uid in self._by_pod

    def on_change(self, hook: Callable[[Grant, int], None]) -> None:
        """Call `hook` with each grant: with 1 when it begins, with -1 when it has ended."""
        self._hooks.append(hook)

    def get(self, uid: str) -> Grant | None:
        """The pod's grant; None if it has none."""
        return self._by_pod.get(uid)

    def values(self) -> ValuesView[Grant]:
        """All grants."""
        return self._by_pod.values()

    def note(self, pod: Pod, nodes: Iterable[str], requests: Requests) -> None:
        """The scheduler may put the pod on any one of `nodes`; `pod` is as the scheduler sent it."""
        uid = pod.metadata.uid
        self.settle(uid)
        until, version = self._clock.monotonic() + self._seconds, number_of(pod.metadata.resource_version)
        grant = self._by_pod[uid] = Grant(
            uid,
            frozenset(nodes),
            requests,
            until,
            version,
            said=_said(pod),
            nominated=pod.status.nominated_node_name,
        )
        self._tell(grant, 1)

    def settle(self, uid: str) -> None:
        """The attempt has ended: the pod is bound or gone, or the scheduler tries it anew."""
        grant = self._by_pod.pop(uid, None)
        if grant is not None:
            self._tell(grant, -1)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """The mirror has a new state of a pod; None when it is gone."""
        grant = self._by_pod.get(uid)
        if grant is None:
            return
        ended = pod is None or pod.metadata.deletion_timestamp or pod.spec.node_name
        if ended or (pod is not None and grant.has_failed(pod)):
            self.settle(uid)

    def expire(self) -> None:
        """Forget pods that should have been bound long ago."""
        now = self._clock.monotonic()
        while self._by_pod:
            uid, grant = next(iter(self._by_pod.items()))
            if grant.until >= now:
                return
            self.settle(uid)

    def covers(self, uid: str, node: str) -> bool:
        """Whether the pod may be on its way to `node`."""
        grant = self._by_pod.get(uid)
        return grant is not None and node in grant.nodes

    def _tell(self, grant: Grant, sign: int) -> None:
        for hook in self._hooks:
            hook(grant, sign)


def _said(pod: Pod) -> Said | None:
    for condition in pod.status.conditions or ():
        if condition.type == "PodScheduled":
            return condition.status, condition.reason, condition.message
    return None

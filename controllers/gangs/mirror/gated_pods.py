"""The pods that have our scheduling gate (KEP-3521)."""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from api.clock import Clock
from api.core import Pod
from api.groups import SCHEDULING_GATE
from controllers.gangs.keys import GroupKey
from nodes.groups.keys import is_foreign, is_native_name
from nodes.groups.registry import named_group

__all__ = ["GatedPod", "GatedPods"]


class GatedPod(NamedTuple):
    """A pod with our gate."""

    uid: str
    name: str
    group: GroupKey
    """(namespace, name) of its PodGroup, ours or of kube-scheduler's own kind. Without one the name is empty."""
    since: float
    """When this process first saw it, in monotonic seconds."""


class GatedPods:
    """The pods that have our gate and do not terminate. A projection of watched pods, kept in every process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pods: dict[str, GatedPod] = {}
        self._groups: dict[GroupKey, dict[str, GatedPod]] = {}
        self._can_open: set[str] = set()
        """The API server would let us remove the gate of these pods (UIDs)."""
        self._ungated: tuple[str, GroupKey] | None = None

    def __contains__(self, uid: object) -> bool:
        return uid in self._pods

    @property
    def groups(self) -> list[GroupKey]:
        """The groups that have such pods."""
        return list(self._groups)

    def find(self, uid: str) -> GatedPod | None:
        """The gated pod of this UID."""
        return self._pods.get(uid)

    def has(self, group: GroupKey) -> bool:
        """Whether the group has gated pods."""
        return group in self._groups

    def any_of(self, uids: Set[str]) -> bool:
        """Whether one of these pods has our gate."""
        return not self._pods.keys().isdisjoint(uids)

    def among(self, uids: Set[str]) -> frozenset[str]:
        """Those of these pods that have our gate."""
        return frozenset(self._pods.keys() & uids)

    def any_shut(self, uids: Set[str]) -> bool:
        """Whether one of these pods has our gate, and it is not known that the gate can be removed."""
        return not (self._pods.keys() - self._can_open).isdisjoint(uids)

    def can_open(self, uid: str) -> bool:
        """Whether the API server would let us remove the pod's gate, as far as is known."""
        return uid in self._can_open

    def note(self, uid: str, *, can_open: bool) -> None:
        """The API server would let us remove the pod's gate, or has refused that."""
        if can_open and uid in self._pods:
            self._can_open.add(uid)
        else:
            self._can_open.discard(uid)

    def of(self, group: GroupKey) -> list[GatedPod]:
        """The group's gated pods."""
        return list(self._groups.get(group, {}).values())

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod; None when it is gone, or has ended."""
        before, self._ungated = self._pods.pop(uid, None), None
        if before is not None:
            del self._groups[before.group][uid]
        if pod is not None and _is_gated(pod):
            group = _group_of(pod) or (pod.metadata.namespace, "")
            since = before.since if before is not None else self._clock.monotonic()
            self._pods[uid] = GatedPod(uid, pod.metadata.name, group, since)
            self._groups.setdefault(group, {})[uid] = self._pods[uid]
        else:
            self._can_open.discard(uid)
        if before is not None and not self._groups[before.group]:
            del self._groups[before.group]
        if before is not None and (uid not in self._pods or self._pods[uid].group != before.group):
            self._ungated = uid, before.group

    def ungated_by(self, uid: str) -> GroupKey | None:
        """The group that has one gated pod less since the last event, if that was about this pod (UID)."""
        return self._ungated[1] if self._ungated is not None and self._ungated[0] == uid else None


def _group_of(pod: Pod) -> GroupKey | None:
    """Whose member the webhook took it for."""
    key = named_group(pod)
    return key if key is not None and (not is_foreign(key[1]) or is_native_name(key[1])) else None


def _is_gated(pod: Pod) -> bool:
    gates = pod.spec.scheduling_gates or ()
    return pod.metadata.deletion_timestamp is None and any(gate.name == SCHEDULING_GATE for gate in gates)

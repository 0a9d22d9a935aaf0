"""Parked pods: preempt answered them with no node, for a reason that passes. Then they are brought back."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from typing import Final

import msgspec

from api.core import Pod
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.mirror.waiting import WaitingPod, WaitingPods
from controllers.gangs.waking.pulses import Wish
from nodes.filters.profile import DEFAULT_SCHEDULER

__all__ = ["ParkedPods", "TurnedDown", "Why", "crowd"]

MOST: Final = 10_000
"""Pods that are remembered one by one; of more, only the highest priority is."""


class TurnedDown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pods that a process which does not lead has turned down, as it tells the one that does."""

    crowds: dict[str, int]
    """By scheduler, the highest own priority of these pods."""
    alone: list[str]
    """UIDs of those that only a pulse on themselves brings back."""


class Why(Enum):
    """Why there was no node for a pod."""

    RESERVED = "reserved"
    """Room is reserved, or a victim leaves, for a pod group. It passes when a plan ends."""
    NOT_READY = "not ready"
    """This process could not answer, does not lead, or does not know a victim yet. It passes when the mirror may be
    trusted, or a leader knows."""


class ParkedPods:
    """Kept in every process, since calls also come to a process that does not lead."""

    def __init__(self, waiting: WaitingPods, *, most: int = MOST) -> None:
        self._waiting, self._most = waiting, most
        self._pods: dict[Why, dict[str, None]] = {why: {} for why in Why}
        """UIDs, in order."""
        self._others: dict[Why, dict[str, int]] = {why: {} for why in Why}
        """Of pods beyond `most`: by scheduler, their highest priority."""
        self._members: dict[GroupKey, dict[str, None]] = {}
        """UIDs of pods that preempt answered with no node because their gang waits."""
        self._gang_of: dict[str, GroupKey] = {}
        """The gang by UID."""

    def __len__(self) -> int:
        return sum(map(len, self._pods.values()))

    def waits(self, why: Why) -> bool:
        """Whether a pod is parked for this reason."""
        return bool(self._pods[why] or self._others[why])

    def note(self, pod: Pod, why: Why) -> None:
        """Preempt has just answered the pod with no node. The last reason counts."""
        uid = pod.metadata.uid
        self.forget(uid)
        if len(self) < self._most:
            self._pods[why][uid] = None
            return
        scheduler, priority = pod.spec.scheduler_name or DEFAULT_SCHEDULER, pod.spec.priority or 0
        others = self._others[why]
        others[scheduler] = max(priority, others.get(scheduler, priority))

    def note_member(self, pod: Pod, gang: GroupKey) -> None:
        """The same because its gang waits. It passes when the pod has no gang any longer, or its gang runs."""
        uid = pod.metadata.uid
        self.forget(uid)
        self._members.setdefault(gang, {})[uid] = None
        self._gang_of[uid] = gang

    @property
    def gangs(self) -> Collection[GroupKey]:
        """The gangs whose members are parked because they wait."""
        return self._members.keys()

    def take_members(self, gang: GroupKey) -> list[Wish]:
        """The gang holds them no longer: what brings them back. They are forgotten."""
        uids = self._members.pop(gang, {})
        for uid in uids:
            del self._gang_of[uid]
        return self.wishes(self._turned_down(uids, {}))

    def forget(self, uid: str) -> None:
        """The pod is bound or gone."""
        for pods in self._pods.values():
            pods.pop(uid, None)
        if (gang := self._gang_of.pop(uid, None)) is not None:
            del self._members[gang][uid]
            if not self._members[gang]:
                del self._members[gang]

    def take(self, why: Why) -> list[Wish]:
        """The reason has passed: what brings back all pods that it parked. They are forgotten."""
        return self.wishes(self.hand_over(why))

    def wishes(self, turned_down: TurnedDown) -> list[Wish]:
        """What brings back these pods."""
        alone = [pod for uid in turned_down.alone if (pod := self._waiting.find(uid)) is not None]
        crowds = [crowd(scheduler, priority) for scheduler, priority in turned_down.crowds.items()]
        return [*(_alone(pod) for pod in alone), *crowds]

    def hand_over(self, why: Why) -> TurnedDown:
        """All pods that are parked for this reason. They are forgotten."""
        parked, self._pods[why] = self._pods[why], {}
        others, self._others[why] = self._others[why], {}
        return self._turned_down(parked, others)

    def _turned_down(self, uids: Iterable[str], others: dict[str, int]) -> TurnedDown:
        """Those of these pods that wait. `others`: by scheduler, the highest priority of more pods."""
        pods = [pod for uid in uids if (pod := self._waiting.find(uid)) is not None]
        for pod in pods:
            if not pod.for_ports:
                others[pod.scheduler] = max(pod.priority, others.get(pod.scheduler, pod.priority))
        return TurnedDown(others, [pod.uid for pod in pods if pod.for_ports])

    def put_back(self, turned_down: TurnedDown) -> None:
        """Nobody was told of these pods, which are not ready to go on."""
        self._pods[Why.NOT_READY].update(dict.fromkeys(turned_down.alone))
        others = self._others[Why.NOT_READY]
        for scheduler, priority in turned_down.crowds.items():
            others[scheduler] = max(priority, others.get(scheduler, priority))

    def take_all(self) -> list[Wish]:
        """What brings back every pod that a scheduler has found no node for, whoever answered it, and whatever.

        For the beginning of a term: nobody knows who called while no process answered. Pods that wait for host ports
        are brought back only if this process answered them.
        """
        self._members.clear()
        self._gang_of.clear()
        crowds = [crowd(scheduler, priority) for scheduler, priority in self._waiting.turned_down().items()]
        return [*(wish for why in Why for wish in self.take(why)), *crowds]


def crowd(scheduler: str, priority: int) -> Wish:
    """All pods of a scheduler whose own priority is not above this one."""
    return Wish(f"crowd {scheduler}", (-priority, "", ("", scheduler)), scheduler, priority)


def _alone(pod: WaitingPod) -> Wish:
    rank = (-pod.priority, "", (pod.namespace, pod.name))
    return Wish(f"port {pod.uid}", rank, pod.scheduler, pod.priority, uid=pod.uid, alone=True)

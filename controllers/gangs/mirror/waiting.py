"""Every pod that waits for a node, whatever group it has: who can carry a pulse, and who may need one.

A projection of watched pods, kept in every process. It holds a few words of each waiting pod and nothing of others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterator
from typing import Final, Literal, NamedTuple

from api.clock import Clock
from api.core import Pod
from api.meta import Condition
from api.times import rfc3339
from controllers.gangs.scheduler.messages import refusal
from controllers.gangs.scheduler.rejections import is_ours
from nodes.filters.profile import DEFAULT_SCHEDULER

__all__ = [
    "PULSE_NODE",
    "WaitingPod",
    "WaitingPods",
    "held_because",
    "held_condition",
    "waiting_pod",
    "waits_for_ports",
]

PULSE_NODE: Final = "pulse.reprieve.invalid"
"""The node that a pulse nominates a pod to. It takes no room, because there is no such node.

It is a legal node name (a DNS-1123 subdomain), so that the API server takes it. Nobody will use it: names under
`.invalid` are reserved and never resolve (RFC 2606), so no kubelet registers under one.
"""

HELD: Final = "reprieve.dev/Held"
"""Type of the pod condition: True while a gang's member cannot be placed (and why), False once it may go on."""

NO_PORTS: Final = "didn't have free ports for the requested pod ports"
"""What kube-scheduler's filter NodePorts says of a node (ErrReason)."""
NO_ROOM: Final = ("Insufficient ", "Too many pods")
"""What its filter NodeResourcesFit says."""
POST_FILTER: Final = " preemption: "
"""In the scheduler's message, what its filters say of nodes ends here."""


class WaitingPod(NamedTuple):
    """A pod that is neither bound nor terminating, and has not ended."""

    uid: str
    namespace: str
    name: str
    scheduler: str
    """Who schedules it, by name."""
    priority: int
    """Its own, before a group's replaces it."""
    resource_version: str
    nominated: str
    """status.nominatedNodeName; empty without one."""
    is_second_choice: bool
    """It has scheduling gates, or a native pod group. Its pulses work on some versions of the scheduler only."""
    is_turned_down: bool
    """A scheduler has tried it and found no node (PodScheduled is False, with the reason Unschedulable)."""
    for_ports: bool
    """It waits for host ports: only a pulse on itself brings it back."""
    held: str = ""
    """What its status says of us: the message of the condition HELD; empty unless that is True."""
    is_refused: bool = False
    """Our filter has turned it down in its last attempt, and a condition would bring it back."""


class WaitingPods:
    """The pods that wait now. `pod_changed` is called with every newer state of every pod."""

    def __init__(self, clock: Clock, may_write: Callable[[str], bool] = lambda _: True) -> None:
        """`may_write`: whether pods of this namespace may carry a pulse now, and be brought back by one."""
        self._clock, self._may_write = clock, may_write
        self._pods: dict[str, WaitingPod] = {}
        self._carriers: dict[str, dict[tuple[int, bool], dict[str, None]]] = {}
        """UIDs of pods without a nomination, by scheduler, then by (priority, is second choice)."""
        self._nominated: dict[str, None] = {}
        """UIDs of pods with a nomination, in order."""
        self._pulsed: dict[str, float] = {}
        """When a pod was first seen with a pulse's nomination."""

    def __len__(self) -> int:
        return len(self._pods)

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """There is a newer state of a pod; None when it is gone, or has ended."""
        if (before := self._pods.pop(uid, None)) is not None:
            self._uncount(before)
        if pod is None or pod.metadata.deletion_timestamp or pod.spec.node_name:
            self._pulsed.pop(uid, None)
            self._nominated.pop(uid, None)
            return
        waiting = self._pods[uid] = waiting_pod(pod)
        if waiting.nominated:
            self._nominated[uid] = None
        else:
            self._nominated.pop(uid, None)
            of_scheduler = self._carriers.setdefault(waiting.scheduler, {})
            of_scheduler.setdefault((waiting.priority, waiting.is_second_choice), {})[uid] = None
        if waiting.nominated == PULSE_NODE:
            self._pulsed.setdefault(uid, self._clock.monotonic())
        else:
            self._pulsed.pop(uid, None)

    def _uncount(self, pod: WaitingPod) -> None:
        if pod.nominated:
            return
        of_scheduler, key = self._carriers[pod.scheduler], (pod.priority, pod.is_second_choice)
        del of_scheduler[key][pod.uid]
        if not of_scheduler[key]:
            del of_scheduler[key]
        if not of_scheduler:
            del self._carriers[pod.scheduler]

    # ---- questions

    def find(self, uid: str) -> WaitingPod | None:
        """The waiting pod of this UID."""
        return self._pods.get(uid)

    def find_writable(self, uid: str) -> WaitingPod | None:
        """The waiting pod of this UID, if it may carry a pulse now."""
        pod = self._pods.get(uid)
        return pod if pod is not None and self._may_write(pod.namespace) else None

    @property
    def nominated(self) -> list[WaitingPod]:
        """The pods that have a nomination."""
        return [self._pods[uid] for uid in self._nominated]

    def __iter__(self) -> Iterator[WaitingPod]:
        """In the order in which they came, or changed last."""
        return iter(list(self._pods.values()))

    def carrier(
        self,
        scheduler: str,
        at_least: int,
        but: Container[str] = (),
        among: Callable[[str], bool] | None = None,
    ) -> WaitingPod | None:
        """A pod without a nomination whose own priority is the lowest that is not below `at_least`.

        `but`: UIDs that are left out. `among`: the namespaces whose pods may carry it; None: those that may be written
        to. Of equal priorities, first choices come first. None if there is no such pod.
        """
        among = among or self._may_write
        of_scheduler = self._carriers.get(scheduler, {})
        for key in sorted(key for key in of_scheduler if key[0] >= at_least):
            for uid in of_scheduler[key]:
                if uid not in but and among(self._pods[uid].namespace):
                    return self._pods[uid]
        return None

    def left_behind(self, until: float) -> WaitingPod | None:
        """A pod that has had a pulse's nomination since `until` (monotonic seconds) or longer."""
        left = (self._pods[uid] for uid, since in self._pulsed.items() if since <= until)
        return next((pod for pod in left if self._may_write(pod.namespace)), None)

    def turned_down(self, among: Callable[[str], bool] | None = None) -> dict[str, int]:
        """By scheduler, the highest own priority of the pods that it has found no node for, and that may be brought
        back. `among`: as in `carrier`."""
        among = among or self._may_write
        highest: dict[str, int] = {}
        for pod in self._pods.values():
            if pod.is_turned_down and among(pod.namespace):
                highest[pod.scheduler] = max(pod.priority, highest.get(pod.scheduler, pod.priority))
        return highest


def waits_for_ports(message: str) -> bool:
    """Whether the scheduler's message says that host ports alone keep the pod from nodes that have room for it."""
    filters = message.partition(POST_FILTER)[0]
    return NO_PORTS in filters and not any(text in filters for text in NO_ROOM)


def waiting_pod(pod: Pod) -> WaitingPod:
    """What is kept of a pod that waits."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    held = held_because(pod)
    refused = refusal(pod)
    return WaitingPod(
        uid=meta.uid,
        namespace=sys.intern(meta.namespace),
        name=meta.name,
        scheduler=sys.intern(spec.scheduler_name or DEFAULT_SCHEDULER),
        priority=spec.priority or 0,
        resource_version=meta.resource_version,
        nominated=status.nominated_node_name,
        is_second_choice=bool(spec.scheduling_gates or spec.scheduling_group),
        is_turned_down=refused is not None,
        for_ports=refused is not None and waits_for_ports(refused),
        held=sys.intern(held) if held else "",
        is_refused=refused is not None and is_ours(refused) and spec.scheduling_group is None,
    )


def held_because(pod: Pod) -> str:
    """The message of the condition HELD; empty unless that is True."""
    found = pod.status.conditions or ()
    return next((c.message for c in found if (c.type, c.status) == (HELD, "True")), "")


def held_condition(status: Literal["True", "False"], reason: str, message: str, now: float) -> Condition:
    """What a pod's status says of us at `now` (seconds since the epoch)."""
    return Condition(
        type=HELD, status=status, reason=reason, message=message[:1024], last_transition_time=rfc3339(now)
    )

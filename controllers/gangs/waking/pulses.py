"""Pulses: how parked pods are brought back when nothing else would, and how few of them do.

A pod that the scheduler has parked for want of room does not come back for a condition. It comes back when a waiting
pod of the same scheduler loses a nomination, if its own priority is not above that pod's: the scheduler treats it as
if a pod had left the node (kube-scheduler, `updatePodInSchedulingQueue`; tried on 1.34.3 and 1.37.1). So one nomination
that is written and withdrawn serves every parked pod. Each pulse has all of them retried, so pulses are few.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterator
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Final, NamedTuple, Protocol

import structlog

from controllers.gangs.metrics import PULSES
from controllers.gangs.mirror.waiting import PULSE_NODE, WaitingPod
from controllers.gangs.writing.pod_writer import PodWriter
from kube.errors import ApiError
from runtime.failpoints import failpoint

__all__ = ["Carriers", "Pulse", "PulseBudget", "PulseQueue", "Rank", "Result", "Wish", "carry_out"]

log = structlog.get_logger(__name__)

LEFT_SECONDS: Final = 5.0
"""Seconds after which a pulse's nomination counts as left behind: a pulse takes moments."""
PATIENCE_SECONDS: Final = 60.0
"""Pods that have waited this long for a pulse come before all that have waited less, whatever their ranks."""
CHANGED_SECONDS: Final = 2.0
"""How long a pod that another writer has just changed carries no pulse: its new state is on the way."""
REFUSED_SECONDS: Final = 60.0
"""How long a pod carries no pulse after the API server refused one."""
HELPLESS_SECONDS: Final = 30.0
"""Seconds after which a wish is dropped if no pod can carry its pulse."""

Rank = tuple[int, str, tuple[str, str]]
"""Sorts those who wait in queue order (`Roster.rank`)."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A pod that is to be brought back by a pulse, or the pods of a scheduler up to a priority."""

    id: str
    rank: Rank
    scheduler: str
    priority: int
    """The own priority of the pod, or the highest one of the pods."""
    uid: str = ""
    """The pod; empty if any pod of enough priority may carry the pulse."""
    alone: bool = False
    """Only a pulse on the pod itself brings it back."""
    due: float = float("-inf")
    """Not before (monotonic seconds)."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """A pulse to be done now."""

    carrier: WaitingPod
    started: float
    """Monotonic seconds."""
    is_withdrawal: bool = False
    """The nomination stands already: a process that died has left it behind."""


class Result(StrEnum):
    """The result of a pulse."""

    PULSED = "pulsed"
    CHANGED = "changed"
    """Nothing was written: somebody had changed the pod, or it is gone."""
    REFUSED = "refused"
    """Nothing was written: the API server does not let us."""
    LEFT = "left"
    """The nomination may stand: the API server is away."""


class Carriers(Protocol):
    """What is asked of `WaitingPods`."""

    def find_writable(self, uid: str) -> WaitingPod | None:
        """The waiting pod of this UID, if it may carry a pulse."""

    def carrier(self, scheduler: str, at_least: int, but: Container[str] = ()) -> WaitingPod | None:
        """A pod without a nomination, of the lowest own priority that is not below `at_least`."""

    def left_behind(self, until: float) -> WaitingPod | None:
        """A pod that has had a pulse's nomination since `until` or longer."""


class PulseBudget:
    """At most one pulse in `apart` seconds, and at most `most` in any `per` seconds. A new term counts anew."""

    def __init__(self, *, apart: float = 1.0, most: int = 10, per: float = 60.0) -> None:
        self._apart, self._per = apart, per
        self._times: deque[float] = deque(maxlen=most)
        self._last = float("-inf")

    def next(self) -> float:
        """When the next pulse may begin (monotonic seconds)."""
        full = len(self._times) == self._times.maxlen
        return max(self._last + self._apart, self._times[0] + self._per if full else float("-inf"))

    def take(self, now: float) -> None:
        """A pulse begins."""
        self._last = now
        self._times.append(now)

    def give_back(self) -> None:
        """The last pulse was not done. The next one keeps its distance all the same."""
        self._times.pop()


class _Order(NamedTuple):
    """Sorts wishes: first those that have waited too long, in the order in which they came, then by rank."""

    is_patient: bool
    since: float
    rank: Rank
    later: float


@dataclass(slots=True)
class _Entry:
    wish: Wish
    since: float
    """When somebody first wanted it."""
    wanted: float
    """When somebody last wanted it."""
    helpless: float | None = None
    """Since when there is nobody to carry the pulse."""

    def order(self, now: float) -> _Order:
        since = max(self.since, self.wish.due)
        if now >= since + PATIENCE_SECONDS:
            return _Order(False, since, self.wish.rank, since)
        return _Order(True, 0.0, self.wish.rank, since)


class PulseQueue:
    """Who waits for a pulse, and which pulse to do next. It does no I/O and sees no clock."""

    def __init__(self, budget: PulseBudget) -> None:
        self._budget = budget
        self._entries: dict[str, _Entry] = {}
        self._spared: dict[str, float] = {}
        """Pods (UIDs) that carry no pulse, and until when."""
        self._begun = float("-inf")

    def __len__(self) -> int:
        return len(self._entries)

    def begin(self, now: float) -> None:
        """Nominations of pulses that stand now are a former process's."""
        self._begun = now

    def want(self, wish: Wish, now: float) -> None:
        """Somebody is to be brought back. Of two wishes of one id the higher priority counts, and the longer wait."""
        before = self._entries.get(wish.id)
        if before is None:
            self._entries[wish.id] = _Entry(wish, now, now)
            return
        before.wanted = now
        if wish.priority >= before.wish.priority:
            before.wish = wish

    def find(self, id_: str) -> Wish | None:
        """The wish of this id, if it has not been fulfilled."""
        entry = self._entries.get(id_)
        return entry.wish if entry is not None else None

    def drop(self, id_: str) -> None:
        """Nobody waits for this any longer."""
        self._entries.pop(id_, None)

    def next(self, now: float, pods: Carriers) -> Pulse | None:
        """The pulse to begin now, None if there is none. It must be answered by `done`."""
        if now < self._budget.next():
            return None
        self._spared = {uid: until for uid, until in self._spared.items() if until > now}
        left = pods.left_behind(max(self._begun, now - LEFT_SECONDS))
        carrier = left if left is not None and left.uid not in self._spared else self._choose(now, pods)
        if carrier is None:
            return None
        self._budget.take(now)
        return Pulse(carrier, now, is_withdrawal=carrier is left)

    def done(self, pulse: Pulse, result: Result, now: float) -> list[str]:
        """The pulse has this result. Returns the ids of the wishes that it has fulfilled: they are forgotten."""
        uid = pulse.carrier.uid
        if result is Result.PULSED:
            fulfilled = [id_ for id_, entry in self._entries.items() if _serves(pulse, entry)]
            for id_ in fulfilled:
                del self._entries[id_]
            return fulfilled
        if result is not Result.LEFT:
            self._budget.give_back()
        self._spared[uid] = now + (REFUSED_SECONDS if result is Result.REFUSED else CHANGED_SECONDS)
        return []

    def give_up(self, now: float) -> list[str]:
        """Forget the wishes for which nobody could carry a pulse for a while. Returns their ids."""
        hopeless = [
            id_
            for id_, entry in self._entries.items()
            if entry.helpless is not None and now >= entry.helpless + HELPLESS_SECONDS
        ]
        for id_ in hopeless:
            del self._entries[id_]
        return hopeless

    # ---- the choice

    def _choose(self, now: float, pods: Carriers) -> WaitingPod | None:
        """The carrier for whoever comes first in order, of those that can be helped."""
        choices = list(self._choices(now, pods))
        return min(choices, key=lambda choice: choice[0])[1] if choices else None

    def _choices(self, now: float, pods: Carriers) -> Iterator[tuple[_Order, WaitingPod]]:
        crowds: dict[str, dict[int, list[_Entry]]] = {}
        for entry in self._entries.values():
            wish = entry.wish
            if wish.due > now:
                continue
            if not wish.alone:
                crowds.setdefault(wish.scheduler, {}).setdefault(wish.priority, []).append(entry)
            elif (carrier := self._itself(wish, pods)) is not None:
                entry.helpless = None
                yield entry.order(now), carrier
            elif entry.helpless is None:
                entry.helpless = now
        for scheduler, crowd in crowds.items():
            choice = self._of_crowd(scheduler, crowd, now, pods)
            if choice is not None:
                yield choice

    def _of_crowd(
        self, scheduler: str, crowd: dict[int, list[_Entry]], now: float, pods: Carriers
    ) -> tuple[_Order, WaitingPod] | None:
        """One pulse for all of a scheduler: at the highest priority for which somebody can carry it, and no higher."""
        for priority in sorted(crowd, reverse=True):
            carrier = self._of_priority(scheduler, priority, crowd[priority], pods)
            if carrier is not None:
                served = [entry for each, some in crowd.items() if each <= priority for entry in some]
                for entry in served:
                    entry.helpless = None
                return min(entry.order(now) for entry in served), carrier
            for entry in crowd[priority]:
                entry.helpless = now if entry.helpless is None else entry.helpless
        return None

    def _of_priority(
        self, scheduler: str, priority: int, entries: list[_Entry], pods: Carriers
    ) -> WaitingPod | None:
        """A waiting pod itself, else another pod of the lowest sufficient priority."""
        themselves = (self._itself(entry.wish, pods) for entry in entries)
        itself = next((pod for pod in themselves if pod is not None and pod.priority == priority), None)
        return itself or pods.carrier(scheduler, priority, self._spared)

    def _itself(self, wish: Wish, pods: Carriers) -> WaitingPod | None:
        pod = pods.find_writable(wish.uid) if wish.uid and wish.uid not in self._spared else None
        return pod if pod is not None and not pod.nominated else None


def _serves(pulse: Pulse, entry: _Entry) -> bool:
    """Whether the pulse brought the pod back. One that began to wait only afterwards may have been parked since."""
    wish, carrier = entry.wish, pulse.carrier
    if entry.wanted > pulse.started:
        return False
    if wish.uid == carrier.uid:
        return True
    return not wish.alone and wish.scheduler == carrier.scheduler and wish.priority <= carrier.priority


async def carry_out(pulse: Pulse, pods: PodWriter) -> Result:
    """Write and withdraw the nomination. Only in the version of the pod that was seen to have none."""
    pod, written = pulse.carrier, False
    if not pulse.is_withdrawal:
        try:
            written = await pods.nominate(
                pod.namespace, pod.name, pod.uid, resource_version=pod.resource_version, node=PULSE_NODE
            )
        except ApiError as error:
            if not error.is_retriable and error.status != HTTPStatus.CONFLICT:
                return _told(Result.REFUSED, pod, error)
            # If an answer was lost the nomination may have been written: a second try meets its own conflict.
        else:
            if not written:
                return _told(Result.CHANGED, pod)
            await failpoint("pulse.written")
    try:
        withdrawn = await pods.withdraw_nomination(pod.namespace, pod.name, pod.uid, node=PULSE_NODE)
    except ApiError as error:
        return _told(Result.LEFT, pod, error)
    return _told(Result.PULSED if written or withdrawn else Result.CHANGED, pod)


def _told(result: Result, pod: WaitingPod, error: ApiError | None = None) -> Result:
    PULSES.labels(result).inc()
    if error is not None:
        log.warning("a pulse failed", result=result, namespace=pod.namespace, pod=pod.name, error=str(error))
    return result

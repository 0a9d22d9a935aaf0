"""The scheduling gate of members (KEP-3521): which pods have it, and when we remove it.

The webhook puts the gate on the pods of PodGroups when they are created. The scheduler does not try a gated pod. A gate
that was removed cannot come back: from then on, filter holds the member. See docs/gates.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from enum import Enum
from typing import Final
from weakref import WeakValueDictionary

import structlog

from api.backoff import Backoff, Patience
from api.clock import Clock
from api.groups import SCHEDULING_GATE
from controllers.gangs.lifecycle.life import GroupKey, Life
from controllers.gangs.lifecycle.observations import MembersSeen
from controllers.gangs.lifecycle.probing import Probing
from controllers.gangs.lifecycle.settings import GatesMode
from controllers.gangs.metrics import GATES_REMOVED
from controllers.gangs.mirror.gated_pods import GatedPod, GatedPods
from controllers.gangs.mirror.probes import Probes
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.writing.pod_writer import PodWriter
from controllers.gangs.writing.writer import Reference
from kube.errors import ApiError
from nodes.groups.keys import is_native_name
from runtime.work.queue import KeyedQueue

__all__ = ["GRACE_SECONDS", "Gates", "Removal", "removal"]

log = structlog.get_logger(__name__)

GRACE_SECONDS: Final = 2.0
"""A group may be created just after its pods. A gated pod without a gang keeps its gate for this time."""
BURST_SECONDS: Final = 0.02
"""Pods come in bursts. One look serves all changes within this time."""
LOOK_AGAIN_SECONDS: Final = 5.0
"""How often every group with gated pods is looked at, whatever has changed."""
SEARCH_SECONDS: Final = 5.0
"""A complete gang for which nobody has searched for this time loses its gates, so that autoscalers see it."""
AT_ONCE: Final = 8
"""Writes in flight in one namespace."""
BACKOFF: Final = Backoff(1.0, 60.0)


class Removal(Enum):
    """When the gates of a group are removed."""

    NOW = "now"
    AFTER_GRACE = "after grace"
    """From each pod GRACE_SECONDS after it was first seen, unless that changes before."""
    PROBES = "probes"
    """Now from those members that the scheduler tries for the others (`controllers.gangs.lifecycle.probing`), and from
    the others later."""
    NOT_YET = "not yet"


def removal(
    mode: GatesMode, seen: MembersSeen | None, life: Life, now: float, *, native: bool = False
) -> Removal:
    """When the gates of a group are removed. `seen` is None if there is no such group, or it is no gang.

    `now` is in monotonic seconds. `native`: it is a group of kube-scheduler's own kind. A gate on one member keeps all
    of them from being tried.
    """
    if mode == "Off":
        return Removal.NOW
    if seen is None:
        return Removal.AFTER_GRACE
    if seen.bound >= seen.minimum:
        return Removal.NOW
    plan = life.plan
    if plan is not None and plan.is_steered:  # the first attempt is to find its nominations
        return Removal.NOW if plan.is_open else Removal.NOT_YET
    if plan is not None and not plan.releases:
        return Removal.PROBES if plan.alike and not plan.room_is_free else Removal.NOW
    if plan is None and life.probing is not None and life.probing.alike and not native:
        return Removal.PROBES
    if mode == "UntilPlanned":
        return Removal.NOW if life.placed else Removal.NOT_YET
    is_due = native or plan is not None or life.probing is not None or _is_decided(life, now)
    return Removal.NOW if seen.members >= seen.minimum and is_due else Removal.NOT_YET


def _is_decided(life: Life, now: float) -> bool:
    """Whether the gang is known to have no place, or has waited long enough for the search."""
    if life.phase in ("Unschedulable", "Blocked"):
        return True
    return life.complete and now >= life.complete_since + SEARCH_SECONDS


class Gates:
    """Removes the gates in one term. Each look at a group starts from what is there then."""

    def __init__(
        self,
        mode: GatesMode,
        gated: GatedPods,
        roster: Roster,
        life_of: Callable[[GroupKey], Life],
        pods: PodWriter,
        trusted: Callable[[], bool],
        clock: Clock,
    ) -> None:
        """`trusted`: whether the mirror may be trusted. Without it gates stay, unless the mode is Off."""
        self._mode, self._gated, self._roster, self._life_of = mode, gated, roster, life_of
        self._probes = Probes(gated, roster)
        self._opened: list[Callable[[GroupKey], None]] = []
        self._pods, self._trusted, self._clock = pods, trusted, clock
        self._queue: KeyedQueue[GroupKey] = KeyedQueue(backoff=BACKOFF, clock=clock)
        self._removed: set[str] = set()
        """Pods (UIDs) whose gate we have removed, and which the mirror still shows with it."""
        self._refused: dict[str, Patience] = {}
        """By pod (UID): how often in a row the API server refused to remove its gate, and when it is asked again."""
        self._slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """By namespace, as long as somebody writes there."""

    def on_opened(self, listener: Callable[[GroupKey], None]) -> None:
        """Call this when it is newly known that gates of a group can be removed."""
        self._opened.append(listener)

    # ---- what happens

    def pod_changed(self, uid: str) -> None:
        """There is a newer state of a pod, and the gated pods know it."""
        pod = self._gated.find(uid)
        if pod is not None:
            self._queue.add_after(pod.group, BURST_SECONDS)
        else:
            self._removed.discard(uid)
            self._refused.pop(uid, None)

    def group_touched(self, group: GroupKey) -> None:
        """The group or a member has changed."""
        if self._gated.has(group):
            self._queue.add_after(group, BURST_SECONDS)

    def gang_changed(self, group: GroupKey) -> None:
        """The gang's life may have changed."""
        if self._gated.has(group):
            self._queue.add(group)

    def _look_at_all(self) -> None:
        for group in self._gated.groups:
            self._queue.add(group)

    # ---- doing it

    async def run(self) -> None:
        """Remove gates until cancelled. A namespace that answers slowly delays no other one."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._look_again(), name="gates")
            while True:
                group = await self._queue.get()
                tasks.create_task(self._work(group), name="gates")

    async def _look_again(self) -> None:
        while True:
            self._look_at_all()
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def _work(self, group: GroupKey) -> None:
        try:
            errors = await self._look(group)
        except Exception:
            log.exception("the gates of a group are passed over for now", group=group)
            self._queue.retry(group)
        else:
            self._queue.forget(group)
            if errors:
                log.warning("gates could not be removed", group=group, pods=len(errors), error=errors[0])
        self._queue.done(group)

    async def _look(self, group: GroupKey) -> list[str]:
        """Remove the gates that are due. Returns the errors."""
        pods = self._gated.of(group)
        if not self._pods.may_write(group[0]) or (self._mode != "Off" and not self._trusted()):
            return []
        life, now = self._life_of(group), self._clock.monotonic()
        match removal(self._mode, self._seen(group), life, now, native=is_native_name(group[1])):
            case Removal.NOW:
                return await self._remove(pods)
            case Removal.AFTER_GRACE:
                return await self._remove(self._past_grace(pods))
            case Removal.PROBES if life.probing is not None:
                return await self._probe(group, pods, life.probing)
            case _:
                return []

    def _seen(self, group: GroupKey) -> MembersSeen | None:
        count = self._roster.count(group)
        return None if count.minimum is None else MembersSeen(count.minimum, count.members, count.bound)

    def _past_grace(self, pods: Iterable[GatedPod]) -> list[GatedPod]:
        return [pod for pod in pods if self._is_due(pod, pod.since + GRACE_SECONDS)]

    def _is_due(self, pod: GatedPod, when: float) -> bool:
        """Whether that time (monotonic seconds) has come. If not, the pod's group is looked at again then."""
        left = when - self._clock.monotonic()
        if left > 0:
            self._queue.add_after(pod.group, left)
        return left <= 0

    async def _probe(self, group: GroupKey, pods: Collection[GatedPod], probing: Probing) -> list[str]:
        """Remove the gates of this round, and ask the API server whether it would let us remove the others later."""
        opening = self._probes.to_open(group, probing)
        later = [pod for pod in pods if pod.uid not in opening and not self._gated.can_open(pod.uid)]
        rehearsed = self._remove(later, dry_run=True)
        errors, refused = await asyncio.gather(
            self._remove(pod for pod in pods if pod.uid in opening), rehearsed
        )
        if any(self._gated.can_open(pod.uid) for pod in later):
            for listener in self._opened:
                listener(group)
        return errors + refused

    async def _remove(self, pods: Iterable[GatedPod], *, dry_run: bool = False) -> list[str]:
        chosen = [pod for pod in pods if self._may_remove(pod)]
        found = await asyncio.gather(*(self._remove_one(pod, dry_run=dry_run) for pod in chosen))
        return [error for error in found if error]

    def _may_remove(self, pod: GatedPod) -> bool:
        refusal = self._refused.get(pod.uid)
        return pod.uid not in self._removed and (refusal is None or self._is_due(pod, refusal.until))

    async def _remove_one(self, pod: GatedPod, *, dry_run: bool) -> str:
        """Returns why the gate could not be removed; "" if it was, or the pod is gone."""
        namespace = pod.group[0]
        async with self._slots.setdefault(namespace, asyncio.Semaphore(AT_ONCE)):
            try:
                is_there = await self._pods.remove_gate(namespace, pod.name, pod.uid, dry_run=dry_run)
            except ApiError as error:
                GATES_REMOVED.labels("refused").inc()
                self._gated.note(pod.uid, can_open=False)
                self._note_refusal(pod)
                self._tell(pod, error)
                return f"pod {pod.name}: {error}"
        self._gated.note(pod.uid, can_open=True)
        if dry_run:
            return ""
        GATES_REMOVED.labels("removed" if is_there else "gone").inc()
        if pod.uid in self._gated:
            self._removed.add(pod.uid)
        return ""

    def _tell(self, pod: GatedPod, error: ApiError) -> None:
        """The pod waits for this alone, so its user must learn of it. What passes by itself is not told."""
        if not error.is_retriable:
            regarding = Reference("v1", "Pod", pod.group[0], pod.name, pod.uid)
            note = f"the scheduling gate {SCHEDULING_GATE} cannot be removed: {error}"
            self._pods.event(regarding, "Warning", "GateNotRemoved", "Scheduling", note)

    def _note_refusal(self, pod: GatedPod) -> None:
        if pod.uid in self._gated:
            refusal, now = self._refused.setdefault(pod.uid, Patience()), self._clock.monotonic()
            refusal.put_off(now, BACKOFF)
            self._queue.add_after(pod.group, refusal.until - now)

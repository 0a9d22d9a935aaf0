"""Waking: whatever our filter turns down comes back to the scheduler when the reason has gone.

The scheduler tries a pod that an extender turned down again only after an event. A gang's progress is not an event, and
a condition that is written to the pod's status is one. A nominated node name is written once, on Ready: while filter
holds a pod the scheduler clears it, which wakes the pod, and so on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable
from functools import partial
from http import HTTPStatus
from typing import Final, NamedTuple

import structlog

from api.clock import Clock
from api.core import Pod
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey
from controllers.gangs.metrics import WAKES
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import WaitingPod, held_condition
from controllers.gangs.scheduler.rejections import is_kept_out, is_ours
from controllers.gangs.writing.pod_writer import PodWriter
from controllers.gangs.writing.writes import Writes
from kube.errors import ApiError

__all__ = ["Wake", "Waker"]

log = structlog.get_logger(__name__)

AT_ONCE: Final = 16

RETRIES: Final = "missed wakes"
"""What a namespace's writes of pods that were missed are called. No object has such a name."""
FREE: Final = "its room is free"
CHOOSES: Final = "the scheduler chooses its node, because its devices are not modelled"

KEPT_OUT: Final = "kept out"
"""The same of pods that were kept out of promised room."""


class Wake(NamedTuple):
    """One condition to write, and the node to nominate with it."""

    uid: str
    namespace: str
    name: str
    reason: str
    message: str
    node: str | None = None


class Waker:
    """Remembers the pods that filter turned down, by gang. None: pods that were kept out of promised room.

    `KeptOut` says which of the latter to wake.
    """

    def __init__(self, pods: PodWriter, roster: Roster, clock: Clock, gated: Container[str]) -> None:
        """`gated`: the pods (UIDs) that have our scheduling gate. They come to the scheduler when that is removed."""
        self._pods, self._roster, self._clock, self._gated = pods, roster, clock, gated
        self._held: dict[GroupKey | None, dict[str, tuple[str, str]]] = {}
        self._under: dict[str, GroupKey | None] = {}
        self._kept: set[GroupKey | None] = set()
        self._missed: list[Wake] = []
        self._serial = 0
        self._slots = asyncio.Semaphore(AT_ONCE)
        """For nominations that bring nobody back."""

    def hold(self, group: GroupKey | None, pod: Pod) -> None:
        """Filter turned the pod down."""
        self._note(group, pod)
        self._kept.add(group)

    def hold_outside(self, group: GroupKey | None, pod: Pod) -> None:
        """Filter kept the pod in the domain of its gang. It comes back when the gang says so, not when filter lets the
        gang's pods pass: it does that already."""
        self._note(group, pod)

    def recall(self, pod: Pod) -> None:
        """After a restart only the pod's status tells that a former process turned it down.

        A condition does not bring back a pod of kube-scheduler's own groups: they have a backoff.
        """
        if pod.metadata.uid in self._under:
            return
        messages = [
            c.message for c in pod.status.conditions or [] if c.type == "PodScheduled" and c.status == "False"
        ]
        if any(is_kept_out(message) for message in messages):
            self._note(None, pod)
        elif any(is_ours(message) for message in messages):
            gang = self._roster.gang_of(pod)
            if gang is not None or pod.spec.scheduling_group is None:
                self._note(gang, pod)

    def _note(self, group: GroupKey | None, pod: Pod) -> None:
        uid = pod.metadata.uid
        if self._roster.comes_by_backoff(pod):
            return
        if uid in self._under and self._under[uid] != group:
            self.forget(uid)
        self._under[uid] = group
        self._held.setdefault(group, {})[uid] = (pod.metadata.namespace, pod.metadata.name)

    def forget(self, uid: str) -> None:
        """The pod is bound or gone."""
        if uid not in self._under:
            return
        group = self._under.pop(uid)
        del self._held[group][uid]
        if not self._held[group]:
            self._take(group)

    def is_kept_out(self, uid: str) -> bool:
        """Whether the pod is kept out of promised room, and not held because of its own gang."""
        return uid in self._held.get(None, ())

    def is_held(self, uid: str) -> bool:
        """Whether the pod is held or kept out, and nobody has brought it back since."""
        return uid in self._under

    @property
    def kept(self) -> frozenset[GroupKey | None]:
        """Gangs whose pods filter has turned down since they were last woken; None: as in the class."""
        return frozenset(self._kept)

    @property
    def behind(self) -> bool:
        """Whether a pod that should be awake may not be."""
        return bool(self._missed or self._kept)

    async def wake(self, group: GroupKey, reason: str, message: str) -> None:
        """What held the gang's pods has ended."""
        pods = self._take(group)
        await self._write(Wake(uid, *where, reason, message) for uid, where in pods.items())

    def wake_kept_out(self, pods: Iterable[str], reason: str, message: str, writes: Writes) -> None:
        """Those of these pods (UIDs) that are kept out of promised room may find some now.

        It is written for each namespace by itself.
        """
        wakes: dict[str, list[Wake]] = {}
        for uid in [uid for uid in pods if uid in self._under]:
            wake = Wake(uid, *self._held[self._under[uid]][uid], reason, message)
            wakes.setdefault(wake.namespace, []).append(wake)
            self.forget(uid)
        for namespace, some in wakes.items():
            writes.put((namespace, KEPT_OUT), partial(self._write, some))

    def _take(self, group: GroupKey | None) -> dict[str, tuple[str, str]]:
        pods = self._held.pop(group, {})
        self._kept.discard(group)
        for uid in pods:
            self._under.pop(uid, None)
        return pods

    async def bound(self, pod: Pod) -> None:
        """The pod is bound, and its condition must not say any longer that it is held."""
        meta = pod.metadata
        await self._write([Wake(meta.uid, meta.namespace, meta.name, "Bound", "it is bound")])

    async def bring_back(self, plan: ActivePlan, *, nominate: bool) -> None:
        """The plan is Ready: every member that is not bound comes back when it is the turn of its wave.

        With a nomination, it finds its node first.
        """
        await self._write(self._members(plan, nominate=nominate))

    async def nominate(self, plan: ActivePlan) -> bool:
        """Nominate each planned member that waits to its node, and do not bring it back. Returns whether all of them
        have their nomination, those aside that the API server does not give one."""
        wakes = self._members(plan, nominate=True)
        found = await asyncio.gather(*(self._nominate(wake) for wake in wakes if wake.node is not None))
        return all(found)

    async def _nominate(self, wake: Wake) -> bool:
        try:
            async with self._slots:
                await self._pods.patch_pod_status(
                    wake.namespace, wake.name, wake.uid, nominated_node_name=wake.node
                )
        except ApiError as error:
            _tell(wake, error)
            return not error.is_retriable
        return True

    async def withdraw(self, pods: Iterable[WaitingPod]) -> None:
        """Withdraw the nominations that these pods have. One that the API server does not take is asked for again by
        whoever still needs it."""
        for pod in pods:
            try:
                await self._pods.withdraw_nomination(pod.namespace, pod.name, pod.uid, node=pod.nominated)
            except ApiError as error:
                log.warning(
                    "a nomination could not be withdrawn",
                    namespace=pod.namespace,
                    pod=pod.name,
                    error=str(error),
                )

    async def ask(self, wakes: Iterable[Wake]) -> set[str]:
        """Bring back held pods, so that the scheduler asks about them again. They count as held all the same.

        Returns the UIDs of those that the caller may try again: the API server was away.
        """
        missed: set[str] = set()
        await self._send(wakes, lambda wake: missed.add(wake.uid))
        return missed

    def retry(self, writes: Writes) -> None:
        """Write again what the API server would not take, each namespace for itself."""
        for namespace in {wake.namespace for wake in self._missed}:
            if writes.is_idle((namespace, RETRIES)):
                writes.put((namespace, RETRIES), partial(self._retry, namespace))

    async def _retry(self, namespace: str) -> None:
        await self._write([wake for wake in self._missed if wake.namespace == namespace])

    def _members(self, plan: ActivePlan, *, nominate: bool) -> list[Wake]:
        waiting = self._roster.waiting(plan)
        if not plan.is_steered:  # otherwise our gates go when all have their nominations
            waiting = {uid: each for uid, each in waiting.items() if uid not in self._gated}
        return [
            Wake(
                uid,
                plan.namespace,
                member.name,
                "Ready",
                f"{CHOOSES if member.any_node else FREE} (plan {plan.name})",
                member.node if nominate and not member.any_node else None,
            )
            for uid, member in waiting.items()
            if plan.has_turn(member)
        ]

    async def _write(self, wakes: Iterable[Wake]) -> None:
        """Write every pod its condition, now or when `retry` is called."""
        wakes = list(wakes)
        # A later word on a pod is the last one: no nomination of a plan that has ended is written after it.
        said = {wake.uid for wake in wakes}
        self._missed = [wake for wake in self._missed if wake.uid not in said]
        await self._send(wakes, self._missed_it)

    def _missed_it(self, wake: Wake) -> None:
        self._missed.append(wake)

    async def _send(self, wakes: Iterable[Wake], missed: Callable[[Wake], object]) -> None:
        """Write every pod its condition; a serial makes each one a change, for only a change wakes.

        `missed` is called for those that may succeed later. Pods of observed namespaces are left to the scheduler.
        """
        wakes = [wake for wake in wakes if self._pods.may_write(wake.namespace)]
        self._serial += 1
        serial, slots = self._serial, asyncio.Semaphore(AT_ONCE)

        async def one(wake: Wake) -> None:
            condition = held_condition("False", wake.reason, f"{wake.message} [{serial}]", self._clock.wall())
            async with slots:
                try:
                    await self._pods.patch_pod_status(
                        wake.namespace,
                        wake.name,
                        wake.uid,
                        conditions=[condition],
                        nominated_node_name=wake.node,
                    )
                except ApiError as error:
                    if error.is_retriable:
                        missed(wake)
                    _tell(wake, error)
                else:
                    WAKES.labels(wake.reason).inc()

        await asyncio.gather(*(one(wake) for wake in wakes))


def _tell(wake: Wake, error: ApiError) -> None:
    """A pod that is bound by now takes no nomination, and needs no waking."""
    if error.status != HTTPStatus.UNPROCESSABLE_ENTITY:
        log.warning("a pod could not be woken", namespace=wake.namespace, pod=wake.name, error=str(error))

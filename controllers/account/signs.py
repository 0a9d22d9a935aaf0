"""What every process knows of preemptions: pods that are marked, and the events that name preemptors.

Both end with their objects: a pod is gone, and the API server forgets events after a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from api.clock import Clock
from api.core import Pod
from api.preempted import PreemptedEvent, Preemption, mark_in, preemption_of
from api.times import parse_rfc3339
from controllers.account.cases import Victim
from runtime.exchange.accounted import Unit

__all__ = ["Events", "MarkedPods", "Said"]

PLANNED_SECONDS: Final = 600.0
"""How long it is remembered that a pod was evicted by a plan: its event may come after it is gone."""


class MarkedPods:
    """Pods that a scheduler preempts, and that are still there."""

    def __init__(self, unit_of: Callable[[Pod], Unit], clock: Clock) -> None:
        self._unit_of, self._clock = unit_of, clock
        self._marked: dict[str, Victim] = {}
        self._planned: dict[str, float] = {}
        """Victims (UIDs) of plans of ours by which the scheduler evicts: when they were marked, the oldest first."""

    def __iter__(self) -> Iterator[Victim]:
        return iter(self._marked.values())

    def is_planned(self, uid: str) -> bool:
        """Whether the pod is a victim of a plan of ours by which the scheduler evicts. It may be gone."""
        return uid in self._planned

    def pod_changed(self, uid: str, pod: Pod | None) -> Victim | None:
        """There is a newer state of a pod; None when it is gone. Returns the pod if it is newly marked."""
        if pod is None:
            self._marked.pop(uid, None)
            return None
        conditions = pod.status.conditions
        if not conditions or uid in self._marked or not pod.spec.node_name or mark_in(conditions) is None:
            return None
        unit, meta, now = self._unit_of(pod), pod.metadata, self._clock.wall()
        self._planned = {each: at for each, at in self._planned.items() if at >= now - PLANNED_SECONDS}
        if unit.planned:
            self._planned[uid] = now
        if uid in self._planned:
            return None
        victim = Victim(uid, meta.namespace, pod.spec.node_name, now, unit.uid, unit.running, unit.priority)
        self._marked[uid] = victim
        return victim


class Said(NamedTuple):
    """An event: a scheduler has preempted a pod."""

    victim: str
    """Its UID."""
    namespace: str
    preemption: Preemption
    at: float
    """In seconds since the epoch."""

    def as_victim(self) -> Victim:
        """The pod, if nothing else is known of it."""
        return Victim(
            self.victim, self.namespace, self.preemption.node, self.at, unit=self.victim, seen=False
        )


class Events:
    """The store of the events."""

    def __init__(self, heard: Callable[[Said], object], clock: Clock) -> None:
        """`heard` gets each new one."""
        self._heard, self._clock = heard, clock
        self._said: dict[tuple[str, str], Said | None] = {}

    def __iter__(self) -> Iterator[Said]:
        return (each for each in self._said.values() if each is not None)

    def upsert(self, item: PreemptedEvent) -> bool:
        """See `runtime.mirror.views.Store`."""
        meta = item.metadata
        key = meta.namespace, meta.name
        if key in self._said:
            return False
        preemption = preemption_of(item)
        said = None
        if preemption is not None:
            victim = item.involved_object
            said = Said(victim.uid, victim.namespace, preemption, self._time(item.when))
        self._said[key] = said
        if said is not None:
            self._heard(said)
        return False

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`."""
        self._said.pop((namespace, name), None)
        return False

    def _time(self, text: str) -> float:
        try:
            return min(parse_rfc3339(text), self._clock.wall())
        except ValueError:
            return self._clock.wall()

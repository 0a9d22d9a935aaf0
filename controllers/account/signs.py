"""What every process knows of preemptions: pods that are marked, and the events that name preemptors.

Both end with their objects: a pod is gone, and the API server forgets events after a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from api.clock import Clock
from api.core import Pod
from api.preempted import PreemptedEvent, Preemption, mark_in, preemption_of
from api.times import parse_rfc3339
from controllers.account.costs import Lost, lost_of
from controllers.account.victims import Victim
from runtime.exchange.accounted import Owner, Unit, Usage

__all__ = ["Events", "MarkedPods", "Said"]

PLANNED_SECONDS: Final = 600.0
"""How long it is remembered that a pod was evicted by a plan: its event may come after it is gone."""
PAST_SECONDS: Final = 3600.0
"""How long it is remembered what a pod lost: decisions put it back as long as its preemptor waits. API servers keep its
event as long, and a process that leads later needs both."""


class MarkedPods:
    """Pods that a scheduler preempts, and that are still there."""

    def __init__(
        self, unit_of: Callable[[Pod], Unit], usage_of: Callable[[str], Usage | None], clock: Clock
    ) -> None:
        """`usage_of`: what a pod (UID) holds, if it is there."""
        self._unit_of, self._usage_of, self._clock = unit_of, usage_of, clock
        self._marked: dict[str, Victim] = {}
        self._planned: dict[str, float] = {}
        """Victims (UIDs) of plans of ours by which the scheduler evicts: when they were marked, the oldest first."""
        self._past: dict[str, Victim] = {}
        """Pods (UIDs) that were marked, the oldest first. They may be gone."""

    def __iter__(self) -> Iterator[Victim]:
        return iter(self._marked.values())

    def find(self, uid: str) -> Victim | None:
        """A pod that is or was preempted. It may be gone."""
        return self._past.get(uid)

    def is_planned(self, uid: str) -> bool:
        """Whether the pod is a victim of a plan of ours by which the scheduler evicts. It may be gone."""
        return uid in self._planned

    def lost(self, pods: Iterable[str], at: float) -> Lost:
        """What these pods (UIDs) lose if they go at this time, or when they were marked, if they are gone."""
        return lost_of(self._usage_at(uid, at) for uid in pods)

    def _usage_at(self, uid: str, at: float) -> tuple[Usage | None, float]:
        past = self._past.get(uid)
        if past is not None:
            return past.usage, min(at, past.at)
        return self._usage_of(uid), at

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
        victim = Victim(
            uid,
            meta.namespace,
            pod.spec.node_name,
            now,
            unit.uid,
            unit.running,
            unit.priority,
            usage=self._usage(pod),
            group=unit.group,
            group_key=unit.group_key,
        )
        self._marked[uid] = victim
        self._remember(victim)
        return victim

    def _usage(self, pod: Pod) -> Usage | None:
        """What the pod holds. If no kubelet has started it yet, it has held that since it was bound."""
        usage = self._usage_of(pod.metadata.uid)
        if usage is None or pod.status.start_time is not None:
            return usage
        bound = (
            each
            for each in pod.status.conditions or ()
            if (each.type, each.status) == ("PodScheduled", "True")
        )
        since = [_seconds(each.last_transition_time) for each in bound]
        return usage._replace(since=max([usage.since, *since]))

    def _remember(self, victim: Victim) -> None:
        self._past[victim.uid] = victim
        while self._past:
            oldest = next(iter(self._past.values()))
            if oldest.at >= victim.at - PAST_SECONDS:
                break
            del self._past[oldest.uid]


class Said(NamedTuple):
    """An event: a scheduler has preempted a pod."""

    victim: str
    """Its UID."""
    namespace: str
    preemption: Preemption
    at: float
    """In seconds since the epoch."""
    owner: Owner | None
    """The preemptor. It may be gone since. None if it was not known when the event came."""

    def as_victim(self) -> Victim:
        """The pod, if nothing else is known of it."""
        return Victim(
            self.victim, self.namespace, self.preemption.node, self.at, unit=self.victim, seen=False
        )


class Events:
    """The store of the events."""

    def __init__(
        self, heard: Callable[[Said], object], owner_of: Callable[[str], Owner | None], clock: Clock
    ) -> None:
        """`heard` gets each new one. `owner_of`: see `runtime.exchange.accounted.Roll`."""
        self._heard, self._owner_of, self._clock = heard, owner_of, clock
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
            owner = self._owner_of(preemption.preemptor)
            said = Said(victim.uid, victim.namespace, preemption, self._time(item.when), owner)
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


def _seconds(text: str | None) -> float:
    try:
        return parse_rfc3339(text or "")
    except ValueError:
        return 0.0

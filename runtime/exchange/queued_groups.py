"""What the controller of queues and the controller of gangs tell each other about PodGroups in queues.

Each side writes facts that hold until it changes them. Nothing is stored. A new process finds the facts again in the
objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

from api.core import Pod
from runtime.listeners import Listenable

__all__ = ["QueuedGroups", "Queues", "Stop"]

GroupKey = tuple[str, str]
"""Namespace and name of a PodGroup."""


@dataclass(frozen=True, slots=True)
class Stop:
    """All running pods of a PodGroup are to be evicted, because its Workload was evicted."""

    uid: str
    """The PodGroup's."""
    reason: str
    """One sentence for the plan by which they are evicted."""


class Queues(Protocol):
    """Who knows which groups wait in queues."""

    def why_waits(self, pod: Pod) -> str:
        """See `QueuedGroups.why_waits`."""

    def waits(self, key: GroupKey) -> bool:
        """See `QueuedGroups.waits`."""


class QueuedGroups(Listenable[[]]):
    """The facts of one process. Everything runs on the event loop.

    Listeners are called after each change of the groups to evict.
    """

    def __init__(self) -> None:
        super().__init__()
        self._stops: dict[GroupKey, Stop] = {}
        self._queues: Queues | None = None

    def answered_by(self, queues: Queues) -> None:
        """From now on `queues` is asked which groups wait. Before that, no group does."""
        self._queues = queues

    def why_waits(self, pod: Pod) -> str:
        """Why a pod of a group must not be scheduled yet: the group waits for quota. Empty if it may."""
        return self._queues.why_waits(pod) if self._queues is not None else ""

    def waits(self, key: GroupKey) -> bool:
        """Whether no plan may be made for a group: it waits for quota, or is to be evicted."""
        return self._queues is not None and self._queues.waits(key)

    @property
    def stops(self) -> Mapping[GroupKey, Stop]:
        """The groups to evict. This is a live view."""
        return MappingProxyType(self._stops)

    def stop(self, group: GroupKey, stop: Stop) -> None:
        """The running pods of the group are to be evicted. They are gone when no bound pod of it is left."""
        if self._stops.get(group) != stop:
            self._stops[group] = stop
            self._tell()

    def go_on(self, group: GroupKey) -> None:
        """The group need not be evicted any longer."""
        if self._stops.pop(group, None) is not None:
            self._tell()

    def clear(self) -> None:
        """Whoever wrote this has ended. What it wrote is not known to hold any longer."""
        self._stops.clear()

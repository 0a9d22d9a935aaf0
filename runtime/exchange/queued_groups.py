"""What the controller of queues and the controller of gangs tell each other about PodGroups in queues.

Each side writes facts that hold until it changes them. Nothing is stored. A new process finds the facts again in the
objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

from api.core import Pod

__all__ = ["QueuedGroups", "Stop"]

GroupKey = tuple[str, str]
"""Namespace and name of a PodGroup."""


@dataclass(frozen=True, slots=True)
class Stop:
    """All running pods of a PodGroup are to be evicted, because its Workload was evicted."""

    uid: str
    """The PodGroup's."""
    reason: str
    """One sentence for the plan by which they are evicted."""


def _nothing(pod: Pod) -> str:
    del pod
    return ""


class QueuedGroups:
    """The facts of one process. Everything runs on the event loop."""

    def __init__(self) -> None:
        self._stops: dict[GroupKey, Stop] = {}
        self._listeners: list[Callable[[], None]] = []
        self.why_waits: Callable[[Pod], str] = _nothing
        """Why a pod of a group must not be scheduled yet: the group waits for quota. Empty if it may."""
        self.waits: Callable[[GroupKey], bool] = lambda _: False
        """Whether no plan may be made for a group: it waits for quota, or is to be evicted."""

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

    @contextmanager
    def told(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call `listener` after each change of the groups to evict, until the end of the block."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def _tell(self) -> None:
        for listener in list(self._listeners):
            listener()

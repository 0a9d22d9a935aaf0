"""A pod that a scheduler preempted. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from runtime.exchange.accounted import OwnerKey, Usage

__all__ = ["Victim"]


@dataclass(frozen=True, slots=True)
class Victim:
    """A pod that a scheduler preempted."""

    uid: str
    namespace: str
    node: str
    at: float
    unit: str
    """See `Unit.uid`."""
    running: int = 1
    """See `Unit.running`."""
    priority: int | None = None
    seen: bool = True
    """Whether the pod itself was seen. Otherwise only the event is known: neither its unit nor its priority."""
    usage: Usage | None = None
    """What it held. None if that is not known."""
    group: str = ""
    """See `Unit.group`."""
    group_key: OwnerKey | None = None
    idle_since: float = inf
    """Since when its group had not run: what it held after that is counted there."""

    @property
    def of_whole(self) -> bool:
        """Whether it belongs to a group that is evicted whole by rule."""
        return self.unit == self.group

    @property
    def worked_until(self) -> float:
        """When its work ended."""
        return min(self.at, self.idle_since)

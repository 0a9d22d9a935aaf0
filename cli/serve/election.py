"""What the extender asks about the Lease."""

from __future__ import annotations

from typing import Self

from controllers.gangs.controller import may_hold, mode_of
from kube.lease import LeaseLock

__all__ = ["Election"]


class Election:
    """See `extender.service.Election`."""

    def __init__(self, lock: LeaseLock) -> None:
        self._lock = lock

    @classmethod
    def of(cls, lock: LeaseLock | None) -> Self | None:
        """None for a process that is alone."""
        return cls(lock) if lock is not None else None

    @property
    def leader(self) -> str:
        """Its address, if another replica leads."""
        holder = self._lock.holder
        return holder.address if holder is not None else ""

    @property
    def in_touch(self) -> bool:
        """Whether the Lease was read lately."""
        return self._lock.in_touch

    @property
    def enforces(self) -> bool | None:
        """Whether the leader enforces, or something of that is still held. None: the Lease does not say it."""
        record = self._lock.observed.record
        if record is None or mode_of(record.notes) is None:
            return None
        return bool(may_hold(record.notes))

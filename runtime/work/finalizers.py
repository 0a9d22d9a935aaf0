"""Keeps a finalizer on the objects that need it, and takes it off those that are being deleted and that nobody uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import structlog

from api.backoff import Backoff
from api.clock import SYSTEM_CLOCK, Clock
from api.kueue import RESOURCE_IN_USE
from api.meta import ObjectMeta
from kube.errors import ApiError
from kube.finalizers import add_finalizer, has_finalizer, remove_finalizer
from kube.sender import Sender
from runtime.work.queue import KeyedQueue
from runtime.work.workers import serve

__all__ = ["FinalizerKeeper", "Guarded", "Users"]

log = structlog.get_logger(__name__)

AT_ONCE: Final = 4
"""Writes in flight."""
BACKOFF: Final = Backoff(0.2, 60.0)

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Guarded:
    """An object that may have the finalizer."""

    path: str
    """Its URL path."""
    metadata: ObjectMeta
    in_use: bool
    """Whether somebody uses it. It keeps the finalizer then."""
    adds: bool = True
    """Whether it gets the finalizer while it is not being deleted."""


class Users:
    """Which objects name which others. It answers who is in use without a walk over all."""

    def __init__(self) -> None:
        self._named: dict[str, frozenset[str]] = {}
        self._counts: dict[str, int] = {}

    def set(self, user: str, names: Iterable[str]) -> list[str]:
        """The object `user` names these now, and no others. Returns those that nobody names any longer."""
        before, after = self._named.pop(user, frozenset()), frozenset(names)
        if after:
            self._named[user] = after
        for name in after - before:
            self._counts[name] = self._counts.get(name, 0) + 1
        for name in before - after:
            self._counts[name] -= 1
            if not self._counts[name]:
                del self._counts[name]
        return sorted(name for name in before - after if name not in self._counts)

    def has(self, name: str) -> bool:
        """Whether anybody names it."""
        return name in self._counts


class FinalizerKeeper(Generic[K]):
    """Writes one finalizer, for one term."""

    def __init__(
        self,
        look: Callable[[K], Guarded | None],
        sender: Sender,
        *,
        finalizer: str = RESOURCE_IN_USE,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`look` gives the object as it is now, or None if it is gone."""
        self._look, self._sender, self._finalizer = look, sender, finalizer
        self._queue: KeyedQueue[K] = KeyedQueue(backoff=BACKOFF, clock=clock)

    def changed(self, key: K) -> None:
        """The object has changed, or who uses it."""
        self._queue.add(key)

    async def run(self) -> None:
        """Write what is due, until cancelled."""
        await serve(self._queue, self._write, self._failed, name="finalizers", workers=AT_ONCE)

    def _failed(self, key: K, error: ApiError, wait: float) -> None:
        log.info("a finalizer is written again later", object=key, error=str(error), wait=round(wait, 2))

    async def _write(self, key: K) -> None:
        guarded = self._look(key)
        if guarded is None:
            return
        meta = guarded.metadata
        has, leaves = has_finalizer(meta, self._finalizer), meta.deletion_timestamp is not None
        if leaves and has and not guarded.in_use:
            await remove_finalizer(self._sender, guarded.path, meta, self._finalizer)
        elif not leaves and not has and guarded.adds:
            await add_finalizer(self._sender, guarded.path, meta, self._finalizer)

"""Which namespaces are paused now: a projection of their annotations.

Every process has one. Whoever evicts asks it right before each eviction. See docs/decisions/0106.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from api.core import Namespace
from api.pauses import Pause, pause_of, resumed_at
from runtime.metrics import PAUSES
from runtime.mirror.resources import NAMESPACES
from runtime.mirror.views import Views

__all__ = ["Pauses"]

LOOK_SECONDS: Final = 0.5
"""Between two looks of somebody who waits until a pause is over."""


class Pauses:
    """The pauses that hold. Time alone ends some of them."""

    def __init__(self, views: Views) -> None:
        self._home, self._clock = views.home, views.clock
        self._pauses: dict[str, Pause] = {}
        """By namespace. Some may have ended."""
        self._changed = asyncio.Event()
        self._changes = 0
        self._resumed = 0.0
        views.watch(NAMESPACES, self)

    def export(self) -> None:
        """Have the metric follow these pauses. A process does that with one of its projections."""
        for scope, is_home in (("all", True), ("namespace", False)):
            PAUSES.labels(scope).set_function(partial(self._count, is_home))

    def _count(self, is_home: bool) -> int:
        return sum((each.namespace == self._home) == is_home for each in self.holding())

    # ---- the store of a view (see `runtime.mirror.view.Store`)

    def upsert(self, item: Namespace) -> bool:
        """See `Store`."""
        name = item.metadata.name
        if name == self._home:
            self._resumed = resumed_at(item.metadata.annotations)
        return self._put(name, pause_of(name, item.metadata.annotations))

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        del namespace
        return self._put(name, None)

    def _put(self, name: str, pause: Pause | None) -> bool:
        before = self._pauses.get(name)
        if pause is None:
            self._pauses.pop(name, None)
        else:
            self._pauses[name] = pause
        if before == pause:
            return False
        self._changes += 1
        self._changed.set()
        self._changed = asyncio.Event()
        return True

    # ---- questions

    @property
    def any(self) -> bool:
        """Whether there may be a pause that holds."""
        return bool(self._pauses)

    @property
    def state(self) -> tuple[int, frozenset[Pause]]:
        """How many changes there were, and the pauses that hold. So a pause that has come and gone shows, too."""
        return self._changes, frozenset(self.holding())

    @property
    def resumed(self) -> float:
        """When somebody last resumed evictions, in seconds since the epoch; 0 if nobody did. A time that is still to
        come does not count yet."""
        return self._resumed if self._resumed <= self._clock.wall() else 0.0

    def holding(self) -> Sequence[Pause]:
        """All pauses that hold now: first that of reprieve's own namespace, then by name."""
        if not self._pauses:
            return ()
        now = self._clock.wall()
        found = (each for each in self._pauses.values() if each.holds(now))
        return sorted(found, key=lambda each: (each.namespace != self._home, each.namespace))

    def all(self) -> Pause | None:
        """The pause of reprieve's own namespace, if it holds: then nobody is evicted at all."""
        return self._of(self._home)

    def why(self, preemptor: str, victims: Iterable[str] = ()) -> str:
        """Why nobody may be evicted for a preemptor of this namespace, with victims in those; empty if they may.

        People of the preemptor's namespace read it. So it names no other namespace (docs/decisions/0037).
        """
        if not self._pauses:
            return ""
        if (pause := self.all()) is not None:
            return f"evictions are paused{pause.reason}"
        if (pause := self._of(preemptor)) is not None:
            return f"evictions in namespace {preemptor} are paused{pause.reason}"
        if any(self._of(each) is not None for each in victims):
            return "evictions in the namespace of a victim are paused"
        return ""

    async def wait(self, preemptor: str, victims: Collection[str] = ()) -> None:
        """Return as soon as nothing is paused for them."""
        while self.why(preemptor, victims):
            await self.changed()

    async def changed(self) -> None:
        """Return when a pause has begun, changed, or was taken away. If there is any, return soon: time may end it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS if self._pauses else None):
                await self._changed.wait()

    def _of(self, namespace: str) -> Pause | None:
        pause = self._pauses.get(namespace)
        return pause if pause is not None and pause.holds(self._clock.wall()) else None

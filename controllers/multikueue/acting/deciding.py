"""The newest decision about each Workload. It is made anew when something has changed that it was made from."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from api.clock import Clock
from controllers.multikueue.acting.gathering import Gathering
from controllers.multikueue.life.decision import Decision
from controllers.multikueue.life.life import decide
from controllers.multikueue.life.memory import EMPTY, Memory
from controllers.multikueue.life.seen import Seen, Settings
from kube.breath import Breath
from runtime.work.queue import KeyedQueue

__all__ = ["Deciding"]

log = structlog.get_logger(__name__)


class Deciding:
    """In one term. Everything runs on the event loop."""

    def __init__(
        self,
        gathering: Gathering,
        settings: Settings,
        decided: Callable[[Seen, Decision], None],
        clock: Clock,
    ) -> None:
        """`decided` is called with each new decision, and what it was made from."""
        self._gathering, self._settings, self._decided, self._clock = gathering, settings, decided, clock
        self.look: KeyedQueue[str] = KeyedQueue(clock=clock)
        """Keys (`namespace/name`) of Workloads to decide about."""
        self._memories: dict[str, Memory] = {}
        self._fresh: dict[str, tuple[Seen, Decision]] = {}
        """Decisions by which something is to be done, and which nothing has changed about."""

    def changed(self, key: str) -> None:
        """Something about the Workload has changed."""
        self._fresh.pop(key, None)
        self.look.add(key)

    def look_later(self, key: str, seconds: float) -> None:
        """Decide about the Workload again after this time."""
        self.look.add_after(key, seconds)

    def remember(self, seen: Seen, change: Callable[[Memory], Memory]) -> None:
        """The result of an act is remembered, unless it was for a former attempt, and decided about."""
        memory = self._memories.get(seen.key, EMPTY)
        if memory.attempt == seen.attempt:
            self._memories[seen.key] = change(memory)
        self.changed(seen.key)

    def current(self, key: str, *, anew: bool = False) -> tuple[Seen, Decision]:
        """The decision, and what it was made from. `anew`: also if nothing of the Workload itself has changed: other
        Workloads may have got turns meanwhile."""
        found = self._fresh.get(key)
        if found is not None and not anew:
            return found
        found = self._decide(key)
        if found[1].here is not None or found[1].there:
            self._fresh[key] = found
        else:
            self._fresh.pop(key, None)
        return found

    def _decide(self, key: str) -> tuple[Seen, Decision]:
        seen, now = self._gathering.of(key), self.now()
        decision = decide(seen, self._memories.get(key, EMPTY), self._settings, now)
        if seen.workload is None and not decision.there:
            self._memories.pop(key, None)
        else:
            self._memories[key] = decision.memory
        if decision.again is not None:
            self.look.add_after(key, max(0.001, (decision.again - now) / 1_000_000))
        self._decided(seen, decision)
        return seen, decision

    def now(self) -> int:
        """Microseconds since 1970."""
        return round(self._clock.wall() * 1_000_000)

    async def run(self, start: Callable[[str, Decision], None]) -> None:
        """Decide about each key that is due, until cancelled. `start` begins what follows."""
        while True:
            key = await self.look.get()
            breath = Breath()
            try:
                # A key that is due by time alone has a decision that nothing else has changed about.
                decision = self.current(key, anew=True)[1]
                self.look.forget(key)
                start(key, decision)
            except Exception:
                log.exception("a Workload is passed over for now", workload=key)
                self.look.retry(key)
            finally:
                self.look.done(key)
            if breath.is_due:
                await breath.take()

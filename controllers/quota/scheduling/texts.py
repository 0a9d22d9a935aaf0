"""The texts of why Workloads wait. They are written little by little, because an admission never waits for a text.

In a burst thousands of Workloads begin to wait, and each text is a write, which costs the API server as much as an
admission. Many are admitted before it is their turn. Workloads that are parked with an equal one, which got the answer
for all of them, have texts, too. A Workload that waits for quota gets its turn only after a while
(`controllers.quota.life.saying`).
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Collection
from itertools import islice
from typing import Final

from controllers.quota.life.saying import Waiting, says_from
from controllers.quota.workloads.facts import Facts
from controllers.quota.workloads.writer import WorkloadWriter

__all__ = ["SAID", "Texts"]

SAID: Final = "a Workload before it in the queue asks for the same, and got this answer"
UNTRIED: Final = Waiting("PendingEvaluation", "it is queued, and has not been tried yet", of_equal=True)
TURN_SECONDS: Final = 0.05
AT_ONCE: Final = 8
"""Workloads to look at in one turn, while nothing else is written. Otherwise it is one."""
SPARING: Final = 20
"""One turn in this number is used although there is no room, so that texts come to an end."""


class Texts:
    """The Workloads that are still to say why they wait, in one term."""

    def __init__(
        self,
        facts: Facts,
        writer: WorkloadWriter,
        look: Callable[[str], None],
        now: Callable[[], int],
        patience: int,
    ) -> None:
        """`look`: have a Workload (key) looked at. `now`: in microseconds since 1970. `patience`: how long one waits
        for quota before it says so, in microseconds."""
        self._facts, self._writer, self._look = facts, writer, look
        self._now, self._patience = now, patience
        self._keys: dict[str, None] = {}
        """Those whose turn may come now, in order."""
        self._later: list[tuple[int, str]] = []
        """A heap of the others, by the time from which their turn may come."""
        self._put_off: set[str] = set()
        """Those in the heap."""
        self._added = asyncio.Event()
        self._expected = 0
        """How many writes will have begun by the next turn, if nothing but texts is written."""
        self._passed = 0
        """Turns without room, one after the other."""

    def add(self, key: str, waiting: Waiting) -> None:
        """A cycle said why the Workload waits. Others wait for what a preemptor or a closed gate says: it is looked at
        now."""
        if not self._facts.says(key, waiting):
            return
        if waiting.gated or waiting.preempts:
            self._keys.pop(key, None)
            self._look(key)
        else:
            self._put(key, waiting)

    def add_equals(self, keys: Collection[str], reason: str) -> None:
        """They are parked for this reason, by the answer to another one."""
        waiting = Waiting(reason, SAID, of_equal=True)
        for key in keys:
            if self._facts.says(key, waiting):
                self._put(key, waiting)

    def add_untried(self, keys: Collection[str]) -> None:
        """Their queues are active again, and their status still says Suspended. Those behind a head that blocks them
        may not be tried for long."""
        for key in keys:
            if not self._facts.knows(key):
                self._facts.says(key, UNTRIED)
                self._put(key, UNTRIED)

    async def run(self) -> None:
        """Have them looked at, until cancelled."""
        while True:
            await self._added.wait()
            self.turn()
            if not self._keys and not self._later:
                self._added.clear()
            await asyncio.sleep(TURN_SECONDS)

    def turn(self) -> None:
        """Have the next ones looked at, as far as there is room."""
        self._take_due()
        keys = list(islice(self._keys, self._most()))
        self._expected = self._writer.begun + len(keys)
        for key in keys:
            del self._keys[key]
            self._look(key)

    def _take_due(self) -> None:
        """Those who have waited for long enough, and still wait."""
        while self._later and self._later[0][0] <= self._now():
            _, key = heapq.heappop(self._later)
            self._put_off.discard(key)
            if self._facts.knows(key):
                self._keys[key] = None

    def _most(self) -> int:
        self._passed = 0 if self._writer.has_room else (self._passed + 1) % SPARING
        if self._passed:
            return 0
        is_quiet = self._writer.has_room and self._writer.begun <= self._expected
        return AT_ONCE if is_quiet else 1

    def _put(self, key: str, waiting: Waiting) -> None:
        workload = self._facts.workload(key)
        due = says_from(workload, waiting, self._patience) if workload is not None else 0
        if due <= self._now():
            self._keys[key] = None
        elif key not in self._put_off:
            self._put_off.add(key)
            heapq.heappush(self._later, (due, key))
        self._added.set()

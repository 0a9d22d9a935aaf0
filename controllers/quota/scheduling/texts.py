"""The texts of why Workloads wait. They are written little by little, because an admission never waits for a text.

In a burst thousands of Workloads begin to wait, and each text is a write, which costs the API server as much as an
admission. Many are admitted before it is their turn. Workloads that are parked with an equal one, which got the answer
for all of them, have texts, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from itertools import islice
from typing import Final

from controllers.quota.life.life import Waiting
from controllers.quota.life.preempting import WAITS
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

    def __init__(self, facts: Facts, writer: WorkloadWriter, look: Callable[[str], None]) -> None:
        """`look`: have a Workload (key) looked at."""
        self._facts, self._writer, self._look = facts, writer, look
        self._keys: dict[str, None] = {}
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
        if waiting.gated or waiting.reason == WAITS:
            self._keys.pop(key, None)
            self._look(key)
        else:
            self._put(key)

    def add_equals(self, keys: Collection[str], reason: str) -> None:
        """They are parked for this reason, by the answer to another one."""
        waiting = Waiting(reason, SAID, of_equal=True)
        for key in keys:
            if self._facts.says(key, waiting):
                self._put(key)

    def add_untried(self, keys: Collection[str]) -> None:
        """Their queues are active again, and their status still says Suspended. Those behind a head that blocks them
        may not be tried for long."""
        for key in keys:
            if not self._facts.knows(key):
                self._facts.says(key, UNTRIED)
                self._put(key)

    async def run(self) -> None:
        """Have them looked at, until cancelled."""
        while True:
            await self._added.wait()
            self.turn()
            if not self._keys:
                self._added.clear()
            await asyncio.sleep(TURN_SECONDS)

    def turn(self) -> None:
        """Have the next ones looked at, as far as there is room."""
        keys = list(islice(self._keys, self._most()))
        self._expected = self._writer.begun + len(keys)
        for key in keys:
            del self._keys[key]
            self._look(key)

    def _most(self) -> int:
        self._passed = 0 if self._writer.has_room else (self._passed + 1) % SPARING
        if self._passed:
            return 0
        is_quiet = self._writer.has_room and self._writer.begun <= self._expected
        return AT_ONCE if is_quiet else 1

    def _put(self, key: str) -> None:
        self._keys[key] = None
        self._added.set()

"""Workloads that are parked with an equal one, which got the answer for all of them: each says why it waits.

There may be thousands, and each is a write. So they are looked at little by little, while few Workloads are being
written. An admission never waits for such a text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from itertools import islice
from typing import Final

from controllers.quota.facts import Facts
from controllers.quota.life import Waiting
from controllers.quota.writer import WorkloadWriter

__all__ = ["SAID", "Equals"]

SAID: Final = "a Workload before it in the queue asks for the same, and got this answer"
TURN_SECONDS: Final = 0.05
QUIET: Final = 2
"""So many writes in flight are few."""
AT_ONCE: Final = 8
"""Workloads to look at in one turn, while there are few writes. Otherwise it is one."""


class Equals:
    """Those that are still to say why they wait, in one term."""

    def __init__(self, facts: Facts, writer: WorkloadWriter, look: Callable[[str], None]) -> None:
        """`look`: have a Workload (key) looked at."""
        self._facts, self._writer, self._look = facts, writer, look
        self._keys: dict[str, None] = {}
        self._added = asyncio.Event()

    def add(self, keys: Collection[str], reason: str) -> None:
        """They are parked for this reason, by the answer to another one."""
        waiting = Waiting(reason, SAID, of_equal=True)
        for key in keys:
            if self._facts.says(key, waiting):
                self._keys[key] = None
                self._added.set()

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
        if not self._writer.has_room:
            return
        most = AT_ONCE if len(self._writer) <= QUIET else 1
        for key in list(islice(self._keys, most)):
            del self._keys[key]
            self._look(key)

"""The live path where nothing is enforced, without a control plane: see `tests.kit.stage`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.observing import Observing
from runtime.terms.term import Term
from tests.kit.stage import Api, Mirrored

__all__ = ["ObservedStage", "observed"]


class ObservedStage(Mirrored):
    """One process of reprieve that leads in a cluster where nothing is enforced."""

    def __init__(self, executor: ThreadPoolExecutor, api: Api, **settings: Any) -> None:
        super().__init__(executor, api, PlanningConfiguration(**{"mode": "Observe", **settings}))
        self.leading: Observing = self.controller.observe(Term(api.terms, api.clock, holder="stage"))
        self._begun()

    async def settle(self, steps: int = 12) -> None:
        """Let the planner do whatever it would do now."""
        self._hear()
        if not self.leading.acts:
            self.list_plans()
            await self.controller.take_over(self.leading)
        for _ in range(steps):
            if self.leading.decides:
                await self.leading.planner.step()
            else:
                self.leading.end_plans()
            status = self.leading.telling.status
            while (group := status._queue.take()) is not None:
                status._look(group)
            await self.leading.undoing.step()
            for _ in range(12):
                await asyncio.sleep(0)

    async def written(self) -> None:
        """Let what waits be written."""
        for _ in range(100):
            await asyncio.sleep(0)

    async def close(self) -> None:
        """The process ends."""
        await self.controller.step_down(self.leading)


@asynccontextmanager
async def observed(*objects: Any, **settings: Any) -> AsyncIterator[ObservedStage]:
    """A stage with these objects on it, where nothing is enforced. `settings`: of `planning`."""
    with ThreadPoolExecutor(1) as executor:
        stage = ObservedStage(executor, Api(), **settings)
        stage.add(*objects)
        yield stage
        await stage.close()

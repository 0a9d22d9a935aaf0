"""A worker cluster, and what acts there."""

from __future__ import annotations

from collections.abc import Callable

from controllers.multikueue.acting.telling import Telling
from controllers.multikueue.acting.there import ActsThere
from controllers.multikueue.life.decision import CreateCopy, There
from controllers.multikueue.life.memory import EMPTY, Memory
from controllers.multikueue.life.seen import Seen
from kube.errors import ApiError
from kube.recorder import EventRecorder
from tests.unit.controllers.multikueue.dispatching_stage import KEY, WORKLOADS, Json, Stage

__all__ = ["OURS", "RESERVED", "Acting"]

RESERVED = "2026-01-01T00:00:00Z"
OURS = f"uid-manager/uid-w/{RESERVED}"


class Acting(Stage):
    """A cluster, and what acts there."""

    def __init__(self) -> None:
        super().__init__("a")
        self.memory = EMPTY.about("uid-w", RESERVED)
        recorder = EventRecorder(self.sender(), clock=self.clock)
        telling = Telling(recorder, self.clock)
        self.there = ActsThere(self.originals, self.identity, telling, self._remember, self.clock)
        self.api = self.workers["a"]
        self.submit()

    def _remember(self, _seen: Seen, change: Callable[[Memory], Memory]) -> None:
        self.memory = change(self.memory)

    async def act(self, act: There) -> None:
        await self.there.carry_out(act, self.gathering().of(KEY), self.fleet.connections["a"])

    async def copied(self) -> Json:
        """The copy, once it is there."""
        await self.act(CreateCopy(has_gate=True))
        copy = self.copy("a")
        assert copy is not None
        return copy

    def version(self, path: str = WORKLOADS, name: str = "w") -> tuple[str, str]:
        meta = self.api.of(path)[name]["metadata"]
        return meta["uid"], meta["resourceVersion"]

    def refuse(self, method: str, error: ApiError) -> None:
        self.api.refuse = lambda asked, _path: error if asked == method else None

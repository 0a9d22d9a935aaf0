"""What a process knows of a former Enforce, and what becomes of it where the nodes plane is off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog

from cli.common.configuration import Configuration
from controllers.gangs.controller import Holding
from kube.errors import ApiError
from kube.lease import LeaseLock
from runtime.terms.term import Term
from serving.ops import Check

__all__ = ["HeldError", "Leaving"]

log = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 5.0


class HeldError(Exception):
    """Something is held, and this process knows nothing of the cluster. It has to start anew."""


class Leaving:
    """As a controller and a part, it is for a process with Off that was started while nothing was held: it keeps no
    mirror."""

    name: Final = "leaving"

    def __init__(self, configuration: Configuration) -> None:
        self._mode = configuration.planning.mode
        self._held = asyncio.Event()
        self.lock: LeaseLock | None = None
        """None without an election."""
        enforces = self._mode == "Enforce" and configuration.extender is not None
        self.holding = Holding(self._former, enforces=enforces)

    def _former(self) -> Mapping[str, str] | None:
        record = self.lock.observed.record if self.lock is not None else None
        return record.notes if record is not None else None

    async def is_needed(self) -> bool:
        """Whether a process with Off has to release something, by the Lease as it is at its start."""
        if self._mode != "Off" or self.lock is None:
            return False
        try:
            await self.lock.look(LOOK_SECONDS)
        except ApiError as error:
            log.warning("it is not known whether something is held", error=str(error))
        return bool(self.holding.now)

    # ---- the controller

    def checks(self) -> Mapping[str, Check]:
        """See `runtime.terms.controller.Controller`."""
        return {}

    async def lead(self, term: Term) -> None:
        """Another replica may have enforced since this process was started."""
        del term
        if self.holding.now:
            self._held.set()
        await asyncio.Event().wait()

    # ---- the part of the process

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Nobody calls it."""
        yield

    def tasks(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """See `runtime.terms.process.Part`."""
        return {"leaving": self._start_anew()}

    async def _start_anew(self) -> None:
        """The new process finds on the Lease that something is held. Raises HeldError, which ends this one."""
        await self._held.wait()
        raise HeldError(f"a former Enforce holds {self.holding.now}; the process starts anew to release it")

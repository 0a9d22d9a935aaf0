"""What a controller is: it follows all the time, and acts while it leads."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

import structlog

from api.clock import Clock
from runtime.term import Term, Terms
from serving.ops import Check

__all__ = ["Controller", "lead_all"]

log = structlog.get_logger(__name__)

RETRY_SECONDS: Final = 1.0


class Controller(Protocol):
    """One job of the process.

    A controller names its resources when it is made (`Views.watch`). What it projects from them is alike in every
    process. All state that acts is made in `lead` and ends with it.
    """

    @property
    def name(self) -> str:
        """For logs."""

    def checks(self) -> Mapping[str, Check]:
        """Its readiness checks. Two controllers may share one: then both give it the same name."""

    async def lead(self, term: Term) -> None:
        """Act until cancelled. Called when a term begins, and cancelled when it ends."""


async def lead_all(controllers: Sequence[Controller], terms: Terms, clock: Clock) -> None:
    """Let all controllers lead in every term, together. Never ends by itself unless there are no more terms."""
    async for term in terms:
        log.info("a term begins", number=term.number)
        try:
            async with asyncio.TaskGroup() as leading:
                for controller in controllers:
                    leading.create_task(_lead(controller, term), name=f"{controller.name} leads")
                leading.create_task(_until_over(term, clock), name="term")
        except* _TermOverError:
            log.info("a term is over", number=term.number)


class _TermOverError(Exception):
    """Ends everything that acts in a term."""


async def _until_over(term: Term, clock: Clock) -> None:
    """Raise when the term is over."""
    left = term.deadline - clock.monotonic()
    with suppress(TimeoutError):
        async with asyncio.timeout(left if math.isfinite(left) else None):
            await asyncio.Event().wait()
    raise _TermOverError


async def _lead(controller: Controller, term: Term) -> None:
    """A fault in one controller must not end the others: it leads again, with new state."""
    while not term.is_over:
        try:
            await controller.lead(term)
        except Exception:
            log.exception("a controller failed and leads again", controller=controller.name)
            await asyncio.sleep(RETRY_SECONDS)

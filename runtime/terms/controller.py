"""The interface of a controller. A controller follows the cluster all the time, and acts only while it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import structlog

from runtime.terms.term import Term, Terms
from serving.ops import Check

__all__ = ["Controller", "lead_all"]

log = structlog.get_logger(__name__)

RETRY_SECONDS: Final = 1.0


class Controller(Protocol):
    """One job of the process.

    A controller names its resources when it is made (`Views.watch`). Every process projects the same state from them.
    `lead` makes all state that acts, and that state ends with `lead`.
    """

    @property
    def name(self) -> str:
        """The controller's name in logs."""

    def checks(self) -> Mapping[str, Check]:
        """The controller's readiness checks by name. Two controllers that share a check give it the same name."""

    async def lead(self, term: Term) -> None:
        """Act until cancelled. The process calls this when a term begins, and cancels it when the term ends."""


async def lead_all(controllers: Sequence[Controller], terms: Terms) -> None:
    """Let all controllers lead together in every term, until cancelled."""
    while True:
        async with terms.term() as term:
            log.info("a term begins", number=term.number, holder=term.holder)
            try:
                async with asyncio.TaskGroup() as tasks:
                    for controller in controllers:
                        tasks.create_task(_lead(controller, term), name=f"{controller.name} leads")
                    tasks.create_task(_until_over(term), name="term")
            except* _TermOverError:
                log.warning("a term is over", number=term.number)


class _TermOverError(Exception):
    """The term is over. It ends every task that acts in the term."""


async def _until_over(term: Term) -> None:
    """Raise when the term is over."""
    await term.over()
    raise _TermOverError


async def _lead(controller: Controller, term: Term) -> None:
    """Let one controller lead until the term is over.

    A fault in one controller must not end the others. The failed controller leads again, with new state.
    """
    while not term.is_over:
        try:
            await controller.lead(term)
        except Exception:
            log.exception("a controller failed and leads again", controller=controller.name)
            await asyncio.sleep(RETRY_SECONDS)

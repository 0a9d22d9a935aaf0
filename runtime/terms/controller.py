"""The interface of a controller. A controller follows the cluster all the time, and acts only while it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import structlog

from runtime.terms.ending import Ending
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


async def lead_all(controllers: Sequence[Controller], terms: Terms, ending: Ending | None = None) -> None:
    """Let all controllers lead together in every term, until cancelled.

    `ending` ends the process if a controller does not end with its term: nobody would lead here any longer.
    """
    ending = ending or Ending()
    while True:
        async with terms.term() as term:
            log.info("a term begins", number=term.number, holder=term.holder)
            try:
                with ending.watched() as cancelled:
                    await _to_its_end(_lead_together(controllers, term, cancelled))
            except* _TermOverError:
                log.warning("a term is over", number=term.number)


async def _to_its_end(acting: Coroutine[Any, Any, None]) -> None:
    """Wait until what acts has ended.

    A cancellation counts also while a term ends. A group of tasks swallows it then.
    """
    task, told = asyncio.create_task(acting, name="acting"), False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            told = True
            task.cancel()
    if told:
        await asyncio.gather(task, return_exceptions=True)
        raise asyncio.CancelledError
    await task


async def _lead_together(
    controllers: Sequence[Controller], term: Term, cancelled: Callable[[Iterable[asyncio.Task[object]]], None]
) -> None:
    """Let them lead in this term. `cancelled` is called with their tasks when these have to end."""
    leading = list[asyncio.Task[object]]()
    async with asyncio.TaskGroup() as tasks:
        for controller in controllers:
            leading.append(tasks.create_task(_lead(controller, term), name=f"{controller.name} leads"))
        over = tasks.create_task(_until_over(term), name="term")
        over.add_done_callback(lambda _: cancelled(leading))


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

"""Runs one process, with its parts and controllers, until it gets a signal to stop or one of them ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from contextvars import Context
from typing import Any, Final, Protocol

import structlog

from kube.lane import in_lane
from runtime.mirror.views import Views
from runtime.terms.controller import Controller, lead_all
from runtime.terms.term import Terms
from serving.listeners import serving
from serving.ops import Check, ops_app
from serving.sections import OpsConfiguration

__all__ = ["Part", "run_process"]

log = structlog.get_logger(__name__)

SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class Part(Protocol):
    """A service that others call."""

    def checks(self) -> Mapping[str, Check]:
        """The part's readiness checks by name. Two parts that share a check give it the same name."""

    def listening(self) -> AbstractAsyncContextManager[None]:
        """A context. The part answers requests while the context lasts."""

    def tasks(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """Background tasks by name. A task must not end by itself."""


async def run_process(
    ops: OpsConfiguration,
    views: Views,
    parts: Sequence[Part],
    controllers: Sequence[Controller],
    terms: Terms,
) -> bool:
    """Serve until SIGTERM or SIGINT, or until a part ends by itself. Raises the errors of the listeners.

    Returns whether a signal stopped it: no part failed.

    The process is ready if all parts are ready. /readyz also shows the checks of the controllers. But a fault of a
    controller (for example a missing CRD) does not make the process unready, because callers still need the parts.

    At the end it is unready first. Then the controllers end, and with them the term: another process goes on. The
    parts still answer whoever comes, and end last.
    """
    stop, failed = asyncio.Event(), list[str]()
    loop = asyncio.get_running_loop()
    async with AsyncExitStack() as stack:
        for signum in SIGNALS:
            loop.add_signal_handler(signum, stop.set)
            stack.callback(loop.remove_signal_handler, signum)
        checks = {name: check for part in parts for name, check in part.checks().items()}
        others = {name: check for each in controllers for name, check in each.checks().items()}
        checks["stopping"] = lambda: "the process ends" if stop.is_set() else None
        await stack.enter_async_context(serving(ops_app(checks, others), ops))
        listening = await stack.enter_async_context(AsyncExitStack())
        for part in parts:
            await listening.enter_async_context(part.listening())
        tasks = {"views": views.run()}
        for part in parts:
            tasks.update(part.tasks())
        for name, task in tasks.items():
            await stack.enter_async_context(_background(name, task, stop, failed))
        leading = lead_all(controllers, terms)
        async with _background("controllers", leading, stop, failed, in_lane()):
            await stop.wait()
            log.info("stopping")
        log.info("nothing acts any longer")
        async with _background("following", terms.follow(), stop, failed):
            await listening.aclose()
    return not failed


@asynccontextmanager
async def _background(
    name: str,
    coroutine: Coroutine[Any, Any, None],
    stop: asyncio.Event,
    failed: list[str],
    context: Context | None = None,
) -> AsyncIterator[None]:
    """Run the coroutine in the background. If it ends for any reason, the process stops. `failed` gets its name if it
    ends with an error."""
    task = asyncio.create_task(coroutine, name=name, context=context)
    task.add_done_callback(lambda _: stop.set())
    try:
        yield
    finally:
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            failed.append(name)
            log.error("a part of the process failed", part=name, error=repr(error))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

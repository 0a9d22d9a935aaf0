"""One process: a mirror, and the services that the configuration enables, run until told to stop."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Protocol

import structlog

from api.clock import SYSTEM_CLOCK
from cli.common.configuration import Configuration
from controllers.gangs.controller import GangController
from extender.service import ExtenderService
from kube.client import ApiClient
from runtime.controller import Controller, lead_all
from runtime.mirror import ALL, Mirror
from runtime.term import EternalTerms
from serving.garbage import collect_seldom
from serving.listeners import serving
from serving.ops import Check, ops_app
from webhooks.service import MIRRORED, WebhookService

__all__ = ["run"]

log = structlog.get_logger(__name__)


class Part(Protocol):
    """One service of the process."""

    def checks(self) -> Mapping[str, Check]:
        """Its readiness checks; of the same name in two services: the same check."""

    def listening(self) -> AbstractAsyncContextManager[None]:
        """Answers while the context lasts."""

    def tasks(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """What goes on beside, by name; never ends by itself."""


async def run(configuration: Configuration) -> None:
    """Serve until SIGTERM or SIGINT. Raises what the configuration or the listeners find wrong."""
    collect_seldom()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signum in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signum, stop.set)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(ApiClient.connect(configuration.kubeconfig))
        mirror = Mirror(client, resources=ALL if configuration.extender else MIRRORED)
        parts: list[Part] = []
        controllers: list[Controller] = []
        if configuration.extender is not None:
            executor = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="search"))
            gangs = GangController(configuration.planning, client, mirror, executor, SYSTEM_CLOCK)
            controllers.append(gangs)
            parts.append(ExtenderService(configuration.extender, gangs))
        if configuration.webhooks is not None:
            parts.append(WebhookService(configuration.webhooks, client, mirror))
        checked: list[Controller | Part] = [*controllers, *parts]
        checks = {name: check for each in checked for name, check in each.checks().items()}
        await stack.enter_async_context(serving(ops_app(checks), configuration.ops))
        for part in parts:
            await stack.enter_async_context(part.listening())
        await stack.enter_async_context(_background("mirror", mirror.run(), stop))
        leading = lead_all(controllers, EternalTerms(SYSTEM_CLOCK), SYSTEM_CLOCK)
        await stack.enter_async_context(_background("controllers", leading, stop))
        for name, task in _tasks(parts):
            await stack.enter_async_context(_background(name, task, stop))
        await stop.wait()
        log.info("stopping")


def _tasks(parts: Iterable[Part]) -> list[tuple[str, Coroutine[Any, Any, None]]]:
    return [task for part in parts for task in part.tasks().items()]


@asynccontextmanager
async def _background(
    name: str, coroutine: Coroutine[Any, Any, None], stop: asyncio.Event
) -> AsyncIterator[None]:
    """Run beside; its end, by whatever cause, stops the process."""
    task = asyncio.create_task(coroutine, name=name)
    task.add_done_callback(lambda _: stop.set())
    try:
        yield
    finally:
        if task.done() and not task.cancelled() and (error := task.exception()) is not None:
            log.error("a part of the service failed", part=name, error=repr(error))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

"""Serves the page until it is asked to end. It prints addresses with codes."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from answers.errors import UnreadError
from api.clock import SYSTEM_CLOCK
from api.owner_annotations import ByOwner
from cli.common.cluster import ClusterError, Connection, checked
from cli.common.printable import say
from cli.page.opening import Opening
from kube.client import ApiClient
from kube.errors import ApiError
from web.about import Place
from web.configuration import PageConfiguration
from web.readers.codes import Codes
from web.readers.door import laptop_door
from web.readers.logins import Login, Owner
from web.service import PageService
from web.sources.live import Cluster
from web.sources.source import Source
from web.statics import Static

__all__ = ["Serving"]

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
STDIN: Final = 0
MOST_TYPED: Final = 4096
HELP: Final = "Press Enter for another address, and Ctrl-C to end."
POD: Final = ("v1", "Pod")


@dataclass(frozen=True, slots=True)
class Serving:
    """How the page is served, wherever it reads."""

    place: Place
    statics: Mapping[str, Static]
    port: int
    """0: any free one."""
    opens: bool
    """Whether a browser is opened."""

    async def follow(self, connection: Connection, by_owner: ByOwner | None) -> None:
        """Follow a cluster, and show what the user of the kubeconfig may list. Returns after SIGINT or SIGTERM.
        `by_owner`: `groups.byOwner`, by default as the leader says.

        Raises ClusterError, also for the right to list pods, without which nothing can be said. Raises InputError for
        options that do not fit, and OSError for a port that is taken.
        """
        try:
            async with ApiClient.connect(
                checked(connection),
                context=connection.context,
                user=connection.user,
                groups=connection.groups,
            ) as client:
                await self.serve(Cluster(client, by_owner=by_owner), Owner(client))
        except ApiError as error:
            raise ClusterError(f"the cluster cannot be read: {error}") from error

    async def serve(self, source: Source, owner: Login) -> None:
        """Serve until SIGINT or SIGTERM. Raises OSError for a port that is taken, and UnreadError without pods."""
        settings = PageConfiguration(port=self.port)
        door, codes = laptop_door(
            owner,
            SYSTEM_CLOCK,
            recheck_seconds=settings.recheck_seconds,
            session_seconds=settings.session_seconds,
        )
        service = PageService(settings, source, door, self.place, self.statics)
        async with AsyncExitStack() as stack:
            stop = stack.enter_context(_signalled())
            tasks = stack.enter_context(_running(service, stop))
            await _until_listed(source, stop, tasks)
            gc.enable()  # what was read stays, and is never searched (`PageService`); what requests leave is
            await stack.enter_async_context(service.listening())
            address = _Addresses(service.port, codes)
            say(first := address.new())
            if self.opens:
                await asyncio.to_thread(stack.enter_context(Opening()).open, first)
            if stack.enter_context(_on_enter(lambda: say(address.new()))):
                say(HELP)
            await stop.wait()
            for task in tasks:
                if task.done() and not task.cancelled():
                    task.result()


class _Addresses:
    """Addresses with a code each. A browser does not send what is behind the `#`."""

    def __init__(self, port: int, codes: Codes) -> None:
        self._port, self._codes = port, codes

    def new(self) -> str:
        """Another one."""
        return f"http://127.0.0.1:{self._port}/#code={self._codes.new()}"


async def _until_listed(source: Source, stop: asyncio.Event, tasks: list[asyncio.Task[None]]) -> None:
    """Wait until all has been listed that may be read, or until the process is to end. Raises UnreadError without
    pods."""
    listed = asyncio.create_task(source.wait_synced())
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({listed, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        listed.cancel()
        stopped.cancel()
    for task in tasks:
        if task.done():
            task.result()
    if not stop.is_set() and (problem := source.picture().refused.get(POD)):
        raise UnreadError(problem)


@contextmanager
def _running(service: PageService, stop: asyncio.Event) -> Iterator[list[asyncio.Task[None]]]:
    """The tasks of the page. If one of them ends, the process is to end."""
    tasks = [asyncio.create_task(task, name=name) for name, task in service.tasks().items()]
    for task in tasks:
        task.add_done_callback(lambda _: stop.set())
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()


@contextmanager
def _signalled() -> Iterator[asyncio.Event]:
    """Set by the signals that end the process."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for each in SIGNALS:
        loop.add_signal_handler(each, stop.set)
    try:
        yield stop
    finally:
        for each in SIGNALS:
            loop.remove_signal_handler(each)


@contextmanager
def _on_enter(do: Callable[[], None]) -> Iterator[bool]:
    """Call `do` for each line of standard input. Yields whether there is anything to listen to."""
    loop = asyncio.get_running_loop()

    def typed() -> None:
        text = os.read(STDIN, MOST_TYPED)
        if not text:
            loop.remove_reader(STDIN)
        elif b"\n" in text:
            do()

    try:
        loop.add_reader(STDIN, typed)
    except (OSError, ValueError):  # it is closed, or a file
        yield False
        return
    try:
        yield True
    finally:
        loop.remove_reader(STDIN)

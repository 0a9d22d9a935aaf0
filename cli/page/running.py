"""Serves the page until it is asked to end. It prints addresses with codes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import Final

from api.clock import SYSTEM_CLOCK
from cli.common.printable import say
from cli.page.opening import Opening
from web.about import Place
from web.codes import Codes
from web.configuration import PageConfiguration
from web.door import laptop_door
from web.logins import Login
from web.service import PageService
from web.sources.source import Source
from web.statics import Static

__all__ = ["serve_page"]

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
STDIN: Final = 0
MOST_TYPED: Final = 4096
SAID: Final = "Press Enter for another address, and Ctrl-C to end."


async def serve_page(
    source: Source, owner: Login, place: Place, statics: Mapping[str, Static], port: int, *, opens: bool
) -> None:
    """Serve until SIGINT or SIGTERM. Raises OSError for a port that is taken, and what ends the source."""
    settings = PageConfiguration(port=port)
    door, codes = laptop_door(
        owner,
        SYSTEM_CLOCK,
        recheck_seconds=settings.recheck_seconds,
        session_seconds=settings.session_seconds,
    )
    service = PageService(settings, source, door, place, statics)
    async with AsyncExitStack() as stack:
        stop = stack.enter_context(_signalled())
        await stack.enter_async_context(service.listening())
        opening = stack.enter_context(Opening()) if opens else None
        address = _Addresses(service.port, codes)
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(task, name=name) for name, task in service.tasks().items()]
            say(first := address.new())
            if opening is not None:
                await asyncio.to_thread(opening.open, first)
            with _on_enter(lambda: say(address.new())) as is_heard:
                if is_heard:
                    say(SAID)
                await stop.wait()
            for task in running:
                task.cancel()


class _Addresses:
    """Addresses with a code each. A browser does not send what is behind the `#`."""

    def __init__(self, port: int, codes: Codes) -> None:
        self._port, self._codes = port, codes

    def new(self) -> str:
        return f"http://127.0.0.1:{self._port}/#code={self._codes.new()}"


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

"""The event loop of a process that serves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["loop_factory", "loop_name"]


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """uvloop's factory if uvloop is installed, otherwise asyncio's."""
    try:
        base = import_module("uvloop").Loop
    except ImportError:
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = _closing_once(base)
    return factory


def loop_name() -> str:
    """What `loop_factory` makes loops of: `uvloop` with its version, or `asyncio`."""
    try:
        return f"uvloop {import_module('uvloop').__version__}"
    except ImportError:
        return "asyncio"


def _closing_once(base: Any) -> Any:
    """The class of a loop in which a connection that fails closes its descriptor once.

    If the peer resets a connection while it is made, uvloop 0.23 closes the descriptor, and keeps the socket that it
    got. That one closes the same number a second time when it is forgotten. Meanwhile the system may have given it to
    a watch, which is silent from then on. See MagicStack/uvloop, issue 738.
    """

    class Loop(base):  # type: ignore[misc]
        """See `_closing_once`."""

        async def create_connection(self, *args: Any, **given: Any) -> Any:
            """As asyncio's. A socket belongs to the loop, also after an error."""
            try:
                return await super().create_connection(*args, **given)
            except BaseException:
                if (sock := given.get("sock")) is not None:
                    sock.detach()
                raise

    return Loop

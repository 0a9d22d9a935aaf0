"""Named places in the code where tests can make the process wait or die.

A failpoint that is off costs one dictionary look-up. `REPRIEVE_FAILPOINTS` sets failpoints, e.g.
`mirror.delay=3s,evict.between=kill`. `configure` sets them too. An unknown name has no effect.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Mapping
from typing import Final

__all__ = ["ENVIRONMENT", "configure", "delay", "failpoint", "kill_here", "parse"]

ENVIRONMENT: Final = "REPRIEVE_FAILPOINTS"
KILL: Final = "kill"
DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s)")

_active: dict[str, float | None] = {}
"""Seconds to wait, by name of the failpoint. None kills the process."""


def parse(text: str) -> dict[str, str]:
    """Actions by name, from `name=action` pairs with commas between them. ValueError for a pair without an action."""
    pairs = [pair.strip().partition("=") for pair in text.split(",") if pair.strip()]
    for name, equals, action in pairs:
        if not equals or not name or not action:
            raise ValueError(f"{ENVIRONMENT}: expected name=action, not {name}{equals}{action}")
    return {name.strip(): action.strip() for name, _, action in pairs}


def configure(actions: Mapping[str, str]) -> None:
    """Replace all failpoints. An action is `kill` or a duration (`3s`, `200ms`). ValueError for any other action."""
    parsed = {name: _action(name, action) for name, action in actions.items()}
    _active.clear()
    _active.update(parsed)


def delay(name: str) -> float:
    """The wait of the failpoint in seconds, or 0 if it is off. For code that must wait in its own way."""
    return _active.get(name, 0.0) or 0.0


async def failpoint(name: str) -> None:
    """Do the configured action: nothing, a wait, or a SIGKILL of this process."""
    if name not in _active:
        return
    kill_here(name)
    await asyncio.sleep(delay(name))


def kill_here(name: str) -> None:
    """SIGKILL this process if the action is `kill`. For code that cannot wait."""
    if name in _active and _active[name] is None:
        os.kill(os.getpid(), signal.SIGKILL)


def _action(name: str, action: str) -> float | None:
    if action == KILL:
        return None
    match = DURATION.fullmatch(action)
    if match is None:
        raise ValueError(f"failpoint {name}: {action!r} is neither kill nor a duration such as 3s or 200ms")
    return float(match[1]) * (0.001 if match[2] == "ms" else 1.0)


configure(parse(os.environ.get(ENVIRONMENT, "")))

"""How soon a thread that decides gives way to the one that answers."""

from __future__ import annotations

import sys
from typing import Final

__all__ = ["switch_often"]

SECONDS: Final = 0.0005


def switch_often() -> None:
    """Let the event loop have the interpreter half a millisecond after it asks, while a search runs in a thread.

    Python's own 5 ms are paid at each step of an answer that waits for the network: several times for each call.
    """
    sys.setswitchinterval(SECONDS)

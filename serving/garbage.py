"""How often Python searches for garbage in cycles."""

from __future__ import annotations

import gc
from typing import Final

__all__ = ["collect_seldom"]

YOUNGEST: Final = 50_000
"""Containers of the youngest generation: some tens of megabytes at most."""
OLDER: Final = (20, 10)
"""Python's defaults for the older generations."""


def collect_seldom(youngest: int = YOUNGEST) -> None:
    """Search less often, and never among what there is now: the imported modules, or what a mirror has listed. So a
    search takes as long as `youngest` says: about a millisecond for 10,000.

    A decoded review has a thousand containers. Reference counts free them after the answer. With Python's own
    threshold, the collector would check each review twice while it is in use.
    """
    gc.freeze()
    gc.set_threshold(youngest, *OLDER)

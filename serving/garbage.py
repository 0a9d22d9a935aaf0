"""How often Python searches for garbage in cycles."""

from __future__ import annotations

import gc
from typing import Final

__all__ = ["collect_seldom"]

THRESHOLDS: Final = (50_000, 20, 10)
"""Arguments of `gc.set_threshold`: containers of the youngest generation (some tens of megabytes at most), then for
the older generations Python's defaults."""


def collect_seldom() -> None:
    """Search less often, and never among the imported modules.

    A decoded review has a thousand containers. Reference counts free them after the answer. With Python's own
    threshold, the collector would check each review twice while it is in use.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)

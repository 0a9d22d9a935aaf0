"""How often Python looks for garbage in cycles."""

from __future__ import annotations

import gc
from typing import Final

__all__ = ["collect_seldom"]

THRESHOLDS: Final = (50_000, 20, 10)
"""Containers of the youngest generation, some tens of megabytes at most; then as often as usual."""


def collect_seldom() -> None:
    """Let requests make more garbage between two looks, and never look at what was imported.

    A decoded review has a thousand containers, which reference counts free when it is answered; by Python's own
    threshold, the collector would look at each review twice while it is in use.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)

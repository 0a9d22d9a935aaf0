"""How many examples the property tests try."""

from __future__ import annotations

import os
from typing import Final

__all__ = ["examples"]

SHARE: Final = float(os.environ.get("REPRIEVE_EXAMPLES", "0.1"))
"""Hypothesis chooses other examples in each run. A number of short runs finds what one long run finds."""


def examples(count: int) -> int:
    """The share of `count` that REPRIEVE_EXAMPLES asks for, but at least one example."""
    return max(1, round(SHARE * count))

"""How many examples the property tests try."""

from __future__ import annotations

import os
from typing import Final

import pytest

__all__ = ["MANY_EXAMPLES", "examples"]

SHARE: Final = float(os.environ.get("REPRIEVE_EXAMPLES", "0.05"))
"""Hypothesis chooses other examples in each run. A number of short runs finds what one long run finds."""

MANY_EXAMPLES: Final = pytest.mark.skipif(SHARE < 1, reason="runs with REPRIEVE_EXAMPLES=1")
"""Of examples that are written down, and that take long, where another one shows nearly the same."""


def examples(count: int) -> int:
    """The share of `count` that REPRIEVE_EXAMPLES asks for, but at least one example."""
    return max(1, round(SHARE * count))

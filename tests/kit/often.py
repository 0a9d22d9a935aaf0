"""Which scenarios run in `make test`. All run in `make test-e2e`, and those with several clusters in
`make test-multicluster`."""

from __future__ import annotations

import os
from typing import Final

import pytest

__all__ = ["ALL", "SELDOM"]

ALL: Final = bool(os.environ.get("REPRIEVE_ALL_SCENARIOS"))
"""Whether all of them run."""
SELDOM: Final = pytest.mark.skipif(not ALL, reason="runs in make test-e2e")
"""Of tests that take long, where a shorter one shows nearly the same."""

"""Which tests with several clusters run in `make test`. All run in `make test-multicluster`."""

from __future__ import annotations

import os
from typing import Final

import pytest

__all__ = ["ALL", "SELDOM"]

ALL: Final = bool(os.environ.get("REPRIEVE_ALL_MULTICLUSTER"))
"""Whether all of them run."""
SELDOM: Final = pytest.mark.skipif(not ALL, reason="runs in make test-multicluster")
"""Of tests that take long, where a shorter one shows nearly the same."""

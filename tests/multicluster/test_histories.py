"""Random histories with faults, judged from the watches of all planes (REPRIEVE_HISTORIES=200, REPRIEVE_SEED=0)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.multicluster.histories import AT_ONCE, judged
from tests.multicluster.trio import Trio

COUNT: Final = int(os.environ.get("REPRIEVE_HISTORIES", "2"))
SEED: Final = int(os.environ.get("REPRIEVE_SEED", "0"))


@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_random_histories(trio: Trio, first: int, tmp_path: Path, say: Callable[[str], None]) -> None:
    result = judged(trio, SEED + first, min(AT_ONCE, COUNT - first))
    if result.wrong:
        pytest.fail(result.told(tmp_path), pytrace=False)
    say(f"seed {result.seed}: {result.count} histories, {len(result.history.events)} events")

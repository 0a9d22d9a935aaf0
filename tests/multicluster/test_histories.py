"""Random histories with faults, judged from the watches of all planes (REPRIEVE_HISTORIES=200, REPRIEVE_SEED=0)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.kit.multicluster.rules import RULES
from tests.multicluster.conftest import Boxes
from tests.multicluster.histories import Histories
from tests.multicluster.recorder import Recorder
from tests.multicluster.trio import SETTINGS, Trio

COUNT: Final = int(os.environ.get("REPRIEVE_HISTORIES", "3"))
SEED: Final = int(os.environ.get("REPRIEVE_SEED", "0"))
AT_ONCE: Final = 5
"""Histories that go on at the same time."""
LINES: Final = 400


@pytest.fixture
def recorder(trio: Trio) -> Iterator[Recorder]:
    """Of what happens from now on."""
    made = Recorder(trio, lost_after=float(SETTINGS["workerLostTimeoutSeconds"]))
    yield made
    made.close()


@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_random_histories(
    trio: Trio, boxes: Boxes, recorder: Recorder, first: int, tmp_path: Path, say: Callable[[str], None]
) -> None:
    seed, count = SEED + first, min(AT_ONCE, COUNT - first)
    histories = Histories(trio, [boxes(f"h{seed + number}") for number in range(count)], recorder, seed)
    histories.run()
    restless = histories.rest()
    history = recorder.history()
    wrong = [text for rule in RULES for text in rule(history)] + [f"at rest: {text}" for text in restless]
    if wrong:
        history.write(tmp_path / "history.jsonl")
        story = "\n".join(history.story().splitlines()[-LINES:])
        again = f"REPRIEVE_SEED={seed} REPRIEVE_HISTORIES={count} pytest {__file__}"
        found = "\n".join(wrong)
        pytest.fail(
            f"seed {seed}\n{found}\n{tmp_path / 'history.jsonl'}\nagain: {again}\n{story}", pytrace=False
        )
    say(f"seed {seed}: {count} histories, {len(history.events)} events")

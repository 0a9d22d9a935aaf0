"""A few of the random worlds of `make fidelity-steer`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hack.fidelity.steered.judging import Tally
from hack.fidelity.steered.stage import Stage
from hack.fidelity.steered.worlds import random_world
from tests.kit.often import SELDOM

SEEDS: Final = (3, 4, 7)
"""One is infeasible, one is steered, and one is driven."""


@SELDOM
def test_the_scheduler_evicts_what_a_steered_plan_says(tmp_path: Path) -> None:
    tally = Tally()
    with Stage.standing(tmp_path) as stage:
        for result in stage.run([random_world(seed) for seed in SEEDS]):
            tally.add(result)
    assert [result.faults for result in tally.wrong] == []
    assert {kind.partition(" ")[0].strip(":,") for kind in tally.kinds} == {"driven", "infeasible", "steered"}
    assert tally.evicted > 0

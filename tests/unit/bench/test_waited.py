"""The seconds of a gang that has waited: the planes, and the table."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from bench.timeline import Carried
from bench.waited import AIMS, GATED, UNGATED, How, options, table


@pytest.mark.parametrize("how", AIMS)
def test_both_processes_have_the_same_gates(how: How) -> None:
    made = options(how)
    assert made.webhooks
    assert made.reprieve_settings == made.webhooks_settings
    assert made.reprieve_settings == {"planning": {"nativeGroups": "Steer", "gates": how}}


def test_each_way_has_a_row_with_its_aim() -> None:
    console = Console(file=io.StringIO(), width=200, record=True)
    console.print(table({GATED: Carried(1.25, 3.0, 0.5), UNGATED: None}))
    lines = [line for line in console.export_text().splitlines() if line.startswith("│")]
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    assert rows == [
        [GATED, "1.2", "at most 5", "3.0", "0.5"],
        [UNGATED, "", "at most 55", "", ""],
    ]

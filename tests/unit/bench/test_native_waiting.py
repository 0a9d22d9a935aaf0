"""What the table of native gangs that fit nowhere says."""

from __future__ import annotations

import io

from rich.console import Console

from bench.native_waiting import ALONE, STEERED, table
from bench.waiting import Measured


def test_each_row_has_its_part_of_the_time_alone() -> None:
    console = Console(file=io.StringIO(), width=200, record=True)
    console.print(table({STEERED: Measured([0.3] * 10, 1), ALONE: Measured([0.2] * 10, 0)}))
    lines = [line for line in console.export_text().splitlines() if line.startswith("│")]
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    assert rows == [
        [STEERED, "10", "1", "0.300", "0.300", "1.50", "at most 1.1"],
        [ALONE, "10", "0", "0.200", "0.200", "1.00", ""],
    ]

"""What the table of native gangs that fit nowhere says."""

from __future__ import annotations

import io

from rich.console import Console

from bench.native_waiting import ALONE, STEERED, Run, table
from bench.waiting import Measured


def test_each_row_has_its_part_of_the_time_alone() -> None:
    """All runs of kube-scheduler alone count together, and so do all steered ones."""
    rates = {"filter": 20.0, "search": 0.25, "write": 0.5}
    runs = [
        Run(STEERED, Measured([0.3] * 10, 1, per_second=rates), 40, {"kube-scheduler": 2.0, "reprieve": 3.0}),
        Run(ALONE, Measured([0.2] * 10, 0), 50, {"peer": 1.5, "kube-scheduler": 9.0, "kube-apiserver": 8.0}),
    ]
    console = Console(file=io.StringIO(), width=250, record=True)
    console.print(table(runs))
    lines = [line for line in console.export_text().splitlines() if line.startswith("│")]
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    assert rows == [
        [STEERED, "10", "1", "0.300", "0.300", "1.50", "40", "2.0", "3.0", "0.0", "20.0", "0.2", "0.5"],
        [ALONE, "10", "0", "0.200", "0.200", "1.00", "50", "1.5", "0.0", "8.0", "", "", ""],
        ["steered / alone, all runs", "", "", "", "", "1.50 (aim: 1.1)", *[""] * 7],
    ]

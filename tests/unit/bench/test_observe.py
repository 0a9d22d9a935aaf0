"""What the table of an observer says, and what counts as a write."""

from __future__ import annotations

import io
import json

from rich.console import Console

from bench.observe import AGAIN, ENFORCES, OBSERVES, WITHOUT, Rest, requests_in, table
from bench.waiting import Measured
from hack.controlplane.components import REPRIEVE_USER


def test_memory_is_compared_with_enforce_and_ordinary_pods_with_those_without_reprieve() -> None:
    rests = {
        OBSERVES: Rest(0, 0, {"update leases": 30}, 99 << 20, 2.0),
        ENFORCES: Rest(1, 2, {}, 100 << 20, 3.0),
    }
    ordinary = {
        WITHOUT: Measured([0.2] * 10, 0),
        OBSERVES: Measured([0.3] * 10, 1),
        AGAIN: Measured([0.1], 0),
    }
    console = Console(file=io.StringIO(), width=300, record=True)
    console.print(table(rests, ordinary))
    lines = [line for line in console.export_text().splitlines() if line.startswith("│")]
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    assert rows == [
        [WITHOUT, *[""] * 6, "10", "0", "0.200", "0.200", "1.00"],
        [
            OBSERVES,
            "0",
            "0",
            "30 update leases",
            "99 MiB",
            "0.99",
            "2 s",
            "10",
            "1",
            "0.300",
            "0.300",
            "1.50",
        ],
        [ENFORCES, "1", "2", "0", "100 MiB", "1.00", "3 s", *[""] * 5],
        [AGAIN, *[""] * 6, "1", "0", "0.100", "0.100", "0.50"],
    ]


def test_requests_of_others_and_reads_do_not_count() -> None:
    def line(user: str, verb: str, resource: str) -> str:
        return json.dumps({"user": {"username": user}, "verb": verb, "objectRef": {"resource": resource}})

    log = [
        line(REPRIEVE_USER, "update", "leases"),
        line(REPRIEVE_USER, "watch", "pods"),
        line("kwok", "patch", "pods"),
        line(REPRIEVE_USER, "update", "leases"),
    ]
    assert requests_in(log) == {"update leases": 2}

"""The manager of several clusters. DISPATCH names the parts that run, with commas: memory, runs, turns; all without it.

SIZE is the number of Jobs that come at once, TURNS the number of those that preempt, WORKLOADS that of the Workloads in
memory.
"""

from __future__ import annotations

import os
from typing import Final

from rich.console import Console

from bench.dispatch_memory import run_memory
from bench.dispatch_runs import run_runs
from bench.dispatch_turns import run_turns

__all__ = ["run"]

SIZE: Final = int(os.environ.get("SIZE") or 1000)
SEQUENTIAL: Final = 300
WORKLOADS: Final = int(os.environ.get("WORKLOADS") or 10_000)
TURNS: Final = int(os.environ.get("TURNS") or 50)
PARTS: Final = tuple((os.environ.get("DISPATCH") or "memory,runs,turns").split(","))


def run(console: Console) -> bool:
    """Print the tables. Returns whether all Jobs have run."""
    results = []
    if "memory" in PARTS:  # first: memory that others have freed would not count
        results.append(run_memory(console, WORKLOADS))
    if "runs" in PARTS:
        results.append(run_runs(console, min(SEQUENTIAL, SIZE), SIZE))
    if "turns" in PARTS:
        results.append(run_turns(console, TURNS))
    return all(results)

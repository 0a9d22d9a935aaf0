"""The manager of several clusters. DISPATCH names the parts that run, with commas: memory, runs, slow, turns; all
without it.

SIZE is the number of Jobs that come at once, SEQUENTIAL that of Jobs one after the other, TURNS that of those that
preempt, WORKLOADS that of the Workloads in memory. ORDERS names the orders in which clusters have their turns, with
commas; all without it.
"""

from __future__ import annotations

import os
from typing import Final

from rich.console import Console

from bench.dispatch_memory import run_memory
from bench.dispatch_runs import run_runs
from bench.dispatch_slow import run_slow
from bench.dispatch_turns import ALL_ORDERS, run_turns

__all__ = ["run"]

SIZE: Final = int(os.environ.get("SIZE") or 1000)
SEQUENTIAL: Final = int(os.environ.get("SEQUENTIAL") or 300)
WORKLOADS: Final = int(os.environ.get("WORKLOADS") or 10_000)
TURNS: Final = int(os.environ.get("TURNS") or 50)
ORDERS: Final = tuple(filter(None, os.environ.get("ORDERS", "").split(","))) or ALL_ORDERS
PARTS: Final = tuple((os.environ.get("DISPATCH") or "memory,runs,slow,turns").split(","))


def run(console: Console) -> bool:
    """Print the tables. Returns whether all Jobs have run."""
    results = []
    if "memory" in PARTS:  # first: memory that others have freed would not count
        results.append(run_memory(console, WORKLOADS))
    if "runs" in PARTS:
        results.append(run_runs(console, SEQUENTIAL, SIZE))
    if "slow" in PARTS:
        results.append(run_slow(console, SEQUENTIAL))
    if "turns" in PARTS:
        results.append(run_turns(console, TURNS, ORDERS))
    return all(results)

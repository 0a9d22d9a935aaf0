"""The manager of several clusters. DISPATCH names the parts that run: runs, turns, memory, slow; all without it.

SIZE is the number of Jobs that come at once.
"""

from __future__ import annotations

import os
from typing import Final

from rich.console import Console

from bench.dispatch_runs import run_runs
from bench.dispatch_turns import run_turns

__all__ = ["run"]

SIZE: Final = int(os.environ.get("SIZE") or 1000)
SEQUENTIAL: Final = 300
TURNS: Final = int(os.environ.get("TURNS") or 50)
PARTS: Final = tuple((os.environ.get("DISPATCH") or "runs").split(","))


def run(console: Console) -> bool:
    """Print the tables. Returns whether all Jobs have run."""
    results = []
    if "runs" in PARTS:
        results.append(run_runs(console, min(SEQUENTIAL, SIZE), SIZE))
    if "turns" in PARTS:
        results.append(run_turns(console, TURNS))
    return all(results)

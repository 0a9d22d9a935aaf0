"""Jobs one after the other, while one of three worker clusters answers after five seconds: what the others notice."""

from __future__ import annotations

import asyncio
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.dispatch_fleet import Box, join, started
from bench.dispatch_runs import QUOTA, WORKERS, end, one_by_one
from hack.load.measures import quantile

__all__ = ["run_slow"]

SLOW: Final = WORKERS[-1]
EACH_WAY_SECONDS: Final = 2.5
"""By which requests and answers come later."""
FIRST: Final = 5
"""Jobs that do not count: they find out that the cluster is slow."""
RATIO: Final = 1.2


def run_slow(console: Console, count: int) -> bool:
    """Print the table. Returns whether all Jobs have run."""
    console.print(f"[bold]A slow cluster[/]: {count} Jobs one after the other, {len(WORKERS)} workers")
    try:
        with started(WORKERS) as fleet, console.status("Jobs run"):
            join(fleet, proxies=True)
            before, first, beside = (Box(fleet, name, quota=QUOTA) for name in ("before", "first", "beside"))
            quick = asyncio.run(one_by_one(fleet, before, count))
            end(before, count)
            fleet.proxy(SLOW).disturb("Pass", delay=EACH_WAY_SECONDS)
            asyncio.run(one_by_one(fleet, first, FIRST))
            slow = asyncio.run(one_by_one(fleet, beside, count))
    except TimeoutError as error:
        console.print(f"[red]stalled[/]: {error}")
        return False
    table = Table("from reservation to Admitted", "p50 ms", "p99 ms")
    for name, seconds in (("all are quick", quick), (f"{SLOW} answers after 5 s", slow)):
        table.add_row(name, *(f"{quantile(seconds, at) * 1000:.0f}" for at in (0.5, 0.99)))
    ratios = (f"{quantile(slow, at) / quantile(quick, at):.2f}" for at in (0.5, 0.99))
    table.add_row(f"ratio, aim {RATIO} for p99", *ratios)
    console.print(table)
    return True

"""For how long Workloads wait for a worker cluster. Whoever watches metrics learns that no cluster takes one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from api.clock import Clock
from api.workloads import EVICTED, FINISHED, Workload
from controllers.multikueue.metrics import OLDEST_WAIT
from quota.state.workloads import attempt_of, reserved_at, true_condition

__all__ = ["longest_wait", "measure"]

SECONDS: Final = 15.0
OVER: Final = (EVICTED, FINISHED)


async def measure(workloads: Iterable[Workload], is_check: Callable[[str], bool], clock: Clock) -> None:
    """Say it every 15 seconds, until cancelled. `is_check`: whether a check of that name is of a manager."""
    try:
        while True:
            OLDEST_WAIT.set(longest_wait(workloads, is_check, clock.wall()))
            await asyncio.sleep(SECONDS)
    finally:
        OLDEST_WAIT.set(0)


def longest_wait(workloads: Iterable[Workload], is_check: Callable[[str], bool], now: float) -> float:
    """Seconds since the first of the Workloads that no cluster has got its quota; 0 if none waits. `now`: in seconds
    since 1970."""
    since = [reserved_at(each) / 1_000_000 for each in workloads if _waits(each, is_check)]
    return max(0.0, now - min(since, default=now))


def _waits(workload: Workload, is_check: Callable[[str], bool]) -> bool:
    if not attempt_of(workload) or any(true_condition(workload, each) for each in OVER):
        return False
    states = workload.status.admission_checks or ()
    return not workload.status.cluster_name and any(
        each.state == "Pending" and is_check(each.name) for each in states
    )

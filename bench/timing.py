"""How the parts of the bench that work in one process take the time of one call."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["cpu_seconds"]

T = TypeVar("T")


def cpu_seconds(act: Callable[[], T], rounds: int = 1) -> tuple[float, T]:
    """The median of the CPU seconds that some calls take, and the last result.

    The garbage collector looks at all objects first. Otherwise it might do so during a call, because of what was
    allocated earlier: by imports, or by another row. With the bench's 100,000 containers this takes 50 ms, which is as
    long as some decisions take.
    """
    gc.collect()
    times: list[float] = []
    results: list[T] = []
    for _ in range(rounds):
        start = time.process_time()
        result = act()
        times.append(time.process_time() - start)
        results = [result]
    return statistics.median(times), results[0]

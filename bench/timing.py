"""How the parts of the bench that work in one process take the time of one call."""

from __future__ import annotations

import gc
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

__all__ = ["child_cpu_seconds", "cpu_seconds"]

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


def child_cpu_seconds(arguments: Sequence[str]) -> tuple[float, int]:
    """The CPU seconds of a process from its start to its end, and its exit status. Its output is thrown away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(arguments, stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ended.returncode

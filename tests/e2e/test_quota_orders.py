"""Queues, cohorts, flavors, a check and Workloads come and go in random orders, and the end is always the same.

`python -m tests.e2e.stress_quota --orders 50` tries more.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.e2e.quota_orders import run_order
from tests.e2e.quota_sandbox import QuotaSandbox
from tests.kit.often import ALL

SEEDS: Final = range(5 if ALL else 2)


def test_the_end_does_not_depend_on_the_order(quotas: Callable[[str], QuotaSandbox]) -> None:
    """All orders at once, each with objects of its own."""
    boxes = [quotas(f"order-{seed}") for seed in SEEDS]
    with ThreadPoolExecutor(len(boxes)) as threads:
        list(threads.map(run_order, boxes, SEEDS))

"""Copies and Jobs that belong to no present attempt, in clusters where no event tells of them any longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from controllers.multikueue.clusters.clusters import Clusters
from kube.breath import Breath

__all__ = ["collect"]


async def collect(clusters: Clusters, changed: Callable[[str], None], seconds: float) -> None:
    """Have every Workload decided about that has something in a cluster, every `seconds`, until cancelled.

    What belongs to no present attempt is deleted by that decision. `changed` gets keys (`namespace/name`).
    """
    while True:
        await asyncio.sleep(seconds)
        breath = Breath()
        for cluster in list(clusters):
            if cluster.reach != "Connected":
                continue
            keys = {each.key for each in cluster.copies()}
            keys |= {f"{each.namespace}/{each.workload or each.name}" for each in cluster.jobs()}
            for key in sorted(keys):
                changed(key)
                if breath.is_due:
                    await breath.take()

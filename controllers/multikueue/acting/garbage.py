"""Copies and Jobs that belong to no present attempt, in clusters where no event tells of them any longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from api.workloads import Workload
from controllers.multikueue.clusters.clusters import Clusters
from kube.breath import Breath
from quota.state.workloads import key_of

__all__ = ["collect"]


async def collect(
    clusters: Clusters,
    workloads: Iterable[Workload],
    changed: Callable[[str], None],
    tidy: Callable[[], None],
    seconds: float,
) -> None:
    """Have every Workload decided about that has something in a cluster, every `seconds`, until cancelled. `tidy` is
    called as often.

    What belongs to no present attempt is deleted by that decision. `changed` gets keys (`namespace/name`).
    `workloads`: those here. One whose cluster has no MultiKueueCluster is lost by time alone.
    """
    while True:
        await asyncio.sleep(seconds)
        tidy()
        breath = Breath()
        for workload in list(workloads):
            if workload.status.cluster_name:
                changed(key_of(workload))
            if breath.is_due:
                await breath.take()
        for cluster in list(clusters):
            if cluster.reach != "Connected":
                continue
            keys = {each.key for each in cluster.copies()}
            keys |= {f"{each.namespace}/{each.workload or each.name}" for each in cluster.jobs()}
            for key in sorted(keys):
                changed(key)
                if breath.is_due:
                    await breath.take()

"""Kueue's metrics of queues. They are collected when somebody asks for them, so a change of a Workload costs nothing.

The label `cluster_queue` is the name of an object, as in Kueue: dashboards need it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import REGISTRY, Collector, CollectorRegistry

from controllers.quota.queues.desired import Pending
from quota.state.activity import Activity
from quota.state.amounts import QuotaError
from quota.state.state import QuotaState
from quota.state.statuses import Tally

__all__ = ["QueueMetrics"]

STATUSES: Final = ("pending", "active", "terminating")
ROLE: Final = "leader"
"""replica_role. Only the leader has these metrics."""


class QueueMetrics(Collector):
    """The metrics of every ClusterQueue, and of Cohorts with fair sharing."""

    def __init__(self, state: QuotaState, tally: Tally, pending: Pending, *, fair_sharing: bool) -> None:
        self._state, self._tally, self._pending, self._fair_sharing = state, tally, pending, fair_sharing

    @contextmanager
    def registered(self, registry: CollectorRegistry = REGISTRY) -> Iterator[None]:
        """Export the metrics until the end of the context."""
        registry.register(self)
        try:
            yield
        finally:
            registry.unregister(self)

    def describe(self) -> list[Metric]:
        """Nothing is collected at registration."""
        return []

    def collect(self) -> Iterator[Metric]:
        """See `Collector`."""
        waiting = _gauge(
            "pending_workloads", "Workloads that wait, by status: active, inadmissible.", "status"
        )
        reserving = _gauge("reserving_active_workloads", "Workloads that hold quota.")
        admitted = _gauge("admitted_active_workloads", "Workloads that are admitted and not finished.")
        status = _gauge("cluster_queue_status", "1 for the status of the ClusterQueue.", "status")
        for name, activity in self._activities():
            for kind, number in zip(("active", "inadmissible"), self._pending.counts(name), strict=True):
                waiting.add_metric([name, kind, ROLE], number)
            counts = self._tally.cluster_queue(name)
            reserving.add_metric([name, ROLE], counts.reserving)
            admitted.add_metric([name, ROLE], counts.admitted)
            for each in STATUSES:
                status.add_metric([name, each, ROLE], float(each == _status(activity)))
        yield from (waiting, reserving, admitted, status)
        if self._fair_sharing:
            yield from self._shares()

    def _activities(self) -> list[tuple[str, Activity]]:
        try:
            return [(name, queue.activity) for name, queue in self._state.queues.items()]
        except QuotaError:
            return []

    def _shares(self) -> Iterator[Metric]:
        queues = GaugeMetricFamily(
            "kueue_cluster_queue_weighted_share",
            "The share in fair sharing, in thousandths. NaN for weight zero that borrows.",
            labels=["cluster_queue", "cohort", "replica_role"],
        )
        cohorts = GaugeMetricFamily(
            "kueue_cohort_weighted_share",
            "The share in fair sharing, in thousandths. NaN for weight zero that borrows.",
            labels=["cohort", "replica_role"],
        )
        try:
            for name, queue in self._state.cluster_queues.items():
                queues.add_metric(
                    [name, queue.spec.cohort_name, ROLE], _number(self._state.weighted_share(name))
                )
            for name in self._state.cohorts:
                share = self._state.weighted_share(name, cohort=True)
                cohorts.add_metric([name, ROLE], _number(share))
        except QuotaError:
            return
        yield from (queues, cohorts)


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"kueue_{name}", text, labels=["cluster_queue", *labels, "replica_role"])


def _status(activity: Activity) -> str:
    if activity.is_active:
        return "active"
    return "terminating" if activity.reason == "Terminating" else "pending"


def _number(share: float) -> float:
    return math.nan if math.isinf(share) else share

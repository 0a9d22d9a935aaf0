"""Metrics of the manager of several clusters. The names that begin with `kueue` are Kueue's."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Final

from prometheus_client import REGISTRY, Counter, Gauge, Histogram

__all__ = [
    "ADMITTED",
    "CONNECTIONS",
    "DISPATCHED",
    "LOSSES",
    "OF_CLUSTERS",
    "OLDEST_WAIT",
    "ORPHANS",
    "SILENCE",
    "TO_GATE",
    "TURNS",
    "export",
    "forget",
    "no_longer_measured",
]

SECONDS: Final = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)

DISPATCHED = Counter(
    "kueue_multikueue_workloads_dispatched_total",
    "Copies of Workloads that were made in worker clusters.",
    ["cluster_queue", "cluster", "replica_role"],
    registry=None,
)
ADMITTED = Counter(
    "kueue_multikueue_workloads_admitted_total",
    "Workloads that a worker cluster has admitted, and that got their Job there.",
    ["cluster_queue", "cluster", "replica_role"],
    registry=None,
)
TURNS = Counter(
    "reprieve_multikueue_turns_total",
    "Turns of worker clusters to preempt that are over, by their end.",
    ["cluster", "end"],
    registry=None,
)
TO_GATE = Histogram(
    "reprieve_multikueue_seconds_to_gate",
    "Seconds from the reservation of quota to the first open gate.",
    buckets=SECONDS,
    registry=None,
)
ORPHANS = Counter(
    "reprieve_multikueue_orphans_deleted_total",
    "Copies and Jobs in worker clusters that were deleted because they belonged to no present attempt.",
    ["cluster", "kind"],
    registry=None,
)
CONNECTIONS = Counter(
    "reprieve_multikueue_connections_total",
    "Connections to a worker cluster in which all of its objects were listed.",
    ["cluster"],
    registry=None,
)
SILENCE = Gauge(
    "reprieve_multikueue_silence_seconds",
    "Seconds since the last word of a worker cluster. Only the process that leads has it.",
    ["cluster"],
    registry=None,
)
LOSSES = Counter(
    "reprieve_multikueue_losses_total",
    "How often a worker cluster was silent for workerLostTimeoutSeconds, so that its Workloads get another cluster.",
    ["cluster"],
    registry=None,
)
OLDEST_WAIT = Gauge(
    "reprieve_multikueue_oldest_wait_seconds",
    "Seconds since the oldest Workload that no worker cluster has taken got its quota. 0: none waits.",
    registry=None,
)

OF_CLUSTERS: Final = (DISPATCHED, ADMITTED, TURNS, ORPHANS, CONNECTIONS, SILENCE, LOSSES)
"""Those with the label `cluster`."""


@cache
def export() -> None:
    """Export them. Only a process that manages several clusters has them."""
    for each in (*OF_CLUSTERS, TO_GATE, OLDEST_WAIT):
        REGISTRY.register(each)


def no_longer_measured(cluster: str) -> None:
    """This process has no connection to the cluster any longer. Counters stay: they would begin anew at 0."""
    with suppress(KeyError):
        SILENCE.remove(cluster)


def forget(cluster: str) -> None:
    """Take away what was counted for a cluster whose MultiKueueCluster is gone."""
    for metric in OF_CLUSTERS:
        metric.remove_by_labels({"cluster": cluster})

"""Which metrics are exported, and when."""

from __future__ import annotations

from prometheus_client import REGISTRY, generate_latest

from controllers.quota.life.draft import Counted
from controllers.quota.metrics import count, export_kueues


def test_who_manages_exports_kueues_metrics_once() -> None:
    export_kueues()
    export_kueues()  # another controller of this process
    count(Counted("Admitted", "a-queue-of-this-test"))
    text = generate_latest(REGISTRY).decode()
    assert 'kueue_admitted_workloads_total{cluster_queue="a-queue-of-this-test"} 1.0' in text


def test_an_eviction_counts_again_and_a_workload_once() -> None:
    export_kueues()
    for is_first in (True, False):
        count(Counted("Evicted", "another-queue", "Deactivated", "AdmissionCheck", is_first))
    text = generate_latest(REGISTRY).decode()
    labels = '{cluster_queue="another-queue",reason="Deactivated",underlying_cause="AdmissionCheck"}'
    assert f"kueue_evicted_workloads_total{labels} 2.0" in text
    assert f"kueue_evicted_workloads_once_total{labels} 1.0" in text

"""`python -m hack.metrics FILE` writes docs/metrics.md: every metric of the code, with its labels and its meaning."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

from prometheus_client.core import Metric
from prometheus_client.metrics import MetricWrapperBase

import controllers.account.metrics
import controllers.gangs.metrics
import controllers.multikueue.metrics
import controllers.quota.metrics
import controllers.recheck.metrics
import extender.metrics
import kube.metrics
import runtime.metrics
import serving.metrics
import web.metrics
import webhooks.metrics
from controllers.quota.queues.queue_metrics import QueueMetrics
from quota.state.state import QuotaState
from quota.state.statuses import Tally
from serving.certificates.keeping import CertificateMetrics

__all__ = ["Described", "main", "metrics", "page"]

SUFFIXES: Final = {"counter": ("_total",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}
"""What a sample has behind the name of its metric, by type."""
HEAD: Final = """\
<!-- Generated: python -m hack.metrics docs/metrics.md -->
# Metrics

Every process serves `/metrics` in Prometheus' format on its port `ops`, which is 9080. [monitoring.md](monitoring.md)
says how to collect them, and which alerts there are. Labels are bounded: no label is the name of an object, except for
ClusterQueues and Cohorts. A histogram `x` is served as `x_bucket`, which has the label `le`, `x_sum` and `x_count`. The
process also has the metrics of Prometheus' client for Python, such as `process_resident_memory_bytes`.
"""
SECTIONS: Final = (
    (
        "The process",
        "Every process has them. `cluster` is empty for the cluster in which it runs.",
        (serving.metrics, runtime.metrics),
    ),
    ("Reads and writes", "Every process has them.", (kube.metrics,)),
    (
        "Gangs",
        "The processes of the Deployment `reprieve` have them. The one that leads counts, if nothing else is said.",
        (controllers.gangs.metrics,),
    ),
    (
        "The account",
        "The same processes. The one that leads counts.",
        (controllers.account.metrics,),
    ),
    ("Calls of the scheduler", "The same processes. Each counts its own calls.", (extender.metrics,)),
    (
        "Webhooks",
        "The processes of the Deployment `reprieve-webhooks` have them.",
        (webhooks.metrics, controllers.recheck.metrics),
    ),
    (
        "The page",
        "The process of the Deployment `reprieve-page` has them.",
        (web.metrics,),
    ),
    (
        "Quota",
        "The processes of the Deployment `reprieve` have them. With `quota.mode: Enforce` those with Kueue's names are "
        "there, too: the gauges in the process that leads, and the shares with fair sharing.",
        (controllers.quota.metrics,),
    ),
    (
        "Several clusters",
        "Processes whose Configuration has the section `multikueue` have them. The one that leads counts.",
        (controllers.multikueue.metrics,),
    ),
)


@dataclass(frozen=True, slots=True)
class Described:
    """A metric as the code describes it."""

    name: str
    """As it is written in a query; of a histogram without its suffixes."""
    type: str
    labels: tuple[str, ...]
    text: str

    @property
    def samples(self) -> list[str]:
        """The names of its samples."""
        return [self.name.removesuffix("_total") + suffix for suffix in SUFFIXES[self.type]]


class _NobodyWaits:
    """No Workload waits."""

    def counts(self, cluster_queue: str) -> tuple[int, int]:
        """See `controllers.quota.queues.desired.Pending`."""
        return 0, 0

    def local_counts(self, local_queue: str) -> tuple[int, int]:
        """See `controllers.quota.queues.desired.Pending`."""
        return 0, 0


def metrics() -> list[Described]:
    """All metrics of the code, in the order of the page."""
    return [each for _, _, modules in SECTIONS for each in _of(modules)]


def page() -> str:
    """The text of docs/metrics.md."""
    parts = [HEAD]
    for title, text, modules in SECTIONS:
        rows = [f"| `{each.name}` | {each.type} | {_labels(each)} | {each.text} |" for each in _of(modules)]
        parts.append("\n".join(["", f"## {title}", "", text, "", "| metric | type | labels | meaning |"]))
        parts.append("\n".join(["\n|---|---|---|---|", *rows, ""]))
    return "".join(parts)


def main(arguments: Sequence[str]) -> int:
    """Write the page. Returns the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m hack.metrics FILE\n")
        return 2
    Path(arguments[0]).write_text(page(), encoding="utf-8")
    return 0


def _of(modules: Sequence[ModuleType]) -> Iterator[Described]:
    for module in modules:
        for value in vars(module).values():
            if isinstance(value, MetricWrapperBase):
                yield _described(value)
            elif isinstance(value, CertificateMetrics):
                yield from map(_described, (value.expires, value.renewals, value.faults))
        if module is controllers.quota.metrics:
            queues = QueueMetrics(QuotaState(), Tally(), _NobodyWaits(), fair_sharing=True)
            yield from (_family(each, each._labelnames) for each in queues.collect())  # type: ignore[attr-defined] # families have them


def _described(metric: MetricWrapperBase) -> Described:
    (family,) = metric.describe()
    return _family(family, metric._labelnames)


def _family(family: Metric, labels: Sequence[str]) -> Described:
    total = "_total" if family.type == "counter" else ""
    return Described(family.name + total, family.type, tuple(labels), family.documentation)


def _labels(metric: Described) -> str:
    return ", ".join(f"`{each}`" for each in metric.labels)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

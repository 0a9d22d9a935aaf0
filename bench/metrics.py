"""Reads the metrics of reprieve and of kube-scheduler, and what they grew by."""

from __future__ import annotations

import math
import os
import ssl
import statistics
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from hack.controlplane.components import HOST
from hack.controlplane.plane import ControlPlane

__all__ = [
    "Samples",
    "cpu_seconds_of",
    "grown",
    "quantile",
    "reprieve_metrics",
    "samples_of",
    "scheduler_metrics",
    "spent_since",
]

Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]
"""Values by name and labels."""


def reprieve_metrics(plane: ControlPlane) -> Samples:
    """Those of `reprieve serve`."""
    return samples_of(f"{plane.ops_url}/metrics")


def scheduler_metrics(plane: ControlPlane, name: str = "kube-scheduler") -> Samples:
    """Those of kube-scheduler, or of another one with this name, read with the administrator's certificate."""
    context = ssl.create_default_context(cafile=plane.layout.authority.pair.certificate)
    context.load_cert_chain(plane.layout.pki / "admin.crt", plane.layout.pki / "admin.key")
    return samples_of(f"https://{HOST}:{plane.layout.port[name]}/metrics", context)


def cpu_seconds_of(plane: ControlPlane) -> dict[str, float]:
    """The CPU seconds that each process of the plane has used, by its name. Linux only."""
    ticks = os.sysconf("SC_CLK_TCK")
    spent = {}
    for name, process in plane.processes.items():
        if process.running:
            # The name of the program may have spaces. After it comes the third field.
            fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
            spent[name] = (int(fields[11]) + int(fields[12])) / ticks
    return spent


def spent_since(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """The CPU seconds of each process between two readings."""
    return {name: after[name] - seconds for name, seconds in before.items() if name in after}


def quantile(values: Sequence[float], at: float) -> float:
    """The value below which this part of the values is, between 0 and 1; not a number without values."""
    if len(values) < 2:
        return values[0] if values else math.nan
    return statistics.quantiles(values, n=100, method="inclusive")[round(at * 100) - 1]


def grown(before: Samples, after: Samples, name: str, **labels: str) -> float:
    """How much a value has grown; of all values that have these labels."""
    return _total(after, name, labels) - _total(before, name, labels)


def _total(samples: Samples, name: str, labels: Mapping[str, str]) -> float:
    return sum(value for (each, those), value in samples.items() if each == name and labels.items() <= those)


def samples_of(url: str, context: ssl.SSLContext | None = None) -> Samples:
    """Those that can be read there."""
    with urllib.request.urlopen(url, context=context) as answer:  # noqa: S310  # our own URL
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }

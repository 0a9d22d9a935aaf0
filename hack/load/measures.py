"""What the processes used, and what the API server was asked to write."""

from __future__ import annotations

import math
import os
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hack.load.api import Api, RefusedError

__all__ = ["Usage", "processes_used", "quantile", "usage_of", "writes"]

TICKS: Final = os.sysconf("SC_CLK_TCK")
REQUESTS: Final = re.compile(rb"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
LABEL: Final = re.compile(rb'(\w+)="([^"]*)"')
WRITES: Final = frozenset({"POST", "PUT", "PATCH", "APPLY", "DELETE"})
MEBIBYTE: Final = 1024


@dataclass(frozen=True)
class Usage:
    """What a process has used so far."""

    cpu: float
    """Seconds."""
    peak: float
    """The most memory that it has had, in MiB."""


def usage_of(pid: int) -> Usage:
    """Of a process that runs on this machine. Raises OSError."""
    # The command name in parentheses may contain anything. The fields from the third on follow it.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text()
    peak = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return Usage(
        (int(fields[11]) + int(fields[12])) / TICKS, int(peak[1]) / MEBIBYTE if peak is not None else math.nan
    )


def processes_used(before: Mapping[str, Usage], after: Mapping[str, Usage]) -> dict[str, Usage]:
    """By name of the process: the CPU seconds between, and the peak at the end."""
    return {name: Usage(after[name].cpu - usage.cpu, after[name].peak) for name, usage in before.items()}


async def writes(api: Api) -> Counter[str]:
    """Writes that the API server has answered with 2xx so far, by `VERB resource/subresource`.

    Empty if these credentials may not read its metrics.
    """
    try:
        text = await api.send("metrics", "GET", "/metrics")
    except RefusedError:
        return Counter()
    found: Counter[str] = Counter()
    for labels, value in REQUESTS.findall(text):
        of = {name.decode(): content.decode() for name, content in LABEL.findall(labels)}
        if of["verb"] in WRITES and of["code"].startswith("2") and not of.get("dry_run"):
            resource = "/".join(filter(None, (of["resource"], of["subresource"])))
            found[f"{of['verb']} {resource}"] += round(float(value))
    return found


def quantile(values: Sequence[float], at: float) -> float:
    """The value below which this part of the values is, between 0 and 1; not a number without values."""
    if len(values) < 2:
        return values[0] if values else math.nan
    return statistics.quantiles(values, n=100, method="inclusive")[round(at * 100) - 1]

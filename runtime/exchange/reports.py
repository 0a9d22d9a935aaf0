"""All that is reported to the one who writes the status of Workloads."""

from __future__ import annotations

from dataclasses import dataclass, field

from runtime.exchange.dispatch_reports import DispatchReports
from runtime.exchange.workload_reports import WorkloadReports

__all__ = ["Reports"]


@dataclass(frozen=True, slots=True)
class Reports:
    """Those of one process."""

    workloads: WorkloadReports = field(default_factory=WorkloadReports)
    """By those who run pods here."""
    dispatched: DispatchReports = field(default_factory=DispatchReports)
    """By the manager of several clusters."""

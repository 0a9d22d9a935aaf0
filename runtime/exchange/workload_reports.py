"""What those who run the pods of Workloads report to the one who writes the Workloads' status.

A report is a fact, not an event: it holds until another one replaces it. Nothing is stored. A new process finds the
facts again in the objects, and reports anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.listeners import Listenable

__all__ = ["NOTHING", "Reported", "Reporter", "WorkloadReports"]


@dataclass(frozen=True, slots=True)
class Reported:
    """All that is reported of one Workload."""

    nothing_runs: bool = False
    """No pod of it is left."""
    runs: bool = False
    """Pods may be left. A Workload may run without being admitted: its queue has got another admission check."""
    remaining: tuple[str, ...] = ()
    """Names of pods that are left although the Workload is evicted."""
    eviction: tuple[str, str] | None = None
    """Reason and message, if it must be evicted. A Workload without quota need not."""
    finished: tuple[str, str] | None = None
    """Reason and message, if it has ended for good."""
    reclaimable: Mapping[str, int] | None = None
    """By pod set: how many pods need no quota any longer. None: nobody says so here."""


NOTHING = Reported()


class WorkloadReports(Listenable[[str]]):
    """The reports of one process, by the UID of the Workload. Everything runs on the event loop.

    Listeners get the key (`namespace/name`) of a Workload when something new is reported of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._reports: dict[str, Reported] = {}

    def of(self, uid: str) -> Reported:
        """What is reported of the Workload."""
        return self._reports.get(uid, NOTHING)

    def put(self, uid: str, key: str, reported: Reported) -> None:
        """See `Reporter.report`."""
        if self.of(uid) == reported:
            return
        if reported == NOTHING:
            del self._reports[uid]
        else:
            self._reports[uid] = reported
        self._tell(key)


class Reporter:
    """One who reports, in one term. No two report of the same Workload."""

    def __init__(self, reports: WorkloadReports) -> None:
        self._reports = reports
        self._uids: dict[str, str] = {}
        """By key of a Workload: the UID that the reports name."""

    def report(self, uid: str, key: str, reported: Reported) -> None:
        """This holds now of the Workload of that UID and key."""
        before = self._uids.get(key, uid)
        if before != uid:
            self._reports.put(before, key, NOTHING)
        self._uids[key] = uid
        self._reports.put(uid, key, reported)

    def gone(self, key: str) -> None:
        """There is no Workload of this key any longer."""
        if uid := self._uids.pop(key, ""):
            self._reports.put(uid, key, NOTHING)

    def close(self) -> None:
        """The term is over. What was reported is not known to hold any longer."""
        for key in list(self._uids):
            self.gone(key)

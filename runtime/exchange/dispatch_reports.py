"""What the manager of several clusters reports of Workloads to the one who writes their status.

A report is a fact, not an event: it holds until another one replaces it. Nothing is stored. A new process finds the
facts again in the objects of all clusters, and reports anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runtime.listeners import Listenable

__all__ = ["CheckReport", "DispatchReporter", "DispatchReports", "Dispatched"]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The state that an admission check of the Workload must have."""

    name: str
    state: Literal["Pending", "Ready", "Retry", "Rejected"]
    message: str
    requeue_after_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Dispatched:
    """All that the manager reports of one Workload."""

    attempt: str
    """The quota that this is about: see `quota.state.workloads.attempt_of`. `check`, `nominated` and `cluster` count
    only while the Workload holds that quota."""
    check: CheckReport | None = None
    nominated: tuple[str, ...] = ()
    """The clusters that may get it, in their order (`status.nominatedClusterNames`). Empty once there is `cluster`."""
    cluster: str = ""
    """The cluster that has it (`status.clusterName`); empty if no cluster was chosen."""
    may_run: bool = True
    """Pods of it may be active or terminating in a cluster. Its quota is not given back before."""
    finished: tuple[str, str] | None = None
    """Reason and message, if it has ended for good in its cluster, and its owner here shows that."""


class DispatchReports(Listenable[[str]]):
    """The reports of one process, by the UID of the Workload. Everything runs on the event loop.

    Listeners get the key (`namespace/name`) of a Workload when something new is reported of it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._reports: dict[str, Dispatched] = {}
        self.is_served = False
        """Whether a manager runs in this process. Without one, nobody says that nothing runs elsewhere."""

    def of(self, uid: str) -> Dispatched | None:
        """What is reported of the Workload; None: nothing (yet)."""
        return self._reports.get(uid)

    def put(self, uid: str, key: str, dispatched: Dispatched | None) -> None:
        """See `DispatchReporter.report`."""
        if self.of(uid) == dispatched:
            return
        if dispatched is None:
            del self._reports[uid]
        else:
            self._reports[uid] = dispatched
        self._tell(key)


class DispatchReporter:
    """The manager, in one term."""

    def __init__(self, reports: DispatchReports) -> None:
        self._reports = reports
        self._uids: dict[str, str] = {}
        """By key of a Workload: the UID that the reports name."""

    def report(self, uid: str, key: str, dispatched: Dispatched) -> None:
        """This holds now of the Workload of that UID and key."""
        before = self._uids.get(key, uid)
        if before != uid:
            self._reports.put(before, key, None)
        self._uids[key] = uid
        self._reports.put(uid, key, dispatched)

    def gone(self, key: str) -> None:
        """There is no Workload of this key any longer, or it needs no manager."""
        if uid := self._uids.pop(key, ""):
            self._reports.put(uid, key, None)

    def close(self) -> None:
        """The term is over. What was reported is not known to hold any longer."""
        for key in list(self._uids):
            self.gone(key)

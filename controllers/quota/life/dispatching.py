"""What a manager of several clusters says about a Workload, in the Workload's status (MultiKueue).

The manager decides, and reports; the rules of the quota plane write (docs/decisions/0049). A Workload that was sent to
a cluster keeps `clusterName` and its quota until nothing of it runs there, however it is evicted
(docs/decisions/0097).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

import msgspec

from api.workloads import EVICTED, QUOTA_RESERVED, AdmissionCheckState
from controllers.quota.life.draft import MESSAGE, Draft
from controllers.quota.life.retries import sync_checks
from quota.cycle.queues import FAILED_CHECKS
from quota.state.workloads import attempt_of
from runtime.exchange.dispatch_reports import CheckReport, Dispatched

__all__ = [
    "NOT_SERVED",
    "NO_REPORT",
    "ClusterReport",
    "follow_report",
    "is_elsewhere",
    "may_run_elsewhere",
    "where",
]

NOT_SERVED: Final = "no manager of several clusters runs here, so nothing is known of its pods there"


@dataclass(frozen=True, slots=True)
class ClusterReport:
    """What is known about the clusters of a Workload."""

    said: Dispatched | None = None
    """What the manager reports. None: nothing, or not yet."""
    is_served: bool = False
    """Whether a manager runs in this process."""


NO_REPORT: Final = ClusterReport()


def follow_report(draft: Draft, report: ClusterReport, required: Collection[str] | None) -> None:
    """The state of the check and the names of clusters are as the manager reports them.

    A report counts for the quota that it is about, until the Workload is evicted. The API server takes a clusterName
    only if it was nominated in an earlier write. If it was not, this write nominates it, and the next one does the
    rest. `required`: see `Around.required`.
    """
    said = _of_this_quota(draft, report)
    if said is None or not draft.is_true(QUOTA_RESERVED) or draft.is_true(EVICTED):
        return
    if required is not None:
        sync_checks(draft, required)
    is_placed = _name_clusters(draft, said)
    if said.check is not None and (is_placed or said.check.state != "Ready"):
        _set_check(draft, said.check)


def may_run_elsewhere(draft: Draft, report: ClusterReport) -> bool:
    """Whether pods of it may be active or terminating in another cluster.

    A Workload that has a clusterName may run there as long as nobody says that it does not. A new process waits for the
    first report.
    """
    said = report.said
    if said is not None and (said.may_run or _of_this_quota(draft, report) is said):
        return said.may_run
    return is_elsewhere(draft)


def is_elsewhere(draft: Draft) -> bool:
    """Whether it was sent to a cluster. Its pods are only there: what is reported of pods here does not count."""
    return draft.status.cluster_name is not None


def where(draft: Draft, report: ClusterReport) -> str:
    """For the text about an overdue eviction: where pods may be left. Empty if they are here."""
    if not may_run_elsewhere(draft, report):
        return ""
    name = draft.status.cluster_name
    text = f"; pods may be left in cluster {name}" if name else "; pods may be left in another cluster"
    return text if report.is_served else f"{text}: {NOT_SERVED}"


def _of_this_quota(draft: Draft, report: ClusterReport) -> Dispatched | None:
    """The report, if it is about the quota that the Workload holds."""
    said = report.said
    return said if said is not None and said.attempt == attempt_of(draft.workload) else None


def _name_clusters(draft: Draft, said: Dispatched) -> bool:
    """Returns whether the check may be Ready: a cluster has the Workload, and the status names it, or nobody chooses
    one."""
    status = draft.status
    if status.cluster_name is not None:
        return said.cluster in ("", status.cluster_name)
    if not said.cluster:
        if tuple(status.nominated_cluster_names or ()) != said.nominated:
            status.nominated_cluster_names = list(said.nominated) or None
        return True
    if said.cluster in (status.nominated_cluster_names or ()):
        status.cluster_name, status.nominated_cluster_names = said.cluster, None
        return True
    status.nominated_cluster_names = [said.cluster]
    return False


def _set_check(draft: Draft, report: CheckReport) -> None:
    """Only another state is a transition. A check that the Workload does not have is left out.

    A check that has failed stays so for this quota, whoever has written that: the manager may not have seen it yet.
    """
    checks = list(draft.status.admission_checks or ())
    for index, before in enumerate(checks):
        if before.name == report.name and (
            before.state not in FAILED_CHECKS or report.state in FAILED_CHECKS
        ):
            checks[index] = _check(draft, before, report)
    if checks != list(draft.status.admission_checks or ()):
        draft.status.admission_checks = checks


def _check(draft: Draft, before: AdmissionCheckState, report: CheckReport) -> AdmissionCheckState:
    since = before.last_transition_time if before.state == report.state else draft.time
    return msgspec.structs.replace(
        before,
        state=report.state,
        message=report.message[:MESSAGE],
        last_transition_time=since,
        requeue_after_seconds=report.requeue_after_seconds,
    )

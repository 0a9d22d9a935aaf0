"""Checks of a manager of several clusters, from its own objects. Nothing is asked in a worker cluster."""

from __future__ import annotations

from collections import Counter
from typing import Final

from answers.doctor.findings import Finding, fault, note, well
from answers.doctor.installation import missing_rights
from answers.doctor.rights import MANAGER_RIGHTS
from answers.doctor.seen import Seen
from answers.worker_clusters import condition_of, is_over
from api.checks import AdmissionCheck, MultiKueueCluster
from api.dispatch import DispatchPlan
from api.multikueue import CONTROLLER_NAME, GATES_CONDITION, ORIGIN_IN_USE, ORIGIN_LABEL
from api.published import NAMESPACE, PROCESS
from api.times import parse_rfc3339
from api.words import counted, some
from api.workloads import FINISHED, Workload
from quota.state.workloads import attempt_of, true_condition

__all__ = ["checks", "copies", "gates", "reached", "rights", "turns", "unread"]

ACTIVE: Final = "Active"
OVERDUE_SECONDS: Final = 600.0
"""A DispatchPlan of a quota that is gone gets its end within seconds."""


def unread(seen: Seen, now: float) -> list[Finding]:
    """What could not be read of worker clusters."""
    return [note("clusters", f"not read: {some(seen.clusters_unread)}")] if seen.clusters_unread else []


def reached(seen: Seen, now: float) -> list[Finding]:
    """The worker clusters that are not active, and why."""
    clusters, found = seen.all(MultiKueueCluster), list[Finding]()
    unwatched = list[str]()
    for each in clusters:
        active = condition_of(each, ACTIVE)
        if active is None:
            unwatched.append(each.metadata.name)
        elif active.status != "True":
            name = "OriginTaken" if active.reason == ORIGIN_IN_USE else "ClusterInactive"
            since = f" since {active.last_transition_time}" if active.last_transition_time else ""
            text = f"{each.metadata.name} is not active{since}: {active.reason}: {active.message}"
            found.append(fault("clusters", name, text))
    if unwatched:
        text = f"no process says whether these clusters are reached: {some(unwatched)}"
        found.append(fault("clusters", "ClusterNotWatched", text))
    if not clusters:
        return [] if seen.clusters_unread else [well("clusters", "there are no MultiKueueClusters")]
    if found:
        return found
    return [well("clusters", f"{counted(len(clusters), 'worker cluster')}, all active")]


def gates(seen: Seen, now: float) -> list[Finding]:
    """The worker clusters that do not honour preemption gates."""
    said = [
        f"{each.metadata.name}: {gate.message}"
        for each in seen.all(MultiKueueCluster)
        if (gate := condition_of(each, GATES_CONDITION)) is not None and gate.status == "False"
    ]
    if not said:
        return []
    text = f"a Workload gets its copy there only in the cluster's turn: {'; '.join(said)}"
    return [fault("cluster-gates", "GatesNotHonoured", text)]


def checks(seen: Seen, now: float) -> list[Finding]:
    """The AdmissionChecks of MultiKueue that admit nothing."""
    found = []
    for each in seen.all(AdmissionCheck):
        if each.spec is None or each.spec.controller_name != CONTROLLER_NAME:
            continue
        conditions = (each.status.conditions if each.status is not None else None) or ()
        active = next((condition for condition in conditions if condition.type == ACTIVE), None)
        if active is not None and active.status != "True":
            text = f"{each.metadata.name} is not active: {active.reason}: {active.message}"
            found.append(fault("cluster-checks", "ClusterCheckInactive", text))
    return found


def rights(seen: Seen, now: float) -> list[Finding]:
    """Whether the manager may do here what it has to do. Its rights in worker clusters show in their state."""
    if not seen.all(MultiKueueCluster) or not seen.manages_quota():
        return []
    missing = missing_rights(seen, MANAGER_RIGHTS)
    if missing:
        text = f"the service account {NAMESPACE}/{PROCESS} lacks {some(missing)}"
        return [fault("cluster-rights", "ManagerRightsMissing", text)]
    return [well("cluster-rights", f"{len(MANAGER_RIGHTS)} rights of a manager are granted")]


def copies(seen: Seen, now: float) -> list[Finding]:
    """Copies that no manager here looks after, and those that other managers have made in this cluster."""
    found = list[Finding]()
    known = {each.metadata.name for each in seen.all(MultiKueueCluster)}
    lost = [
        f"{each.metadata.namespace}/{each.metadata.name} ({each.status.cluster_name})"
        for each in seen.all(Workload)
        if each.status.cluster_name
        and each.status.cluster_name not in known
        and true_condition(each, FINISHED) is None
    ]
    if lost and not seen.clusters_unread:
        text = f"Workloads have a cluster without a MultiKueueCluster, and may run there: {some(lost)}"
        found.append(fault("copies", "ClusterGone", text))
    origins = Counter(
        origin
        for each in seen.all(Workload)
        if (origin := (each.metadata.labels or {}).get(ORIGIN_LABEL))
        and true_condition(each, FINISHED) is None
    )
    if origins:
        named = ", ".join(f"{count} of origin {origin}" for origin, count in sorted(origins.items()))
        text = f"managers have made copies in this cluster: {named}. Only they know whether these are still wanted"
        found.append(note("copies", text))
    return found


def turns(seen: Seen, now: float) -> list[Finding]:
    """Turns that nobody ends: their gates may be open."""
    attempts = {(each.metadata.namespace, each.metadata.uid): attempt_of(each) for each in seen.all(Workload)}
    old = [
        f"{each.metadata.namespace}/{each.metadata.name} ({each.spec.cluster})"
        for each in seen.all(DispatchPlan)
        if not is_over(each)
        and now - parse_rfc3339(each.spec.began, "spec.began") > OVERDUE_SECONDS
        and attempts.get((each.metadata.namespace, each.spec.workload.uid)) != each.spec.workload.attempt
    ]
    if not old or seen.clusters_unread:
        return []
    text = f"turns that have no end, though nothing holds the quota that they are about: {some(old)}"
    return [fault("turns", "TurnsOld", text)]

"""Status of a Workload (Kueue's rules)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from api.quantity import MILLI
from api.words import listed, shown
from api.workloads import QUOTA_RESERVED
from schema.labels import annotation_causes, label_causes
from schema.verdict import INVALID, NOT_FOUND, NOT_SUPPORTED, REQUIRED, Cause
from webhooks.rules.equality import same
from webhooks.rules.fields import child, entries, integer, items, text, texts
from webhooks.rules.metadata import condition_causes, toleration_causes
from webhooks.rules.quantities import quantity
from webhooks.rules.request import Object

__all__ = ["has_quota", "status_causes", "transition_causes"]

REPLACEMENT_ANNOTATION: Final = "kueue.x-k8s.io/workload-slice-replacement-for"
"""Names the slice of an elastic job that this Workload replaces."""


def has_quota(workload: Object) -> bool:
    """Whether quota is reserved for the Workload."""
    conditions = items(child(workload, "status"), "conditions")
    return any(
        text(condition, "type") == QUOTA_RESERVED and text(condition, "status") == "True"
        for condition in conditions
    )


def status_causes(workload: Object, old: Object | None, *, elastic: bool) -> Iterator[Cause]:
    """The faults in the status alone. `old` is the stored Workload: a few of its faults may stay."""
    status = child(workload, "status")
    pod_sets = _counts(child(workload, "spec"), "podSets")
    if has_quota(workload):
        yield from _admission_causes(status, pod_sets, old)
    yield from condition_causes(items(status, "conditions"), "status.conditions")
    stored = _counts(child(old or {}, "status"), "reclaimablePods") if elastic else {}
    yield from _reclaimable_causes(status, pod_sets, stored)
    for index, check in enumerate(items(status, "admissionChecks")):
        for position, update in enumerate(items(check, "podSetUpdates")):
            path = f"status.admissionChecks[{index}].podSetUpdates[{position}]"
            yield from _update_causes(update, pod_sets, path)


def transition_causes(workload: Object, old: Object, *, elastic: bool) -> Iterator[Cause]:
    """The faults in the change of the stored status."""
    status, before = child(workload, "status"), child(old, "status")
    if has_quota(workload) and has_quota(old):
        yield from _reclaimed_causes(status, before, _shrunk(workload) if elastic else frozenset())
    yield from _reassigned_causes(status, before)
    yield from _readied_causes(status, before)
    replaces = REPLACEMENT_ANNOTATION in entries(child(workload, "metadata"), "annotations")
    if before.get("clusterName") is None and status.get("clusterName") is not None and not replaces:
        nominated = texts(before, "nominatedClusterNames")
        if text(status, "clusterName") not in nominated:
            message = f"{shown(status['clusterName'])} is none of nominatedClusterNames: {listed(nominated)}"
            yield Cause("status.clusterName", INVALID, message)


def _counts(parent: Object, name: str) -> dict[str, int]:
    """The number of pods by pod set."""
    return {text(entry, "name"): integer(entry, "count") or 0 for entry in items(parent, name)}


def _admission_causes(status: Object, pod_sets: Mapping[str, int], old: Object | None) -> Iterator[Cause]:
    if not isinstance(status.get("admission"), dict):
        lacked = old is not None and has_quota(old) and child(old, "status").get("admission") is None
        if not lacked:
            yield Cause("status.admission", REQUIRED, f"goes with condition {QUOTA_RESERVED}")
    for index, assignment in enumerate(items(child(status, "admission"), "podSetAssignments")):
        path = f"status.admission.podSetAssignments[{index}]"
        if (name := text(assignment, "name")) not in pod_sets:
            yield Cause(f"{path}.name", NOT_FOUND, f"there is no pod set {shown(name)}")
        count = integer(assignment, "count") or 0
        for resource, usage in child(assignment, "resourceUsage").items() if count > 0 else ():
            if _units(resource, usage) % count:
                message = f"{shown(usage)} is not the same for each of {count} pods"
                yield Cause(f"{path}.resourceUsage[{resource}]", INVALID, message)


def _units(resource: str, usage: Any) -> int:
    """The amount as quota counts it: thousandths of a CPU for cpu, whole units otherwise, rounded up."""
    amount = quantity(usage)
    return 0 if amount is None else amount.scaled(MILLI if resource == "cpu" else 0)


def _reclaimable_causes(
    status: Object, pod_sets: Mapping[str, int], stored: Mapping[str, int]
) -> Iterator[Cause]:
    """The faults in reclaimablePods. `stored`: counts that were right before an elastic job shrank."""
    for reclaimable in items(status, "reclaimablePods"):
        name, count = text(reclaimable, "name"), integer(reclaimable, "count") or 0
        path = f"status.reclaimablePods[{name}]"
        if name not in pod_sets:
            yield Cause(f"{path}.name", NOT_SUPPORTED, f"{shown(name)} is none of {listed(pod_sets)}")
        elif pod_sets[name] < count and stored.get(name) != count:
            yield Cause(f"{path}.count", INVALID, f"{count} is more than the {pod_sets[name]} pods there are")


def _shrunk(workload: Object) -> frozenset[str]:
    """Pod sets that have fewer pods than they hold quota for. Their reclaimable pods are counted again."""
    pod_sets = _counts(child(workload, "spec"), "podSets")
    held = _counts(child(workload, "status", "admission"), "podSetAssignments")
    return frozenset(name for name, count in held.items() if pod_sets.get(name, count) < count)


def _reclaimed_causes(status: Object, before: Object, shrunk: frozenset[str]) -> Iterator[Cause]:
    """The faults in taking back quota that was given back. Pod sets that have `shrunk` may do it."""
    counts = _counts(before, "reclaimablePods")
    held = {name: count for name, count in counts.items() if name not in shrunk}
    names = set()
    for reclaimable in items(status, "reclaimablePods"):
        name, count = text(reclaimable, "name"), integer(reclaimable, "count") or 0
        names.add(name)
        if name in held and count < held[name]:
            message = f"{count} is less than {held[name]}, which it was"
            yield Cause(f"status.reclaimablePods[{name}].count", INVALID, message)
    for name in sorted(held.keys() - names):
        yield Cause(f"status.reclaimablePods[{name}]", REQUIRED, "cannot be removed while quota is reserved")


def _reassigned_causes(status: Object, before: Object) -> Iterator[Cause]:
    """The fault in a change of the quota that is held.

    It can be given back, but not changed. Only the place of the pods in the topology may be set later.
    """
    new, old = status.get("admission"), before.get("admission")
    if isinstance(new, dict) and isinstance(old, dict) and not same(_unplaced(new), _unplaced(old)):
        yield Cause("status.admission", INVALID, "can be removed, not changed")


def _unplaced(admission: Object) -> Object:
    later = {"topologyAssignment": None, "delayedTopologyRequest": None}
    assignments = [{**each, **later} for each in items(admission, "podSetAssignments")]
    return {**admission, "podSetAssignments": assignments}


def _readied_causes(status: Object, before: Object) -> Iterator[Cause]:
    """The faults in podSetUpdates of a check. They must not change while the check is Ready."""
    checks = {text(check, "name"): check for check in items(status, "admissionChecks")}
    for index, stored in enumerate(items(before, "admissionChecks")):
        check = checks.get(text(stored, "name"), {})
        if not text(stored, "state") == text(check, "state") == "Ready":
            continue
        if not same(items(check, "podSetUpdates"), items(stored, "podSetUpdates")):
            # The index is that of the stored check, as in Kueue.
            path = f"status.admissionChecks[{index}].podSetUpdates"
            yield Cause(path, INVALID, "cannot be changed while the check is Ready")


def _update_causes(update: Object, pod_sets: Mapping[str, int], path: str) -> Iterator[Cause]:
    if (name := text(update, "name")) not in pod_sets:
        yield Cause(f"{path}.name", NOT_SUPPORTED, f"{shown(name)} is none of {listed(pod_sets)}")
    yield from toleration_causes(items(update, "tolerations"), f"{path}.tolerations")
    yield from annotation_causes(entries(update, "annotations"), f"{path}.annotations")
    yield from label_causes(entries(update, "nodeSelector"), f"{path}.nodeSelector")
    yield from label_causes(entries(update, "labels"), f"{path}.labels")

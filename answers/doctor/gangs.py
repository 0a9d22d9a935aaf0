"""Checks of what reprieve works on: gangs, plans, and Kueue beside us."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from answers.doctor.findings import Finding, fault, note, well
from answers.doctor.kinds import Deployment, SeenPod
from answers.doctor.seen import Seen
from api.foreign_owners import OwningJob
from api.groups import SCHEDULED, PodGroup
from api.meta import Condition, controller_reference
from api.plans import PreemptionPlan
from api.stored_plans import is_proposal
from api.times import parse_rfc3339
from api.words import some
from nodes.answers.failing_jobs import why_it_fails
from nodes.groups.keys import is_foreign
from nodes.state.pods.pods import ENDED

__all__ = ["failing", "found", "kueue", "plans", "waiting"]

OURS: Final = "podgroups.reprieve.dev"
ENDS: Final = frozenset(
    {"Bound", "Unschedulable", "Aborted", "Expired", "Released", "Blocked", "QuotaReserved", "Observed"}
)
"""Phases in which a plan evicts nobody else."""
OVERDUE_SECONDS: Final = 600.0
"""Twice the default of planDeadlineSeconds."""
KUEUE: Final = ("app.kubernetes.io/name", "kueue")
"""The label of Kueue's own Deployment."""


def found(seen: Seen, now: float) -> list[Finding]:
    """The groups of pods, by kind."""
    owners = seen.owners()
    units = {unit for pod in seen.all(SeenPod) if (unit := owners.unit_of(pod)) is not None}
    kinds = Counter(name.partition(":")[0] if is_foreign(name) else OURS for _, name in units)
    unread = [note("gangs", f"not read: {some(seen.unread)}")] if seen.unread else []
    if not kinds:
        return [*unread, note("gangs", "no pod belongs to a group")]
    named = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return [*unread, well("gangs", f"groups with pods: {named}")]


def failing(seen: Seen, now: float) -> list[Finding]:
    """Jobs that fail for good when the group of their pods is evicted."""
    owners, pods = seen.owners(), Counter[str]()
    for pod in seen.all(SeenPod):
        owner = controller_reference(pod.metadata)
        runs = pod.spec.node_name and pod.status.phase not in ENDED
        if runs and owner is not None and owner.kind == "Job" and owners.unit_of(pod) is not None:
            pods[owner.uid] += 1
    said = [
        f"{_name(job)}: {why}"
        for job in seen.all(OwningJob)
        if (count := pods[job.metadata.uid]) and (why := why_it_fails(job, count))
    ]
    if not said:
        return [well("jobs", "no Job of a group fails for good when its pods are evicted")]
    return [fault("jobs", "JobsFailForGood", f"evicted as a group, these Jobs fail for good: {some(said)}")]


def waiting(seen: Seen, now: float) -> list[Finding]:
    """The PodGroups that are not scheduled, and why."""
    waits = [
        note("waiting", f"{each.metadata.namespace}/{each.metadata.name}: {why.reason}: {why.message}")
        for each in seen.all(PodGroup)
        if (why := _why(each)) is not None
    ]
    return waits or [well("waiting", "no PodGroup waits")]


def plans(seen: Seen, now: float) -> list[Finding]:
    """Plans that nobody ends, and plans that ended because their time was over."""
    every: Sequence[PreemptionPlan] = [each for each in seen.all(PreemptionPlan) if not is_proposal(each)]
    old = [_name(each) for each in every if _phase(each) not in ENDS and now - _since(each) > OVERDUE_SECONDS]
    expired = [_name(each) for each in every if _phase(each) == "Expired"]
    said = []
    if old:
        message = (
            f"for more than {OVERDUE_SECONDS / 60:.0f} minutes neither carried out nor ended: {some(old)}"
        )
        said.append(fault("plans", "PlansOld", message))
    if expired:
        said.append(fault("plans", "PlansExpired", f"not carried out in time: {some(expired)}"))
    return said or [well("plans", f"{len(every)} plans are stored, and none is overdue")]


def kueue(seen: Seen, now: float) -> list[Finding]:
    """Whether Kueue's controller manages the quota that we manage."""
    label, value = KUEUE
    there = [
        f"{each.metadata.namespace}/{each.metadata.name}"
        for each in seen.all(Deployment)
        if (each.metadata.labels or {}).get(label) == value
    ]
    if not there:
        return [well("kueue", "Kueue's controller is not there")]
    if seen.manages_quota():
        message = f"Kueue's controller ({some(there)}) and reprieve (quota.mode Enforce) write to the same Workloads"
        return [fault("kueue", "TwoManageQuota", message)]
    return [note("kueue", f"Kueue's controller ({some(there)}) manages the quota; reprieve does not")]


def _why(group: PodGroup) -> Condition | None:
    conditions = (group.status.conditions if group.status is not None else None) or ()
    return next((each for each in conditions if each.type == SCHEDULED and each.status == "False"), None)


def _phase(plan: PreemptionPlan) -> str:
    return (plan.status.phase if plan.status is not None else None) or ""


def _since(plan: PreemptionPlan) -> float:
    """When the plan was made. Only its last decision can be later."""
    decided = plan.status.last_decision_time if plan.status is not None else None
    return parse_rfc3339(decided or plan.metadata.creation_timestamp or "1970-01-01T00:00:00Z")


def _name(item: PreemptionPlan | OwningJob) -> str:
    return f"{item.metadata.namespace}/{item.metadata.name}"

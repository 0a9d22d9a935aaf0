"""Kueue's objects in a line or two, and a snapshot of them. Times are whole seconds after `EPOCH`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, Literal

import msgspec

from api.core import Container, PodSpec, Quantities, ResourceRequirements
from api.kueue import (
    BorrowWithinCohort,
    ClusterQueue,
    ClusterQueuePreemption,
    ClusterQueueSpec,
    Cohort,
    CohortSpec,
    FairSharing,
    FlavorQuotas,
    LocalQueue,
    LocalQueueSpec,
    ResourceFlavor,
    ResourceGroup,
    ResourceQuota,
    WithinClusterQueueConfig,
)
from api.meta import Condition, LabelSelector, ObjectMeta, OwnerReference
from api.podsets import PodSet, PodSetAssignment, PodTemplate
from api.workloads import Admission, PreemptionGate, Workload, WorkloadSpec
from quota.state.snapshot import QuotaSnapshot
from quota.state.state import QuotaState
from quota.state.workloads import pod_set_requests

__all__ = [
    "EPOCH",
    "Object",
    "at",
    "cluster_queue",
    "cohort",
    "condition",
    "cpu",
    "evicted",
    "flavor",
    "held",
    "local_queue",
    "owned",
    "preempted",
    "seconds",
    "set_condition",
    "snapshot",
    "us",
    "workload",
]

EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)
NAMESPACE: Final = "ns"

Object = ClusterQueue | Cohort | LocalQueue | ResourceFlavor | Workload
Amount = int | str
Quota = tuple[Amount, Amount | None, Amount | None]
"""Nominal quota, borrowing limit, lending limit."""
Quotas = Mapping[str, Mapping[str, Quota]]
"""By flavor, then by resource."""


def at(seconds: int) -> str:
    """As an API server writes it."""
    return (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(time: str) -> int:
    """What `at` was given."""
    return int((datetime.fromisoformat(time) - EPOCH).total_seconds())


def us(seconds: int) -> int:
    """As the engine counts: microseconds since 1970."""
    return (int(EPOCH.timestamp()) + seconds) * 1_000_000


def cpu(nominal: Amount, borrowing: Amount | None = None, lending: Amount | None = None) -> Quotas:
    """Quota of CPUs in the flavor `default`."""
    return {"default": {"cpu": (nominal, borrowing, lending)}}


def flavor(name: str) -> ResourceFlavor:
    return ResourceFlavor(metadata=ObjectMeta(name=name))


def cohort(name: str, parent: str = "", quotas: Quotas | None = None, *, weight: Amount = 1) -> Cohort:
    spec = CohortSpec(parent_name=parent, resource_groups=_groups(quotas), fair_sharing=FairSharing(weight))
    return Cohort(metadata=ObjectMeta(name=name), spec=spec)


def cluster_queue(
    name: str,
    quotas: Quotas,
    cohort: str = "",
    *,
    within: Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"] = "Never",
    reclaim: Literal["Never", "LowerPriority", "Any"] = "Never",
    borrow: bool = False,
    threshold: int | None = None,
    min_admit: str | None = None,
    strict: bool = False,
    stop: Literal["None", "Hold", "HoldAndDrain"] = "None",
    weight: Amount = 1,
) -> ClusterQueue:
    """All flavors in one group. `borrow`: borrowWithinCohort.policy is LowerPriority."""
    preemption = ClusterQueuePreemption(
        reclaim_within_cohort=reclaim,
        borrow_within_cohort=BorrowWithinCohort("LowerPriority" if borrow else "Never", threshold),
        within_cluster_queue=within,
        within_cluster_queue_config=WithinClusterQueueConfig(min_admit) if min_admit else None,
    )
    spec = ClusterQueueSpec(
        resource_groups=_groups(quotas),
        cohort_name=cohort,
        queueing_strategy="StrictFIFO" if strict else "BestEffortFIFO",
        namespace_selector=LabelSelector(),
        preemption=preemption,
        stop_policy=stop,
        fair_sharing=FairSharing(weight),
    )
    return ClusterQueue(metadata=ObjectMeta(name=name), spec=spec)


def _groups(quotas: Quotas | None) -> list[ResourceGroup] | None:
    if not quotas:
        return None
    flavors = [
        FlavorQuotas(flavor, [ResourceQuota(resource, *quota) for resource, quota in resources.items()])
        for flavor, resources in quotas.items()
    ]
    return [ResourceGroup([quota.name for quota in flavors[0].resources], flavors)]


def local_queue(name: str, cluster_queue: str, namespace: str = NAMESPACE) -> LocalQueue:
    return LocalQueue(
        metadata=ObjectMeta(name=name, namespace=namespace), spec=LocalQueueSpec(cluster_queue=cluster_queue)
    )


def workload(
    name: str,
    queue: str,
    cpus: Amount,
    *,
    priority: int = 0,
    created: int = 0,
    count: int = 1,
    least: int | None = None,
    memory: Amount | None = None,
    gates: Iterable[str] = (),
    uid: str = "",
) -> Workload:
    """A pending one, of `count` pods that ask for `cpus` each. `least` is its minCount, `uid` by default the name."""
    requests: Quantities = {"cpu": cpus}
    if memory is not None:
        requests["memory"] = memory
    pod = PodSpec(containers=[Container("main", ResourceRequirements(requests=requests))])
    spec = WorkloadSpec(
        pod_sets=[PodSet(PodTemplate(spec=pod), count=count, min_count=least)],
        queue_name=queue,
        priority=priority,
        preemption_gates=[PreemptionGate(name) for name in gates] or None,
    )
    meta = ObjectMeta(name=name, namespace=NAMESPACE, uid=uid or name, creation_timestamp=at(created))
    return Workload(metadata=meta, spec=spec)


def owned(item: Workload, kind: str = "Job", api_version: str = "batch/v1") -> Workload:
    """The same with a Job of the same name, or another owner."""
    name = item.metadata.name
    owners = [OwnerReference(api_version, kind, name, f"uid-{name}", controller=True)]
    return msgspec.structs.replace(
        item, metadata=msgspec.structs.replace(item.metadata, owner_references=owners)
    )


def held(
    workload: Workload, seconds: int, *, queue: str = "", flavors: Mapping[str, str] | None = None
) -> Workload:
    """The same with quota, since then, in the ClusterQueue `queue` (by default that of the LocalQueue's name)."""
    (asked,) = pod_set_requests(workload)
    usage: Quantities = {
        resource: f"{amount}m" if resource == "cpu" else amount for resource, amount in asked.requests.items()
    }
    assignment = PodSetAssignment(
        name=asked.name,
        flavors={resource: (flavors or {}).get(resource, "default") for resource in usage},
        resource_usage=usage,
        count=asked.count,
    )
    result = msgspec.structs.replace(
        workload,
        status=msgspec.structs.replace(
            workload.status, admission=Admission(queue or workload.spec.queue_name, [assignment])
        ),
    )
    return set_condition(result, "QuotaReserved", "True", "QuotaReserved", seconds)


def evicted(workload: Workload, seconds: int, reason: str = "Preempted") -> Workload:
    """On its way out since then."""
    return set_condition(workload, "Evicted", "True", reason, seconds)


def preempted(workload: Workload, seconds: int, reason: str) -> Workload:
    """The same after it was preempted for this reason and has given its quota back."""
    gone = set_condition(evicted(workload, seconds), "Preempted", "True", reason, seconds)
    gone = set_condition(gone, "QuotaReserved", "False", "PendingEvaluation", seconds)
    return msgspec.structs.replace(gone, status=msgspec.structs.replace(gone.status, admission=None))


def set_condition(
    workload: Workload, type_: str, status: str, reason: str, seconds: int, message: str = ""
) -> Workload:
    """The same with this condition; the transition is then, unless the status is what it was."""
    others = []
    transition = at(seconds)
    for old in workload.status.conditions or []:
        if old.type != type_:
            others.append(old)
        elif old.status == status:
            transition = old.last_transition_time or transition
    new = Condition(type_, status, reason, message, last_transition_time=transition)
    status_ = msgspec.structs.replace(workload.status, conditions=[*others, new])
    return msgspec.structs.replace(workload, status=status_)


def condition(workload: Workload, type_: str) -> Condition | None:
    return next((found for found in workload.status.conditions or [] if found.type == type_), None)


def snapshot(*objects: Object) -> QuotaSnapshot:
    """Of these, the flavors that they name, and a LocalQueue of the same name for each ClusterQueue."""
    state = QuotaState()
    for thing in completed(objects):
        state.apply(thing)
    return state.snapshot()


def completed(objects: Iterable[Object]) -> list[Object]:
    """With the flavors that quotas are for, and a LocalQueue of the same name for each ClusterQueue."""
    given = list(objects)
    names = {(type(thing), thing.metadata.name) for thing in given}
    added: list[Object] = []
    for thing in given:
        if isinstance(thing, ClusterQueue) and (LocalQueue, thing.metadata.name) not in names:
            added.append(local_queue(thing.metadata.name, thing.metadata.name))
        if not isinstance(thing, ClusterQueue | Cohort):
            continue
        for group in thing.spec.resource_groups or []:
            added += [
                flavor(quotas.name) for quotas in group.flavors if (ResourceFlavor, quotas.name) not in names
            ]
    unique = {(thing.kind, thing.metadata.name): thing for thing in added}
    return [*unique.values(), *given]

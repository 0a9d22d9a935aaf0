"""Why a ClusterQueue or a LocalQueue admits nothing, and which AdmissionChecks a Workload needs.

Reasons and messages are Kueue's (pkg/cache/scheduler/clusterqueue.go, pkg/controller/core/localqueue_controller.go). As
in Kueue, the condition has the first of several reasons, and its message has all of them.

See docs/decisions/0012.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from api.checks import AdmissionCheck
from api.kueue import ClusterQueue, ClusterQueueSpec, LocalQueue, ResourceFlavor
from api.multikueue import CONTROLLER_NAME
from api.workloads import Admission

__all__ = [
    "ACTIVE",
    "Activity",
    "cluster_queue_activity",
    "flavors_of",
    "is_check_active",
    "controller_of",
    "local_queue_activity",
    "manager_checks",
    "named_checks",
    "required_checks",
]

ACTIVE: Final = "Active"
"""The condition of ClusterQueue, LocalQueue and AdmissionCheck."""
READY: Final = "Ready"

TERMINATING: Final = "Terminating"
STOPPED: Final = "Stopped"
FLAVOR_NOT_FOUND: Final = "FlavorNotFound"
CHECK_NOT_FOUND: Final = "AdmissionCheckNotFound"
CHECK_INACTIVE: Final = "AdmissionCheckInactive"
SEVERAL_MANAGERS: Final = "MultipleMultiKueueAdmissionChecks"
MANAGER_ON_FLAVORS: Final = "MultiKueueAdmissionCheckAppliedPerFlavor"
MANAGER_AND_PROVISIONING: Final = "MultiKueueWithProvisioningRequest"
TOPOLOGY_NOT_FOUND: Final = "TopologyNotFound"
CYCLE: Final = "CohortCycleDetected"
QUEUE_INACTIVE: Final = "ClusterQueueIsInactive"
QUEUE_MISSING: Final = "ClusterQueueDoesNotExist"

CHECKS: Final = "spec.admissionChecksStrategy.admissionChecks"
PROVISIONING: Final = "kueue.x-k8s.io/provisioning-request"
"""`spec.controllerName` of a check that adds nodes to this cluster."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Whether a queue is active, and why not."""

    reason: str
    """The reason of the condition Active."""
    message: str
    """The message of the condition Active."""
    problem: str
    """The field that has to change, and what is wrong with it; "" if the queue is active."""

    @property
    def is_active(self) -> bool:
        """The status of the condition Active."""
        return not self.problem


class Fault(NamedTuple):
    """One of the reasons why a ClusterQueue is not active."""

    reason: str
    message: str
    """The part of Kueue's message that is about this reason."""
    problem: str


def cluster_queue_activity(
    queue: ClusterQueue,
    flavors: Mapping[str, ResourceFlavor],
    checks: Mapping[str, AdmissionCheck] | None,
    broken: str,
    *,
    topologies: bool = False,
) -> Activity:
    """Whether a ClusterQueue may admit Workloads.

    `flavors` and `checks` are by name. Without `checks`, all checks are taken as active. `broken` says why its cohorts
    have no root, or is "". `topologies`: Topologies are taken as present; otherwise there are none. They do not
    matter where a manager sends Workloads to other clusters, which have topologies of their own.
    """
    if queue.metadata.deletion_timestamp is not None:
        message = "Can't admit new workloads; clusterQueue is terminating"
        return Activity(TERMINATING, message, "metadata.deletionTimestamp: is set: it is being deleted")
    faults = [*_stopped(queue.spec), *_flavor_faults(queue.spec, flavors)]
    if checks is not None:
        faults += [*_check_faults(queue.spec, checks), *_manager_faults(queue.spec, checks)]
    if not topologies and not manager_checks(queue.spec, checks):
        faults += _topology_faults(queue.spec, flavors)
    if broken:
        faults.append(Fault(CYCLE, broken, f"spec.cohortName: {broken}"))
    if not faults:
        return Activity(READY, "Can admit new workloads", "")
    message = f"Can't admit new workloads: {', '.join(fault.message for fault in faults)}."
    # A cycle of cohorts is named first where one problem is named: nothing else can be decided before it is solved.
    first = faults[-1] if broken else faults[0]
    return Activity(faults[0].reason, message, first.problem)


def local_queue_activity(local: LocalQueue, queue: Activity | None) -> Activity:
    """Whether Workloads of a LocalQueue may be admitted. `queue` is its ClusterQueue; None if there is none."""
    if local.spec.stop_policy != "None":
        return Activity(STOPPED, "LocalQueue is stopped", f"spec.stopPolicy: is {local.spec.stop_policy}")
    refused, name = "Can't submit new workloads to clusterQueue", local.spec.cluster_queue
    if queue is None:
        return Activity(QUEUE_MISSING, refused, f"spec.clusterQueue: there is no ClusterQueue {name!r}")
    if not queue.is_active:
        return Activity(QUEUE_INACTIVE, refused, f"spec.clusterQueue: {name} is not active")
    return Activity(READY, "Can submit new workloads to localQueue", "")


def is_check_active(check: AdmissionCheck) -> bool:
    """Whether the controller of the check says that it can make the check."""
    conditions = (check.status.conditions if check.status is not None else None) or ()
    return any(each.type == ACTIVE and each.status == "True" for each in conditions)


def required_checks(spec: ClusterQueueSpec, admission: Admission | None) -> list[str]:
    """Names of the AdmissionChecks that a Workload of the ClusterQueue needs, sorted.

    With an admission these are the checks of its flavors. Without one, only the checks that every flavor needs are
    certain (Kueue: AdmissionChecksForWorkload). A check without `onFlavors` is always needed, also by a Workload that
    got no flavor because it asks for nothing.
    """
    strategy = spec.admission_checks_strategy
    if strategy is None:
        return []
    if admission is None:
        every = set(flavors_of(spec))
        return sorted(
            rule.name
            for rule in strategy.admission_checks
            if not rule.on_flavors or every <= {*rule.on_flavors}
        )
    assigned = {
        flavor for pods in admission.pod_set_assignments or () for flavor in (pods.flavors or {}).values()
    }
    return sorted(
        rule.name
        for rule in strategy.admission_checks
        if not rule.on_flavors or not assigned.isdisjoint(rule.on_flavors)
    )


def named_checks(spec: ClusterQueueSpec) -> list[str]:
    """The AdmissionChecks that the ClusterQueue names, in its order."""
    strategy = spec.admission_checks_strategy
    return [] if strategy is None else [rule.name for rule in strategy.admission_checks]


def controller_of(check: AdmissionCheck | None) -> str:
    """Who makes the check; empty if nobody does."""
    return check.spec.controller_name if check is not None and check.spec is not None else ""


def manager_checks(spec: ClusterQueueSpec, checks: Mapping[str, AdmissionCheck] | None) -> list[str]:
    """Those of its checks by which a manager sends its Workloads to other clusters (MultiKueue), sorted."""
    return _checks_by(spec, checks or {}, CONTROLLER_NAME)


def flavors_of(spec: ClusterQueueSpec) -> Iterator[str]:
    """The ResourceFlavors that the ClusterQueue names, in its order."""
    for group in spec.resource_groups or ():
        for flavor in group.flavors:
            yield flavor.name


def _stopped(spec: ClusterQueueSpec) -> list[Fault]:
    policy = spec.stop_policy
    return [] if policy == "None" else [Fault(STOPPED, "is stopped", f"spec.stopPolicy: is {policy}")]


def _flavor_faults(spec: ClusterQueueSpec, flavors: Collection[str]) -> list[Fault]:
    missing = [
        (f"spec.resourceGroups[{i}].flavors[{j}].name", flavor.name)
        for i, group in enumerate(spec.resource_groups or ())
        for j, flavor in enumerate(group.flavors)
        if flavor.name not in flavors
    ]
    if not missing:
        return []
    names = ",".join(name for _, name in missing)
    field, first = missing[0]
    problem = f"{field}: there is no ResourceFlavor {first}"
    return [Fault(FLAVOR_NOT_FOUND, f"references missing ResourceFlavor(s): {names}", problem)]


def _check_faults(spec: ClusterQueueSpec, checks: Mapping[str, AdmissionCheck]) -> list[Fault]:
    names = named_checks(spec)
    missing = [name for name in names if name not in checks]
    inactive = [name for name in names if name in checks and not is_check_active(checks[name])]
    return [
        Fault(
            reason,
            f"references {word} AdmissionCheck(s): {','.join(sorted(found))}",
            f"{CHECKS}[{names.index(found[0])}].name: {problem.format(found[0])}",
        )
        for reason, word, found, problem in (
            (CHECK_NOT_FOUND, "missing", missing, "there is no AdmissionCheck {}"),
            (CHECK_INACTIVE, "inactive", inactive, "AdmissionCheck {} is not active"),
        )
        if found
    ]


def _checks_by(spec: ClusterQueueSpec, checks: Mapping[str, AdmissionCheck], controller: str) -> list[str]:
    return sorted(name for name in named_checks(spec) if controller_of(checks.get(name)) == controller)


def _manager_faults(spec: ClusterQueueSpec, checks: Mapping[str, AdmissionCheck]) -> Iterator[Fault]:
    """What does not go together with other clusters."""
    names, managers = named_checks(spec), manager_checks(spec, checks)
    strategy, found = spec.admission_checks_strategy, ",".join(managers)
    if len(managers) > 1:
        yield Fault(
            SEVERAL_MANAGERS,
            f"Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found: {found}",
            f"{CHECKS}[{names.index(managers[1])}].name: only one check may be that of a manager of several clusters",
        )
    rules = strategy.admission_checks if strategy is not None else []
    on_flavors = sorted(rule.name for rule in rules if rule.on_flavors and rule.name in managers)
    if on_flavors:
        yield Fault(
            MANAGER_ON_FLAVORS,
            f"Cannot specify MultiKueue AdmissionCheck per flavor, found: {','.join(on_flavors)}",
            f"{CHECKS}[{names.index(on_flavors[0])}].onFlavors: must not be set for a manager of several clusters",
        )
    provisioning = _checks_by(spec, checks, PROVISIONING)
    if managers and provisioning:
        yield Fault(
            MANAGER_AND_PROVISIONING,
            "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: "
            f"{found}, {','.join(provisioning)}",
            f"{CHECKS}[{names.index(provisioning[0])}].name: adds nodes here, and the pods run in other clusters",
        )


def _topology_faults(spec: ClusterQueueSpec, flavors: Mapping[str, ResourceFlavor]) -> list[Fault]:
    return [
        Fault(
            TOPOLOGY_NOT_FOUND,
            f'there is no Topology "{flavor.spec.topology_name}" for TAS flavor "{name}"',
            f"spec.resourceGroups: ResourceFlavor {name} has a topologyName, and there are no Topologies",
        )
        for name in flavors_of(spec)
        if (flavor := flavors.get(name)) is not None and flavor.spec.topology_name is not None
    ]

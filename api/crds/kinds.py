"""The kinds, and the parts of their CRDs outside of the schema: names, scope, columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from msgspec import Struct

from api import groups, kueue
from api.checks import AdmissionCheck, MultiKueueCluster, MultiKueueConfig
from api.dispatch import DispatchPlan
from api.groups import PodGroup
from api.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor, WorkloadPriorityClass
from api.plans import ClusterPreemptionPlan, PreemptionPlan
from api.reports import PreemptionReport
from api.workloads import ADMITTED, BLOCKED_ON_PREEMPTION_GATES, FINISHED, Workload

__all__ = ["KINDS", "Column", "Kind", "definition"]

Json = dict[str, Any]


class Column(NamedTuple):
    """A column of `kubectl get`. A wide column is shown only with `-o wide`."""

    name: str
    type: str
    path: str
    wide: bool = False


AGE: Final = Column("Age", "date", ".metadata.creationTimestamp")
QUEUE: Final = Column("ClusterQueue", "string", ".spec.preemptor.quota.clusterQueue", wide=True)
"""Of a plan's preemptor. Empty if that is no Workload, as the pods are if the victims are Workloads."""


def _status(condition: str) -> str:
    return f'.status.conditions[?(@.type=="{condition}")].status'


@dataclass(frozen=True)
class Kind:
    """A kind with its names, scope and columns. `api_version` is group and version, with a slash between them."""

    struct: type[Struct]
    api_version: str
    namespaced: bool
    short_names: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def name(self) -> str:
        """The name of the kind, as in the field `kind`."""
        return self.struct.__name__

    @property
    def group(self) -> str:
        """The API group, such as kueue.x-k8s.io."""
        return self.api_version.partition("/")[0]

    @property
    def version(self) -> str:
        """The version in the group, such as v1beta2."""
        return self.api_version.partition("/")[2]

    @property
    def plural(self) -> str:
        """The plural, as in URLs."""
        name = self.name.lower()
        return f"{name}es" if name.endswith("s") else f"{name}s"

    @property
    def file_name(self) -> str:
        """The name of the definition's file."""
        return f"{self.group}_{self.plural}.yaml"

    @property
    def has_status(self) -> bool:
        """Whether the kind has a status, with an endpoint of its own."""
        return "status" in self.struct.__struct_fields__


def _ours(struct: type[Struct], short_name: str, *columns: Column, namespaced: bool = True) -> Kind:
    return Kind(struct, groups.API_VERSION, namespaced, (short_name,), (*columns, AGE))


def _kueues(
    struct: type[Struct], short_names: Sequence[str], *columns: Column, namespaced: bool = False
) -> Kind:
    return Kind(struct, kueue.API_VERSION, namespaced, tuple(short_names), (*columns, AGE))


KINDS: Final[Sequence[Kind]] = (
    _ours(
        PodGroup,
        "rpg",
        Column("Min", "integer", ".spec.schedulingPolicy.gang.minCount"),
        Column("Members", "integer", ".status.members"),
        Column("Bound", "integer", ".status.boundMembers"),
        Column("Class", "string", ".spec.priorityClassName"),
        Column("Scheduled", "string", _status(groups.SCHEDULED)),
        Column("Reason", "string", f'.status.conditions[?(@.type=="{groups.SCHEDULED}")].reason'),
    ),
    _ours(
        PreemptionPlan,
        "rplan",
        Column("Kind", "string", ".spec.preemptor.kind"),
        Column("Preemptor", "string", ".spec.preemptor.name"),
        Column("Outcome", "string", ".spec.outcome"),
        Column("Phase", "string", ".status.phase"),
        Column("Victims", "integer", ".spec.victimUnits"),
        Column("Pods", "integer", ".spec.victimPods"),
        QUEUE,
    ),
    _ours(
        ClusterPreemptionPlan,
        "rcplan",
        Column("Namespace", "string", ".spec.preemptor.namespace"),
        Column("Kind", "string", ".spec.preemptor.kind"),
        Column("Preemptor", "string", ".spec.preemptor.name"),
        Column("Outcome", "string", ".spec.outcome"),
        Column("Victims", "integer", ".spec.victimUnits"),
        Column("Pods", "integer", ".spec.victimPods"),
        QUEUE,
        namespaced=False,
    ),
    _ours(
        PreemptionReport,
        "rreport",
        Column("Observed", "integer", ".observedSeconds"),
        Column("Decisions", "integer", ".total.observed.decisions"),
        Column("Ours", "integer", ".total.observed.pods"),
        Column("Scheduler", "integer", ".total.scheduler.pods"),
        Column("ServedNobody", "integer", ".total.scheduler.servedNobody"),
        Column("Broken", "integer", ".total.scheduler.groupsBroken"),
        Column("Enforced", "integer", ".total.enforced.pods"),
        Column("AsOf", "string", ".asOf", wide=True),
        namespaced=False,
    ),
    _ours(
        DispatchPlan,
        "rdplan",
        Column("Workload", "string", ".spec.workload.name"),
        Column("Turn", "integer", ".spec.number"),
        Column("Cluster", "string", ".spec.cluster"),
        Column("Phase", "string", ".status.phase"),
        Column("Until", "string", ".spec.until", wide=True),
        Column("Order", "string", ".spec.order", wide=True),
    ),
    _kueues(
        ClusterQueue,
        ["cq"],
        Column("Cohort", "string", ".spec.cohortName"),
        Column("Strategy", "string", ".spec.queueingStrategy", wide=True),
        Column("Within", "string", ".spec.preemption.withinClusterQueue", wide=True),
        Column("Reclaim", "string", ".spec.preemption.reclaimWithinCohort", wide=True),
        Column("Borrow", "string", ".spec.preemption.borrowWithinCohort.policy", wide=True),
        Column("Pending Workloads", "integer", ".status.pendingWorkloads"),
        Column("Admitted Workloads", "integer", ".status.admittedWorkloads", wide=True),
    ),
    _kueues(Cohort, [], Column("Parent", "string", ".spec.parentName")),
    _kueues(
        LocalQueue,
        ["lq", "queue", "queues"],
        Column("ClusterQueue", "string", ".spec.clusterQueue"),
        Column("Pending Workloads", "integer", ".status.pendingWorkloads"),
        Column("Admitted Workloads", "integer", ".status.admittedWorkloads"),
        namespaced=True,
    ),
    _kueues(
        ResourceFlavor,
        ["rf", "flavor", "flavors"],
        Column("Topology", "string", ".spec.topologyName", wide=True),
    ),
    _kueues(
        Workload,
        ["wl"],
        Column("Queue", "string", ".spec.queueName"),
        Column("Priority", "integer", ".spec.priority"),
        Column("Reserved in", "string", ".status.admission.clusterQueue"),
        Column("Admitted", "string", _status(ADMITTED)),
        Column("Finished", "string", _status(FINISHED)),
        Column("Gated", "string", _status(BLOCKED_ON_PREEMPTION_GATES), wide=True),
        namespaced=True,
    ),
    _kueues(WorkloadPriorityClass, [], Column("Value", "integer", ".value")),
    _kueues(
        AdmissionCheck,
        [],
        Column("Controller", "string", ".spec.controllerName"),
        Column("Active", "string", _status("Active")),
    ),
    _kueues(MultiKueueConfig, []),
    _kueues(MultiKueueCluster, [], Column("Connected", "string", _status("Active"))),
)


def definition(kind: Kind, schema: Mapping[str, object]) -> Json:
    """The CustomResourceDefinition of a kind with this openAPIV3Schema."""
    names: Json = {
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": kind.name.lower(),
    }
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    names["categories"] = ["reprieve"] if kind.group == "reprieve.dev" else ["reprieve", "kueue"]
    version: Json = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    if kind.has_status:
        version["subresources"] = {"status": {}}
    version["additionalPrinterColumns"] = [
        {"name": column.name, "type": column.type, "jsonPath": column.path}
        | ({"priority": 1} if column.wide else {})
        for column in kind.columns
    ]
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": names,
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version],
        },
    }

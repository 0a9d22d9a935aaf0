"""How API servers merge lists and objects: by keys (a map), by value (a set), or only as a whole (atomic)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from api.groups import PodGroupStatus
from api.kueue import (
    AdmissionChecksStrategy,
    AdmissionCheckStrategyRule,
    FlavorQuotas,
    ResourceFlavorSpec,
    ResourceGroup,
)
from api.meta import LabelSelector
from api.plans import PreemptionPlanStatus
from api.usage import (
    ClusterQueueStatus,
    FlavorUsage,
    LocalQueueFlavorUsage,
    LocalQueueStatus,
)
from api.workloads import Admission, SchedulingStats, WorkloadSpec, WorkloadStatus

__all__ = ["ATOMIC", "KEYS", "WIDE_CONDITIONS"]

NAME: Final = ("name",)

KEYS: Final[Mapping[type[Struct], Mapping[str, tuple[str, ...] | Literal["set"]]]] = {
    AdmissionChecksStrategy: {"admissionChecks": NAME},
    AdmissionCheckStrategyRule: {"onFlavors": "set"},
    ResourceGroup: {"flavors": NAME},
    FlavorQuotas: {"resources": NAME},
    ClusterQueueStatus: {"flavorsReservation": NAME, "flavorsUsage": NAME},
    FlavorUsage: {"resources": NAME},
    LocalQueueStatus: {"flavorsReservation": NAME, "flavorsUsage": NAME},
    LocalQueueFlavorUsage: {"resources": NAME},
    WorkloadSpec: {"podSets": NAME, "preemptionGates": NAME},
    Admission: {"podSetAssignments": NAME},
    SchedulingStats: {"evictions": ("reason", "underlyingCause")},
    WorkloadStatus: {
        "reclaimablePods": NAME,
        "admissionChecks": NAME,
        "resourceRequests": NAME,
        "unhealthyNodes": NAME,
        "preemptionGates": NAME,
    },
}
"""The keys of map lists, or `set`, by struct and field. Every list of conditions is a map by type and is not here."""

ATOMIC: Final[Mapping[type[Struct], frozenset[str]]] = {
    ResourceFlavorSpec: frozenset({"nodeLabels"}),
    LabelSelector: frozenset({""}),
}
"""Objects that change only as a whole: fields by struct. An empty name stands for the struct itself."""

WIDE_CONDITIONS: Final = frozenset({PodGroupStatus, PreemptionPlanStatus})
"""Structs whose conditions may lack a reason or a message. Kueue's kinds have strict meta/v1 Conditions."""

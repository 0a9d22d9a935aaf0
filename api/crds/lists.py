"""Which entries of a list are the same one: by keys (a map), by value (a set), or none, so that it changes whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from msgspec import Struct

from api.checks import MultiKueueConfigSpec
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
    MultiKueueConfigSpec: {"clusters": "set"},
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
"""By struct and field, the keys of map lists, or `set`. Lists of conditions are maps by type without being named."""

ATOMIC: Final[Mapping[type[Struct], frozenset[str]]] = {
    ResourceFlavorSpec: frozenset({"nodeLabels"}),
    LabelSelector: frozenset({""}),
}
"""Objects that change whole: fields by struct; `` is the struct itself."""

WIDE_CONDITIONS: Final = frozenset({PodGroupStatus, PreemptionPlanStatus})
"""Whose conditions may lack a reason or a message. Those of Kueue's kinds are meta/v1 Conditions to the letter."""

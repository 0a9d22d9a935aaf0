"""The rules of Workload in CEL. See `api.crds.rules`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from api.crds.rule import ValidationRule, exactly_one
from api.podsets import (
    PodSet,
    PodSetUpdate,
    TopologyAssignment,
    TopologyAssignmentSlice,
    TopologyAssignmentSliceLevelValues,
    TopologyAssignmentSlicePodCounts,
)
from api.workloads import (
    AdmissionCheckState,
    PreemptionGate,
    PreemptionGateState,
    PriorityClassRef,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)

__all__ = ["FIELD_RULES", "RULES", "TOLERATIONS"]

TOLERATIONS: Final = (
    ValidationRule(
        "self.all(t, has(t.key) || has(t.operator) && t.operator == 'Exists')",
        "without a key the operator has to be Exists, which tolerates every taint",
    ),
    ValidationRule(
        "self.all(t, !has(t.tolerationSeconds) || has(t.effect) && t.effect == 'NoExecute')",
        "tolerationSeconds needs the effect NoExecute",
    ),
    ValidationRule(
        "self.all(t, !has(t.operator) || t.operator in ['Equal', 'Exists'])",
        "the operator of a toleration is Equal or Exists",
    ),
    ValidationRule(
        "self.all(t, !has(t.operator) || t.operator != 'Exists' || !has(t.value))",
        "with the operator Exists there is no value",
    ),
    ValidationRule(
        "self.all(t, !has(t.effect) || t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",
        "the effect of a taint is NoSchedule, PreferNoSchedule or NoExecute",
    ),
)


def _is(which: str, condition: str) -> str:
    return (
        f"has({which}.status) && has({which}.status.conditions)"
        f" && {which}.status.conditions.exists(c, c.type == '{condition}' && c.status == 'True')"
    )


def _while_reserved(holds: str, message: str, field_path: str = "") -> ValidationRule:
    """A rule for updates of a Workload that had reserved quota before the update."""
    return ValidationRule(f"!({_is('oldSelf', 'QuotaReserved')}) || {holds}", message, field_path)


NO_REF: Final = "!has(oldSelf.spec.priorityClassRef) || !has(self.spec.priorityClassRef)"


def _same_ref(part: str) -> str:
    return f"({NO_REF} || oldSelf.spec.priorityClassRef.{part} == self.spec.priorityClassRef.{part})"


GATE_NAME: Final = ValidationRule(
    "self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$')",
    "must be a qualified name, such as example.com/gate or gate",
)
"""KEP-8303. A gate's name has at most 63 characters, so its parts need no limits of their own."""

RULES: Final[Mapping[type[Struct], Sequence[ValidationRule]]] = {
    Workload: [
        ValidationRule(
            f"!({_is('self', 'QuotaReserved')}) || !has(self.status.admission)"
            " || has(self.spec.podSets) && has(self.status.admission.podSetAssignments)"
            " && size(self.spec.podSets) == size(self.status.admission.podSetAssignments)",
            "podSetAssignments must have the same number of podSets as the spec",
        ),
        _while_reserved(
            "has(oldSelf.spec.priorityClassRef) == has(self.spec.priorityClassRef)",
            "priorityClassRef is immutable while quota is reserved",
        ),
        _while_reserved(_same_ref("group"), "priorityClassRef.group is immutable while quota is reserved"),
        _while_reserved(_same_ref("kind"), "priorityClassRef.kind is immutable while quota is reserved"),
        _while_reserved(
            f"({NO_REF} || self.spec.priorityClassRef.kind != 'PriorityClass'"
            " || self.spec.priorityClassRef.group != 'scheduling.k8s.io'"
            " || oldSelf.spec.priorityClassRef.name == self.spec.priorityClassRef.name)",
            "the name of a PriorityClass is immutable while quota is reserved",
        ),
        _while_reserved(
            f"!({_is('self', 'QuotaReserved')}) || has(oldSelf.spec.queueName) == has(self.spec.queueName)"
            " && (!has(self.spec.queueName) || oldSelf.spec.queueName == self.spec.queueName)",
            "queueName is immutable while quota is reserved",
        ),
        ValidationRule(
            f"!({_is('oldSelf', 'Admitted')}) || !({_is('self', 'Admitted')})"
            " || (has(oldSelf.spec.maximumExecutionTimeSeconds) ? oldSelf.spec.maximumExecutionTimeSeconds : 0)"
            " == (has(self.spec.maximumExecutionTimeSeconds) ? self.spec.maximumExecutionTimeSeconds : 0)",
            "maximumExecutionTimeSeconds is immutable while the Workload is admitted",
        ),
    ],
    WorkloadSpec: [
        ValidationRule(
            "!has(self.priorityClassRef) || has(self.priority)",
            "priority must be set when priorityClassRef is set",
        ),
    ],
    PriorityClassRef: [
        ValidationRule(
            "self.group != 'scheduling.k8s.io' || self.kind == 'PriorityClass'",
            "the kind in scheduling.k8s.io is PriorityClass",
        ),
        ValidationRule(
            "self.group != 'kueue.x-k8s.io' || self.kind == 'WorkloadPriorityClass'",
            "the kind in kueue.x-k8s.io is WorkloadPriorityClass",
        ),
    ],
    PodSet: [
        ValidationRule(
            "!has(self.minCount) || self.minCount <= self.count", "minCount must not be above count"
        )
    ],
    WorkloadStatus: [
        ValidationRule(
            "!has(oldSelf.clusterName) || !has(self.clusterName) || oldSelf.clusterName == self.clusterName",
            "clusterName is immutable once set",
        ),
        ValidationRule(
            "!has(self.clusterName) || !has(self.nominatedClusterNames) || size(self.nominatedClusterNames) == 0",
            "clusterName and nominatedClusterNames are mutually exclusive",
        ),
    ],
    TopologyAssignment: [
        ValidationRule(
            "self.slices.all(s, size(s.valuesPerLevel) == size(self.levels))",
            "valuesPerLevel must have an entry for each of levels",
        ),
    ],
    TopologyAssignmentSlice: [
        ValidationRule(
            "self.valuesPerLevel.all(v, !has(v.individual) || size(v.individual.roots) == self.domainCount)",
            "individual values need domainCount roots",
        ),
        ValidationRule(
            "!has(self.podCounts.individual) || size(self.podCounts.individual) == self.domainCount",
            "there must be domainCount individual podCounts",
        ),
    ],
    TopologyAssignmentSliceLevelValues: [exactly_one("universal", "individual")],
    TopologyAssignmentSlicePodCounts: [exactly_one("universal", "individual")],
    AdmissionCheckState: [
        # KEP-3258
        ValidationRule(
            "!has(oldSelf.retryCount) || !has(self.retryCount) || self.retryCount == 0"
            " || self.retryCount >= oldSelf.retryCount",
            "retryCount does not decrease, except to 0",
            ".retryCount",
        ),
    ],
    PreemptionGateState: [
        # KEP-8303
        ValidationRule(
            "self.lastTransitionTime >= oldSelf.lastTransitionTime",
            "the last change of the position cannot become an earlier one",
            ".lastTransitionTime",
        ),
    ],
}

FIELD_RULES: Final[Mapping[type[Struct], Mapping[str, Sequence[ValidationRule]]]] = {
    PodSetUpdate: {"tolerations": TOLERATIONS},
    PreemptionGate: {"name": [GATE_NAME]},
    PreemptionGateState: {"name": [GATE_NAME]},
}

"""Rules that types cannot express, in CEL (`x-kubernetes-validations`). They apply even while the webhook is down.

The rules of Kueue's kinds accept and refuse the same objects as Kueue's own rules. A rule that Kueue does not have
names its KEP. Our rules accept a fault that is stored already (`oldSelf`), where the API server does not see by itself
that nothing changed. The rules of Workload are in `api.crds.workload_rules`.

See docs/decisions/0017.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from api.checks import AdmissionCheckSpec, ClusterSource, MultiKueueConfigSpec
from api.crds import workload_rules
from api.crds.rule import ValidationRule, exactly_one, unchanged
from api.crds.workload_rules import TOLERATIONS
from api.dispatch import DispatchPlanSpec
from api.groups import DisruptionMode, PodGroupSchedulingPolicy, PodGroupSpec, TopologyConstraint
from api.kueue import (
    ClusterQueuePreemption,
    ClusterQueueSpec,
    FlavorFungibility,
    LocalQueueSpec,
    ResourceFlavorSpec,
    ResourceGroup,
    WithinClusterQueueConfig,
)
from api.plans import PreemptionPlanSpec

__all__ = ["FIELD_RULES", "RULES"]

IMMUTABLE: Final = ValidationRule("self == oldSelf", "field is immutable")

KEP_5710: Final = (
    ValidationRule(
        "oldSelf.hasValue() || !(has(self.disruptionMode) && has(self.disruptionMode.all))"
        " || has(self.schedulingPolicy.gang)",
        "only a gang can be disrupted as a whole: a group with the basic policy is evicted pod by pod",
        ".disruptionMode",
        optional_old_self=True,
    ),
    ValidationRule(
        "oldSelf.hasValue() || !has(self.priority) || self.priority == 0"
        " || has(self.priorityClassName) && self.priorityClassName != ''",
        "a priority comes from a PriorityClass: set priorityClassName, and priority follows",
        ".priority",
        optional_old_self=True,
    ),
    ValidationRule(
        "oldSelf.hasValue() || !has(self.priority) || self.priority <= 1000000000"
        " || has(self.priorityClassName) && self.priorityClassName.startsWith('system-')",
        "priorities above 1000000000 are for the classes of the system",
        ".priority",
        optional_old_self=True,
    ),
)
"""These rules apply only on create, because nobody can change these fields later."""

KEP_8522: Final = ValidationRule(
    "!has(self.withinClusterQueueConfig) || self.withinClusterQueue == 'LowerOrNewerEqualPriority'"
    " || oldSelf.hasValue() && has(oldSelf.value().withinClusterQueueConfig)"
    " && oldSelf.value().withinClusterQueueConfig == self.withinClusterQueueConfig"
    " && oldSelf.value().withinClusterQueue == self.withinClusterQueue",
    "takes effect only with withinClusterQueue LowerOrNewerEqualPriority",
    ".withinClusterQueueConfig",
    optional_old_self=True,
)
MIN_ADMIT_DURATION: Final = ValidationRule(
    "self.matches('^[+-]?(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+$')"
    " && duration(self) >= duration('1m')",
    "must be a duration of at least one minute, such as 30m or 1h30m",
)

UNIQUE: Final = ValidationRule(
    "self.all(each, self.exists_one(other, other == each))", "must not name a cluster twice"
)

TOPOLOGY_KEY: Final = ValidationRule(
    "self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    "([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$')",
    "must be the key of a label, such as topology.kubernetes.io/zone",
)
"""No node can have a label with an invalid key, so such a group could not run on any node."""

RULES: Final[Mapping[type[Struct], Sequence[ValidationRule]]] = {
    PodGroupSpec: [
        *map(
            unchanged,
            ("disruptionMode", "schedulingConstraints", "priorityClassName", "priority", "preemptionPolicy"),
        ),
        *KEP_5710,
    ],
    PodGroupSchedulingPolicy: [
        exactly_one("basic", "gang"),
        ValidationRule(
            "has(self.gang) == has(oldSelf.gang)", "the kind of policy is immutable; minCount is not"
        ),
    ],
    DisruptionMode: [
        ValidationRule("!(has(self.single) && has(self.all))", "at most one of single and all may be set")
    ],
    PreemptionPlanSpec: [ValidationRule("self == oldSelf", "a decision is immutable")],
    DispatchPlanSpec: [ValidationRule("self == oldSelf", "a turn is immutable")],
    ClusterQueueSpec: [
        ValidationRule(
            "has(self.cohortName) || !has(self.resourceGroups)"
            " || self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit))))",
            "borrowingLimit is for members of a cohort: set cohortName",
        ),
    ],
    ResourceGroup: [
        ValidationRule(
            "self.flavors.all(f, size(f.resources) == size(self.coveredResources))",
            "every flavor must have as many resources as coveredResources",
        ),
    ],
    FlavorFungibility: [
        ValidationRule(
            "!has(self.preference)"
            " || self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor'",
            "preference needs both whenCanBorrow and whenCanPreempt to be TryNextFlavor",
        ),
    ],
    ClusterQueuePreemption: [
        # KEP-1337
        ValidationRule(
            "self.reclaimWithinCohort != 'Never' || !has(self.borrowWithinCohort)"
            " || self.borrowWithinCohort.policy == 'Never'",
            "borrowWithinCohort.policy other than Never needs reclaimWithinCohort LowerPriority or Any",
        ),
        KEP_8522,
    ],
    ResourceFlavorSpec: [
        ValidationRule(
            "!has(self.topologyName) || has(self.nodeLabels) && size(self.nodeLabels) >= 1",
            "topologyName needs at least one of nodeLabels",
        ),
        ValidationRule(
            "!has(oldSelf.topologyName) || has(self.topologyName) && self.topologyName == oldSelf.topologyName",
            "topologyName cannot be changed once it is set",
        ),
    ],
    ClusterSource: [exactly_one("kubeConfig", "clusterProfileRef")],
    **workload_rules.RULES,
}
"""The rules on every value of a struct."""

FIELD_RULES: Final[Mapping[type[Struct], Mapping[str, Sequence[ValidationRule]]]] = {
    WithinClusterQueueConfig: {"minAdmitDuration": [MIN_ADMIT_DURATION]},
    ResourceFlavorSpec: {
        "nodeTaints": [
            ValidationRule(
                "self.all(t, t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",
                "the effect of a taint is NoSchedule, PreferNoSchedule or NoExecute",
            )
        ],
        "tolerations": TOLERATIONS,
    },
    TopologyConstraint: {"key": [TOPOLOGY_KEY]},
    LocalQueueSpec: {"clusterQueue": [IMMUTABLE]},
    AdmissionCheckSpec: {"controllerName": [IMMUTABLE]},
    MultiKueueConfigSpec: {"clusters": [UNIQUE]},
    **workload_rules.FIELD_RULES,
}
"""The rules on one field of a struct, by the field's name in JSON."""

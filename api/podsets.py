"""The pod sets of a Workload (`kueue.x-k8s.io/v1beta2`): their requests and their assignments."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from msgspec import Meta, field

from api.core import Int32, PodSpec, Quantities, TimedToleration
from api.meta import Count, Defaulting, Name, ObjectMeta, OrDefault, Struct

__all__ = [
    "DEFAULT_POD_SET",
    "PodSet",
    "PodSetAssignment",
    "PodSetName",
    "PodSetRequest",
    "PodSetTopologyRequest",
    "PodSetUpdate",
    "PodTemplate",
    "TopologyAssignment",
    "TopologyAssignmentSlice",
    "TopologyAssignmentSliceLevelIndividualValues",
    "TopologyAssignmentSliceLevelValues",
    "TopologyAssignmentSlicePodCounts",
    "TopologyConstraint",
]

DEFAULT_POD_SET: Final = "main"

PodSetName = Annotated[str, Meta(max_length=63, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")]
Positive = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Level = Annotated[str, Meta(max_length=63)]
LabelKey = Annotated[str, Meta(max_length=317)]
LevelValue = Annotated[str, Meta(max_length=63)]


class PodTemplate(Defaulting):
    """core/v1 PodTemplateSpec. The metadata may have only labels and annotations."""

    metadata: ObjectMeta | None = None
    """Labels and annotations of the pods."""
    spec: OrDefault[PodSpec] = field(default_factory=PodSpec)
    """The pods. Their node selector and required node affinity, as far as flavors have the labels, choose flavors."""


class TopologyConstraint(Struct):
    """Each group of `size` pods runs in one domain."""

    topology: Annotated[str, Meta(min_length=1, max_length=63)]
    """The level of the domain."""
    size: Positive
    """Pods in a group."""


class PodSetTopologyRequest(Struct):
    """Where the pods may run, relative to one another."""

    required: Level | None = None
    """One domain of this level must hold all pods."""
    preferred: Level | None = None
    """One domain of this level should hold all pods."""
    unconstrained: bool | None = None
    """The pods may run in any domains."""
    pod_index_label: LabelKey | None = None
    """The label that has a pod's index."""
    sub_group_index_label: LabelKey | None = None
    """The label that has the index of a pod's replicated Job."""
    sub_group_count: Int32 | None = None
    """Replicated Jobs in the pod set."""
    pod_set_group_name: Annotated[str, Meta(max_length=256)] | None = None
    """Pod sets with the same name here get the same flavors."""
    pod_set_slice_required_topology: Level | None = None
    """One domain of this level must hold each slice of the pod set."""
    pod_set_slice_size: Positive | None = None
    """Pods in a slice."""
    podset_slice_required_topology_constraints: (
        Annotated[list[TopologyConstraint], Meta(max_length=3)] | None
    ) = None
    """Slices within slices, from the highest level to the lowest. In place of podSetSliceRequiredTopology."""


class PodSet(Defaulting):
    """Pods that are equal."""

    template: PodTemplate
    """The pods."""
    name: OrDefault[PodSetName] = DEFAULT_POD_SET
    """The name of the pod set. Unique in the Workload."""
    count: OrDefault[Count] = 1
    """How many pods there are."""
    min_count: Positive | None = None
    """How many pods are enough if there is no quota for all. At most count. Only one pod set can have this field."""
    topology_request: PodSetTopologyRequest | None = None
    """Where the pods may run, relative to one another."""


class TopologyAssignmentSliceLevelIndividualValues(Struct):
    """A value for each domain: prefix, root and suffix in one."""

    roots: Annotated[list[LevelValue], Meta(min_length=1, max_length=100_000)]
    """The different parts of the values. There must be domainCount of them."""
    prefix: LevelValue | None = None
    """The common beginning of all values."""
    suffix: LevelValue | None = None
    """The common end of all values."""


class TopologyAssignmentSliceLevelValues(Struct):
    """The domains of a slice at one level; exactly one of `universal` and `individual`."""

    universal: LevelValue | None = None
    """One value for all domains."""
    individual: TopologyAssignmentSliceLevelIndividualValues | None = None
    """A value for each domain."""


class TopologyAssignmentSlicePodCounts(Struct):
    """Pods in the domains of a slice; exactly one of `universal` and `individual`."""

    universal: Positive | None = None
    """Pods in every domain."""
    individual: Annotated[list[Positive], Meta(min_length=1, max_length=100_000)] | None = None
    """The number of pods in each domain. There must be domainCount numbers."""


class TopologyAssignmentSlice(Struct):
    """Some of the domains that pods are assigned to."""

    domain_count: Positive
    """How many domains."""
    values_per_level: Annotated[list[TopologyAssignmentSliceLevelValues], Meta(min_length=1, max_length=16)]
    """The domains, level by level."""
    pod_counts: TopologyAssignmentSlicePodCounts
    """Pods in the domains."""


class TopologyAssignment(Struct):
    """The domains that the pods are assigned to."""

    levels: Annotated[list[LabelKey], Meta(min_length=1, max_length=16)]
    """Node labels whose values name the domains, from the highest level to the lowest."""
    slices: Annotated[list[TopologyAssignmentSlice], Meta(max_length=1000)]
    """The domains, in parts that can be written briefly."""


class PodSetAssignment(Defaulting):
    """The quota that is reserved for a pod set."""

    name: OrDefault[PodSetName] = DEFAULT_POD_SET
    """The pod set."""
    flavors: dict[str, Name] | None = None
    """The flavor of each resource."""
    resource_usage: Quantities | None = None
    """The usage of all pods together. It stays the same if some pods no longer need quota."""
    count: Count | None = None
    """How many pods are counted. The default is the count of the pod set. It stays the same if some pods no longer need
    quota."""
    topology_assignment: TopologyAssignment | None = None
    """The domains that the pods are assigned to."""
    delayed_topology_request: Literal["Pending", "Ready"] | None = None
    """Pending: the domains are not chosen yet. Ready: they are chosen."""


class PodSetRequest(Struct):
    """The requests of a pod set at the time when it was last considered."""

    name: PodSetName
    """The pod set."""
    resources: Quantities | None = None
    """The requests of all pods together."""


class PodSetUpdate(Struct):
    """What an admission check adds to a pod set."""

    name: PodSetName
    """The pod set."""
    labels: dict[str, str] | None = None
    """Labels to add."""
    annotations: dict[str, str] | None = None
    """Annotations to add."""
    node_selector: dict[str, str] | None = None
    """Node labels to require."""
    tolerations: Annotated[list[TimedToleration], Meta(max_length=8)] | None = None
    """Tolerations to add."""

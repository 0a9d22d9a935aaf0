"""The parts of nodes, pods (core/v1), disruption budgets (policy/v1) and priority classes that reprieve reads.

A list or map that is absent or null is None. Quantities are not parsed here: `api.requests` counts them.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from api.meta import Condition, LabelSelector, ObjectMeta, Struct, Time

__all__ = [
    "Affinity",
    "Container",
    "ContainerPort",
    "ContainerRestartRule",
    "ContainerStatus",
    "Namespace",
    "Node",
    "NodeSelector",
    "NodeSelectorRequirement",
    "NodeSelectorTerm",
    "NodeSpec",
    "NodeStatus",
    "Pod",
    "PodAffinityTerm",
    "PodDisruptionBudget",
    "PodSpec",
    "PodStatus",
    "PriorityClass",
    "Quantities",
    "ResourceRequirements",
    "Taint",
    "TimedTaint",
    "TimedToleration",
    "Toleration",
    "TopologySpreadConstraint",
    "Volume",
    "VolumeMount",
    "MIRROR_POD_ANNOTATION",
    "NAMESPACE_NAME_LABEL",
]

MIRROR_POD_ANNOTATION: Final = "kubernetes.io/config.mirror"
"""The kubelet sets this annotation on the API server's copy of a static pod."""
NAMESPACE_NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The API server sets this label on each namespace. Its value is the name."""

Quantities = dict[str, str | int | float | None]
"""Quantities by resource name. Manifests may write numbers. Null is zero, as in apimachinery."""

Int32 = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]


class Present(Struct):
    """An object whose fields do not matter. Only its presence does."""


class Taint(Struct):
    """core/v1 Taint; `effect` is NoSchedule, PreferNoSchedule or NoExecute."""

    key: str
    """The taint's key."""
    effect: str
    """What happens to pods that do not tolerate it: NoSchedule, PreferNoSchedule or NoExecute."""
    value: str = ""
    """The taint's value."""


class TimedTaint(Taint):
    """core/v1 Taint, with the field that scheduling ignores."""

    time_added: Time | None = None
    """When a NoExecute taint was added."""


class NodeSpec(Struct):
    """core/v1 NodeSpec."""

    unschedulable: bool = False
    taints: list[Taint] | None = None


class NodeStatus(Struct):
    """core/v1 NodeStatus."""

    capacity: Quantities | None = None
    """Read for manifests alone: what is allocatable if nothing says so."""
    allocatable: Quantities | None = None
    declared_features: list[str] | None = None


class Namespace(Struct):
    """core/v1 Namespace, as far as its labels go."""

    metadata: ObjectMeta


class Node(Struct):
    """core/v1 Node."""

    metadata: ObjectMeta
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class NodeSelectorRequirement(Struct):
    """core/v1 NodeSelectorRequirement; `operator` is In, NotIn, Exists, DoesNotExist, Gt or Lt."""

    key: str
    operator: str
    values: list[str] | None = None


class NodeSelectorTerm(Struct):
    """core/v1 NodeSelectorTerm. All requirements of both kinds must hold. An empty term matches no node."""

    match_expressions: list[NodeSelectorRequirement] | None = None
    match_fields: list[NodeSelectorRequirement] | None = None


class NodeSelector(Struct):
    """core/v1 NodeSelector: one of the terms must match."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class NodeAffinity(Struct):
    """core/v1 NodeAffinity, the required part."""

    required: NodeSelector | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Struct):
    """core/v1 PodAffinityTerm. A null `labelSelector` matches no pod. A null `namespaceSelector` matches no namespace.

    When a pod is created, the API server adds requirements for the label keys to the selector.
    """

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class PodAffinity(Struct):
    """core/v1 PodAffinity and PodAntiAffinity, the required part."""

    required: list[PodAffinityTerm] | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Struct):
    """core/v1 Affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Struct):
    """core/v1 Toleration. An empty key with Exists tolerates every taint. An empty effect means every effect."""

    key: str = ""
    """The taint's key. Empty with operator Exists means every taint."""
    operator: str = ""
    """Equal (the default): the values are equal. Exists: the value does not matter."""
    value: str = ""
    """The taint's value, with operator Equal."""
    effect: str = ""
    """The taint's effect. Empty means every effect."""


class TimedToleration(Toleration):
    """core/v1 Toleration, with the field that scheduling ignores."""

    toleration_seconds: int | None = None
    """How many seconds a NoExecute taint is tolerated. By default there is no limit."""


class ResourceClaimReference(Struct):
    """core/v1 ResourceClaim: a container's reference to a claim of its pod."""

    name: str
    request: str = ""


class ResourceRequirements(Struct):
    """core/v1 ResourceRequirements."""

    requests: Quantities | None = None
    limits: Quantities | None = None
    claims: list[ResourceClaimReference] | None = None


class ContainerPort(Struct):
    """core/v1 ContainerPort. Only a port with a `hostPort` takes a port of the node."""

    host_port: int = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    container_port: int = 0
    protocol: str = ""


class ContainerRestartRule(Struct):
    """core/v1 ContainerRestartRule."""

    action: str = ""


class VolumeMount(Struct):
    """core/v1 VolumeMount."""

    bind_mount_options: list[str] | None = None


class Container(Struct):
    """core/v1 Container. An init container whose `restartPolicy` is Always is a sidecar (KEP-753)."""

    name: str
    resources: ResourceRequirements | None = None
    restart_policy: str | None = None
    ports: list[ContainerPort] | None = None
    restart_policy_rules: list[ContainerRestartRule] | None = None
    volume_mounts: list[VolumeMount] | None = None


class PersistentVolumeClaimVolumeSource(Struct):
    """core/v1 PersistentVolumeClaimVolumeSource."""

    claim_name: str = ""


class GCEPersistentDisk(Struct):
    """core/v1 GCEPersistentDiskVolumeSource."""

    pd_name: str = ""
    read_only: bool = False


class AWSElasticBlockStore(Struct):
    """core/v1 AWSElasticBlockStoreVolumeSource."""

    volume_id: str = msgspec.field(default="", name="volumeID")


class ISCSI(Struct):
    """core/v1 ISCSIVolumeSource."""

    iqn: str = ""
    read_only: bool = False


class RBD(Struct):
    """core/v1 RBDVolumeSource. The API server writes the default pool into it."""

    monitors: list[str] | None = None
    pool: str = "rbd"
    image: str = ""
    read_only: bool = False


class Volume(Struct):
    """core/v1 Volume: its name, and which source is set. Only sources that matter to scheduling are here."""

    name: str
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: Present | None = None
    gce_persistent_disk: GCEPersistentDisk | None = None
    aws_elastic_block_store: AWSElasticBlockStore | None = None
    azure_disk: Present | None = None
    cinder: Present | None = None
    iscsi: ISCSI | None = None
    rbd: RBD | None = None
    portworx_volume: Present | None = None


class TopologySpreadConstraint(Struct):
    """core/v1 TopologySpreadConstraint. Only a constraint with DoNotSchedule restricts placement."""

    when_unsatisfiable: str
    topology_key: str = ""
    max_skew: int = 1
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    """Honor (the default): only nodes that the pod selects count."""
    node_taints_policy: str | None = None
    """Ignore (the default): tainted nodes count too."""
    match_label_keys: list[str] | None = None


class PodResourceClaim(Struct):
    """core/v1 PodResourceClaim."""

    name: str


class PodSchedulingGate(Struct):
    """core/v1 PodSchedulingGate."""

    name: str


class PodSchedulingGroup(Struct):
    """core/v1 PodSchedulingGroup: the native PodGroup (scheduling.k8s.io) that the pod belongs to."""

    pod_group_name: str | None = None


class PodSpec(Struct):
    """core/v1 PodSpec."""

    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    node_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    runtime_class_name: str | None = None
    preemption_policy: str | None = None
    scheduler_name: str = ""
    service_account_name: str = ""
    host_network: bool = False
    host_users: bool | None = None
    scheduling_gates: list[PodSchedulingGate] | None = None
    scheduling_group: PodSchedulingGroup | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    termination_grace_period_seconds: int | None = None
    overhead: Quantities | None = None
    resources: ResourceRequirements | None = None
    volumes: list[Volume] | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    resource_claims: list[PodResourceClaim] | None = None


class ContainerStatus(Struct):
    """core/v1 ContainerStatus: the state of an in-place resize (KEP-1287)."""

    name: str
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities | None = None


class PodStatus(Struct):
    """core/v1 PodStatus."""

    phase: str = ""
    start_time: str | None = None
    conditions: list[Condition] | None = None
    nominated_node_name: str = ""
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities | None = None


class Pod(Struct):
    """core/v1 Pod."""

    metadata: ObjectMeta
    spec: PodSpec
    status: PodStatus = msgspec.field(default_factory=PodStatus)


class PodDisruptionBudgetSpec(Struct):
    """policy/v1 PodDisruptionBudgetSpec. A null selector matches no pod. An empty one matches the whole namespace."""

    selector: LabelSelector | None = None
    min_available: Int32 | str | None = None
    max_unavailable: Int32 | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Struct):
    """policy/v1 PodDisruptionBudgetStatus. `disruptedPods` has the names of evicted pods that are not gone yet."""

    disruptions_allowed: Int32 | None = None
    current_healthy: Int32 | None = None
    desired_healthy: Int32 | None = None
    expected_pods: Int32 | None = None
    disrupted_pods: dict[str, str | None] | None = None
    observed_generation: int = 0


class PodDisruptionBudget(Struct):
    """policy/v1 PodDisruptionBudget."""

    metadata: ObjectMeta
    spec: PodDisruptionBudgetSpec = msgspec.field(default_factory=PodDisruptionBudgetSpec)
    status: PodDisruptionBudgetStatus | None = None


class PriorityClass(Struct):
    """scheduling.k8s.io/v1 PriorityClass."""

    metadata: ObjectMeta
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: Literal["PreemptLowerPriority", "Never"] | None = None

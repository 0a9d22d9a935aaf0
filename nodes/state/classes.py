"""What the scheduler's filters see of a pod and of a node, names aside; alike ones are interned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import msgspec

from api.core import Container, Node, NodeSelector, Pod, PodAffinityTerm, Taint, Toleration, Volume
from api.requests import pod_requests
from api.selectors import matches, node_selector_matches, tolerates

__all__ = ["NodeShape", "PodClass", "admits", "anti_affinity_matches", "node_shape", "pod_class"]

UNTOLERATED: Final = "node(s) had untolerated taint(s)"
NOT_SELECTED: Final = "node(s) didn't match Pod's node affinity/selector"
UNSCHEDULABLE: Final = "node(s) were unschedulable"
"""As kube-scheduler words them."""

UNSCHEDULABLE_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
HARD_EFFECTS: Final = frozenset({"NoSchedule", "NoExecute"})
KNOWN_OPERATORS: Final = frozenset({"", "Equal", "Exists"})
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PodClass:
    """Everything about a pod that decides where it may run; pods with equal `key` are interchangeable."""

    key: bytes
    requests: Mapping[str, int] = field(compare=False)
    """As `api.requests.pod_requests` counts; `pods` is not in it."""
    node_selector: Mapping[str, str] = field(compare=False)
    node_affinity: NodeSelector | None = field(compare=False)
    """The required part."""
    tolerations: tuple[Toleration, ...] = field(compare=False)
    anti_affinity: tuple[PodAffinityTerm, ...] = field(compare=False)
    """The required terms: while such a pod runs they also keep others away from it."""
    unmodelled: tuple[str, ...] = field(compare=False)
    """Filters that the pod uses and the search does not model, sorted."""


@dataclass(frozen=True, slots=True)
class NodeShape:
    """Everything about a node, except its name and room, that decides which pods it takes."""

    key: bytes
    labels: Mapping[str, str] = field(compare=False)
    taints: tuple[Taint, ...] = field(compare=False)
    """Of all effects."""
    unschedulable: bool = field(compare=False)


def pod_class(pod: Pod) -> PodClass:
    """The pod's class. Raises QuantityError naming the field."""
    spec = pod.spec
    affinity = spec.affinity
    anti = affinity.pod_anti_affinity if affinity is not None else None
    node_affinity = affinity.node_affinity if affinity is not None else None
    requests = pod_requests(pod)
    required = node_affinity.required if node_affinity is not None else None
    tolerations = tuple(spec.tolerations or ())
    anti_affinity = tuple((anti.required if anti is not None else None) or ())
    unmodelled = _unmodelled(pod)
    parts = (requests, spec.node_selector, required, tolerations, anti_affinity, unmodelled)
    return PodClass(
        key=msgspec.json.encode(parts, order="deterministic"),
        requests=requests,
        node_selector=spec.node_selector or NOTHING,
        node_affinity=required,
        tolerations=tolerations,
        anti_affinity=anti_affinity,
        unmodelled=unmodelled,
    )


def node_shape(node: Node) -> NodeShape:
    """The node's shape."""
    labels, taints = node.metadata.labels or NOTHING, tuple(node.spec.taints or ())
    return NodeShape(
        key=msgspec.json.encode((dict(labels), taints, node.spec.unschedulable), order="deterministic"),
        labels=labels,
        taints=taints,
        unschedulable=node.spec.unschedulable,
    )


def admits(pod_class: PodClass, node_shape: NodeShape, node_name: str) -> str | None:
    """None if the scheduler's static filters let the pod on the node, otherwise the reason in its words.

    In its order: NodeUnschedulable, TaintToleration, NodeAffinity (which covers the node selector).
    """
    if node_shape.unschedulable and not _tolerated(UNSCHEDULABLE_TAINT, pod_class.tolerations):
        return UNSCHEDULABLE
    for taint in node_shape.taints:
        if taint.effect in HARD_EFFECTS and not _tolerated(taint, pod_class.tolerations):
            return UNTOLERATED
    labels = node_shape.labels
    if any(labels.get(key) != value for key, value in pod_class.node_selector.items()):
        return NOT_SELECTED
    affinity = pod_class.node_affinity
    if affinity is not None and not node_selector_matches(affinity, labels, node_name):
        return NOT_SELECTED
    return None


def anti_affinity_matches(
    pod_class: PodClass, pod_namespace: str, other_namespace: str, other_labels: Mapping[str, str]
) -> bool:
    """Whether a required anti-affinity term of a pod could keep the other pod out of its domain.

    Namespaces' labels are not mirrored, so that a non-empty `namespaceSelector` counts as matching.
    """
    return any(
        _names_namespace(term, pod_namespace, other_namespace) and _selects(term, other_labels)
        for term in pod_class.anti_affinity
    )


def _names_namespace(term: PodAffinityTerm, own: str, other: str) -> bool:
    """Neither field means the pod's own namespace; an empty selector is every namespace."""
    if term.namespace_selector is not None or other in (term.namespaces or ()):
        return True
    return not term.namespaces and own == other


def _selects(term: PodAffinityTerm, labels: Mapping[str, str]) -> bool:
    """Also true for a selector that cannot be read."""
    try:
        return matches(term.label_selector, labels)
    except ValueError:
        return True


def _tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


UNMODELLED_VOLUMES: Final[tuple[tuple[str, Callable[[Volume], object]], ...]] = (
    ("persistent volume claim", lambda volume: volume.persistent_volume_claim),
    ("ephemeral volume", lambda volume: volume.ephemeral),
    ("CSI volume", lambda volume: volume.csi),
    ("GCE persistent disk", lambda volume: volume.gce_persistent_disk),
    ("AWS EBS volume", lambda volume: volume.aws_elastic_block_store),
    ("Azure disk", lambda volume: volume.azure_disk),
    ("Cinder volume", lambda volume: volume.cinder),
    ("iSCSI volume", lambda volume: volume.iscsi),
    ("RBD volume", lambda volume: volume.rbd),
    ("Portworx volume", lambda volume: volume.portworx_volume),
    ("vSphere volume", lambda volume: volume.vsphere_volume),
)


def _unmodelled(pod: Pod) -> tuple[str, ...]:
    spec, names = pod.spec, set[str]()
    if any(map(_has_host_port, (*(spec.containers or ()), *(spec.init_containers or ())))):
        names.add("host ports")
    if spec.affinity is not None:
        affinity, anti = spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity
        if affinity is not None and affinity.required:
            names.add("inter-pod affinity")
        if anti is not None and anti.required:
            names.add("inter-pod anti-affinity")
    if any(c.when_unsatisfiable == "DoNotSchedule" for c in spec.topology_spread_constraints or ()):
        names.add("topology spread (DoNotSchedule)")
    for volume in spec.volumes or ():
        names.update(name for name, source in UNMODELLED_VOLUMES if source(volume) is not None)
    if spec.resource_claims:
        names.add("resource claims (DRA)")
    if spec.scheduling_group is not None and spec.scheduling_group.pod_group_name:
        names.add("native pod group (scheduling.k8s.io)")
    names.update(
        f"toleration operator {t.operator}"
        for t in spec.tolerations or ()
        if t.operator not in KNOWN_OPERATORS
    )
    return tuple(sorted(names))


def _has_host_port(container: Container) -> bool:
    """Ports of sidecars count too; with hostNetwork the API server has made every port a host port."""
    return any(port.host_port > 0 for port in container.ports or ())

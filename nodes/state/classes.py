"""Classes of pods and shapes of nodes: all that the scheduler's filters see of them, except their names.

Equal classes and equal shapes are stored once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import msgspec

from api.core import Node, Pod
from api.requests import pod_requests
from nodes.filters.filter import NodeShape
from nodes.filters.registry import FILTERS, NEEDS, STATIC_FILTERS, UNMODELLED

__all__ = ["PodClass", "admits", "node_shape", "pod_class"]

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PodClass:
    """What decides where a pod may run, except its namespace and labels.

    Pods with equal `key` are interchangeable for every filter that does not look at other pods.
    """

    key: bytes
    requests: Mapping[str, int] = field(compare=False)
    """Amounts by resource, as `api.requests.pod_requests` counts them. The resource `pods` is not in it."""
    needs: tuple[Any, ...] = field(compare=False)
    """What each filter of the registry needs of the pod, in the registry's order. None means nothing."""
    unmodelled: tuple[str, ...] = field(compare=False)
    """Names of what the filters see of the pod but do not model, sorted."""

    @property
    def asks_about_others(self) -> bool:
        """Whether what a node says of the pod may depend on pods on other nodes, or on what is not modelled."""
        return bool(self.unmodelled) or any(
            needs is not None and each.looks_afar(needs)
            for each, needs in zip(FILTERS, self.needs, strict=True)
        )


def pod_class(pod: Pod) -> PodClass:
    """The pod's class. Raises QuantityError, which names the field."""
    requests = pod_requests(pod)
    needs: list[Any] = [None] * len(FILTERS)
    for place, ask in NEEDS:
        needs[place] = ask(pod)
    names: list[str] = []
    for ask_names in UNMODELLED:
        names += ask_names(pod)
    unmodelled = tuple(sorted(set(names)))
    key = msgspec.json.encode((requests, needs, unmodelled), order="deterministic")
    return PodClass(key, requests, tuple(needs), unmodelled)


def node_shape(node: Node) -> NodeShape:
    """The node's labels, taints and `spec.unschedulable`, with a key that is equal for equal nodes."""
    labels, taints = node.metadata.labels or NOTHING, tuple(node.spec.taints or ())
    features = sorted(node.status.declared_features or ())
    return NodeShape(
        key=msgspec.json.encode(
            (dict(labels), taints, node.spec.unschedulable, features), order="deterministic"
        ),
        labels=labels,
        taints=taints,
        unschedulable=node.spec.unschedulable,
        declared_features=frozenset(features),
    )


def admits(pod_class: PodClass, node_shape: NodeShape, node_name: str) -> str | None:
    """None if all static filters admit the pod, otherwise the reason of the first filter that refuses it."""
    for place, static in STATIC_FILTERS:
        needs = pod_class.needs[place]
        if needs is not None and (refusal := static.refusal(needs, node_shape, node_name)) is not None:
            return refusal
    return None

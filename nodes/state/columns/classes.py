"""Classes of pods and shapes of nodes: all that the scheduler's filters see of them, except their names.

Equal classes and equal shapes are stored once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import msgspec

from api.core import Node, Pod
from api.requests import PODS, pod_requests
from nodes.filters.filter import NodeShape, PodFilter, StaticFilter, Tenant
from nodes.filters.pod_volumes import PodVolumes, claims_of
from nodes.filters.profile import DEFAULT_PROFILE, DEFAULT_SCHEDULER, Profile, Profiles
from nodes.filters.registry import (
    FILTERS,
    NAMESPACES_ASKED,
    NEEDS,
    STATIC_FILTERS,
    UNMODELLED,
    WITH_CLAIMS,
)
from nodes.filters.volume_binding import CLAIM, EPHEMERAL

__all__ = [
    "NO_NODE",
    "NO_PROFILES",
    "FilterNeeds",
    "PodClass",
    "admits",
    "class_of",
    "counted_requests",
    "filter_needs",
    "node_shape",
    "pod_class",
    "refusals",
    "tenant_of",
    "with_claims",
]

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
CLAIM_PLACES: Final = frozenset(place for place, _ in WITH_CLAIMS)
"""Places in the registry of the filters that look at claims."""
ENCODER: Final = msgspec.json.Encoder(order="deterministic")
NO_PROFILES: Final[Profiles] = MappingProxyType({})
NO_NODE: Final = "no node"
"""Why a node refuses every pod that does not exist."""


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
    off: frozenset[int] = field(compare=False, default=frozenset())
    """Places in the registry of the filters that the pod's scheduler does not ask."""
    ignored: frozenset[str] = field(compare=False, default=frozenset())
    """Resources that the pod requests, but that its scheduler does not look at. `requests` has them not."""

    @property
    def resources(self) -> Set[str]:
        """Names of all resources that the pod requests."""
        return self.requests.keys() | self.ignored

    @property
    def chooses_namespaces(self) -> bool:
        """Whether the pod chooses namespaces by their labels."""
        return any(
            (needs := self.needs[place]) is not None and asked(needs) is not None
            for place, asked in NAMESPACES_ASKED
        )

    @property
    def asks_about_others(self) -> bool:
        """Whether what a node says of the pod may depend on pods on other nodes, or on what is not modelled."""
        return bool(self.unmodelled) or self.looks_afar

    @property
    def looks_afar(self) -> bool:
        """Whether a filter of the pod asks about pods on other nodes."""
        return any(
            needs is not None and place not in self.off and each.looks_afar(needs)
            for place, (each, needs) in enumerate(zip(FILTERS, self.needs, strict=True))
        )


@dataclass(frozen=True, slots=True)
class FilterNeeds:
    """What filters see of a pod besides the amounts that it requests."""

    needs: tuple[Any, ...]
    """As in `PodClass`."""
    unmodelled: tuple[str, ...]
    """As in `PodClass`."""
    key: bytes
    """Both as JSON, as they stand at the end of a class's key."""


def pod_class(pod: Pod, profiles: Profiles = NO_PROFILES) -> PodClass:
    """The pod's class, in which its claims are only named. `profiles`: of the schedulers.

    Raises QuantityError, which names the field.
    """
    requests = pod_requests(pod)
    profile = profiles.get(pod.spec.scheduler_name or DEFAULT_SCHEDULER) if profiles else None
    if profile is not None and profile != DEFAULT_PROFILE:
        return _in_profile(profile, pod, requests, _needs_of(pod))
    return class_of(requests, filter_needs(pod))


def class_of(requests: Mapping[str, int], seen: FilterNeeds) -> PodClass:
    """The class of pods that request these amounts, and that look so to filters."""
    key = b"[" + ENCODER.encode(requests) + b"," + seen.key
    return PodClass(key, requests, seen.needs, seen.unmodelled)


def filter_needs(pod: Pod) -> FilterNeeds:
    """What filters of the default profile see of the pod. What it requests is not looked at."""
    needs, names = _needs_of(pod), list[str]()
    for ask_names in UNMODELLED:
        names += ask_names(pod)
    unmodelled = tuple(sorted(set(names)))
    key = ENCODER.encode((needs, unmodelled))
    return FilterNeeds(tuple(needs), unmodelled, key[1:])


def _needs_of(pod: Pod) -> list[Any]:
    needs: list[Any] = [None] * len(FILTERS)
    for place, ask in NEEDS:
        needs[place] = ask(pod)
    return needs


def with_claims(bare: PodClass, volumes: PodVolumes) -> PodClass:
    """The class of a pod whose claims are known. `bare`: what `pod_class` says of the pod."""
    needs = list(bare.needs)
    for place, ask in WITH_CLAIMS:
        needs[place] = ask(needs[place], volumes)
    names = {name for name in bare.unmodelled if name not in (CLAIM, EPHEMERAL)}.union(volumes.unmodelled)
    key = bare.key + volumes.key
    return replace(bare, key=key, needs=tuple(needs), unmodelled=tuple(sorted(names)))


def _in_profile(profile: Profile, pod: Pod, requests: dict[str, int], needs: list[Any]) -> PodClass:
    """The class of a pod whose scheduler's profile is not the default one.

    A bound pod holds what its scheduler did not look at: schedulers with another profile may count it.
    """
    off = frozenset(place for place, each in enumerate(FILTERS) if each.name in profile.off)
    own = tuple(
        None if place in off and not isinstance(each, PodFilter) else each.needs_in(profile, needs[place])
        for place, each in enumerate(FILTERS)
    )
    names = set(profile.named)
    for place, each in enumerate(FILTERS):
        names.update(() if place in off else each.unmodelled(pod))
        names.update(each.unmodelled_in(profile, pod))
        if each.name not in profile.half_off or place in off:
            continue
        if needs[place] is not None or (place in CLAIM_PLACES and claims_of(pod)):
            names.add(f"{each.name} without its filter")
    ignored = frozenset(name for name in requests if not pod.spec.node_name and profile.ignores(name))
    counted = {name: amount for name, amount in requests.items() if name not in ignored}
    unmodelled = tuple(sorted(names))
    key = ENCODER.encode((counted, own, unmodelled, sorted(off), sorted(ignored)))
    return PodClass(key, counted, own, unmodelled, off, ignored)


def counted_requests(pod: Pod, profiles: Profiles) -> dict[str, int]:
    """The amounts that the pod's scheduler looks at, by resource, with `pods`. Raises QuantityError."""
    profile = profiles.get(pod.spec.scheduler_name or DEFAULT_SCHEDULER, DEFAULT_PROFILE)
    requests = {name: amount for name, amount in pod_requests(pod).items() if not profile.ignores(name)}
    return {**requests, PODS: 1}


def tenant_of(
    its_class: PodClass | None,
    place: int | None,
    labelled: tuple[str, Mapping[str, str]] | None,
    namespaces: Mapping[str, Mapping[str, str]],
) -> Tenant:
    """A pod as the filter at this place in the registry sees it; None: without needs.

    `labelled`: the pod's namespace and labels. `namespaces`: labels by namespace.
    """
    namespace, labels = labelled or ("", NOTHING)
    needs = its_class.needs[place] if its_class is not None and place is not None else None
    asks = its_class is None or place not in its_class.off
    return Tenant(needs, namespace, labels, namespaces.get(namespace), asks)


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
    return _first_refusal(_asked(pod_class), node_shape, node_name)


def refusals(
    pod_class: PodClass, shapes: Iterable[NodeShape | None], names: Iterable[str]
) -> list[str | None]:
    """What `admits` says of each node; `NO_NODE` where there is no shape."""
    asked = _asked(pod_class)
    everywhere = [(static, needs) for static, needs in asked if not static.only_marked]
    found: list[str | None] = []
    for shape, name in zip(shapes, names, strict=True):
        if shape is None:
            found.append(NO_NODE)
        elif asks := asked if shape.taints or shape.unschedulable else everywhere:
            found.append(_first_refusal(asks, shape, name))
        else:
            found.append(None)
    return found


def _asked(pod_class: PodClass) -> list[tuple[StaticFilter[Any], Any]]:
    """The static filters that look at the pod, each with what it needs of the pod."""
    return [
        (static, needs)
        for place, static in STATIC_FILTERS
        if place not in pod_class.off and (needs := pod_class.needs[place]) is not None
    ]


def _first_refusal(asked: list[tuple[StaticFilter[Any], Any]], shape: NodeShape, name: str) -> str | None:
    for static, needs in asked:
        if (refusal := static.refusal(needs, shape, name)) is not None:
            return refusal
    return None

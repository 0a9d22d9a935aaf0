"""Classes of pods that were seen before. Most pods of a cluster differ in what no filter looks at."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from api.core import Container, Pod, PodSpec, PodStatus, Volume
from api.meta import ObjectMeta
from api.requests import pod_requests, requests_of_one_container
from nodes.filters.profile import Profiles
from nodes.state.columns.classes import FilterNeeds, PodClass, class_of, filter_needs, pod_class

__all__ = ["KnownClasses"]

K = TypeVar("K")
V = TypeVar("V")

REMEMBERED: Final = 1 << 12
"""The most kinds of pods that are remembered. When there are more, all of them are forgotten."""
BOUND: Final = "bound"
"""Stands for the name of any node."""
NO_METADATA: Final = ObjectMeta()
ENCODER: Final = msgspec.msgpack.Encoder()
"""MessagePack tells apart all values that fields can have. JSON does not: it has no NaN."""


class KnownClasses:
    """As `pod_class`. The class of pods that filters cannot tell apart is computed once.

    See docs/decisions/0067.
    """

    def __init__(self, profiles: Profiles) -> None:
        self._profiles = profiles
        self._known: dict[Hashable, PodClass] = {}
        self._needs: dict[bytes, FilterNeeds] = {}
        """By the pod without its amounts."""

    def of(self, pod: Pod) -> PodClass:
        """The pod's class, in which its claims are only named. Raises QuantityError, which names the field."""
        requests = requests_of_one_container(pod) if not self._profiles else None
        try:
            return self._whole(seen_by_filters(pod)) if requests is None else self._of_parts(pod, requests)
        except (OverflowError, UnicodeEncodeError):  # an integer of more than 64 bits, half a surrogate pair
            return pod_class(seen_by_filters(pod), self._profiles)

    def _whole(self, seen: Pod) -> PodClass:
        """The class of a pod as filters see it."""
        key = ENCODER.encode(seen)
        known = self._known.get(key)
        if known is None:
            known = self._computed(seen)
            _remember(self._known, key, known)
        return known

    def _computed(self, seen: Pod) -> PodClass:
        if self._profiles:
            return pod_class(seen, self._profiles)
        requests, rest = pod_requests(seen), without_amounts(seen)
        return class_of(requests, self._needs_of(ENCODER.encode(rest), rest))

    def _of_parts(self, pod: Pod, requests: dict[str, int]) -> PodClass:
        """The class of a pod with these requests: where most pods differ, most of them differ in these alone."""
        rest = without_amounts(pod)
        key = ENCODER.encode(rest)
        whole = key, *requests.items()
        known = self._known.get(whole)
        if known is None:
            known = class_of(requests, self._needs_of(key, rest))
            _remember(self._known, whole, known)
        return known

    def _needs_of(self, key: bytes, rest: Pod) -> FilterNeeds:
        needs = self._needs.get(key)
        if needs is None:
            needs = filter_needs(rest)
            _remember(self._needs, key, needs)
        return needs


def _remember(known: dict[K, V], key: K, value: V) -> None:
    if len(known) >= REMEMBERED:
        known.clear()
    known[key] = value


def seen_by_filters(pod: Pod) -> Pod:
    """The pod without what is known to matter to no filter: names, its node's name, times, priority, gates, account.

    A new field of the spec is seen. Of the metadata, terms about other pods look at namespace and labels.
    """
    spec = _seen_spec(pod.spec)
    return Pod(_seen_metadata(pod, spec), spec, _seen_status(pod.status))


def without_amounts(pod: Pod) -> Pod:
    """The same without what only `pod_requests` looks at: amounts, the names of containers, and the status."""
    spec = _seen_spec(pod.spec)
    spec.containers = _without_amounts(spec.containers)
    spec.init_containers = _without_amounts(spec.init_containers)
    spec.overhead = spec.resources = None
    return Pod(_seen_metadata(pod, spec), spec)


def _without_amounts(containers: list[Container] | None) -> list[Container] | None:
    return [replace(each, name="", resources=None) for each in containers] if containers else None


def _seen_spec(spec: PodSpec) -> PodSpec:
    seen = replace(
        spec,
        node_name=BOUND if spec.node_name else "",
        priority=None,
        priority_class_name="",
        preemption_policy=None,
        scheduling_gates=None,
        termination_grace_period_seconds=None,
        service_account_name="",
    )
    if seen.volumes:
        # Every pod has a volume with a name of its own: the token of its service account.
        seen.volumes = [volume for volume in seen.volumes if volume != Volume(volume.name)]
    return seen


def _seen_metadata(pod: Pod, spec: PodSpec) -> ObjectMeta:
    if spec.affinity is None and not spec.topology_spread_constraints:
        return NO_METADATA
    return ObjectMeta(namespace=pod.metadata.namespace, labels=pod.metadata.labels)


def _seen_status(status: PodStatus) -> PodStatus:
    conditions = None
    for each in status.conditions or ():  # a loop, because every event of a pod comes here
        if each.type == "PodResizePending":
            conditions = [*(conditions or ()), each]
    return replace(status, phase="", start_time=None, nominated_node_name="", conditions=conditions)

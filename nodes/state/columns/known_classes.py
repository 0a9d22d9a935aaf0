"""Classes of pods that were seen before. Most pods of a cluster differ in what no filter looks at."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from api.core import Pod, PodSpec, PodStatus, Volume
from api.meta import ObjectMeta
from nodes.filters.profile import Profiles
from nodes.state.columns.classes import PodClass, pod_class

__all__ = ["KnownClasses"]

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
        self._known: dict[bytes, PodClass] = {}

    def of(self, pod: Pod) -> PodClass:
        """The pod's class, in which its claims are only named. Raises QuantityError, which names the field."""
        seen = seen_by_filters(pod)
        try:
            key = ENCODER.encode(seen)
        except (OverflowError, UnicodeEncodeError):  # an integer of more than 64 bits, half a surrogate pair
            return pod_class(seen, self._profiles)
        known = self._known.get(key)
        if known is None:
            known = pod_class(seen, self._profiles)
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = known
        return known


def seen_by_filters(pod: Pod) -> Pod:
    """The pod without what is known to matter to no filter: names, its node's name, times, priority, gates.

    A new field of the spec is seen. Of the metadata, terms about other pods look at namespace and labels.
    """
    spec = replace(
        pod.spec,
        node_name=BOUND if pod.spec.node_name else "",
        priority=None,
        priority_class_name="",
        preemption_policy=None,
        scheduling_gates=None,
        termination_grace_period_seconds=None,
    )
    if spec.volumes:
        # Every pod has a volume with a name of its own: the token of its service account.
        spec.volumes = [volume for volume in spec.volumes if volume != Volume(volume.name)]
    return Pod(_seen_metadata(pod, spec), spec, _seen_status(pod.status))


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

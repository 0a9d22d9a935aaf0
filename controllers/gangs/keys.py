"""What the planner calls a preemptor: a key for a PodGroup, and one for a pod that preempts alone, as a gang of one.

The name of a PodGroup has no slash, and the second part of a pod's key has two. So the two kinds never meet. A
Workload to which room is promised has a key of that form, too, with another first word.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from api.core import Pod
from api.plans import Preemptor
from nodes.groups.keys import short_name

__all__ = ["GroupKey", "LonePod", "key_of", "key_of_pod", "lone_pod", "spoken", "spoken_in", "workload_key"]

WORKLOAD: Final = "workload"

GroupKey = tuple[str, str]
"""(namespace, name) of a PodGroup, or the key of a pod that preempts alone (`LonePod.key`)."""


class LonePod(NamedTuple):
    """A pod that preempts alone."""

    namespace: str
    name: str
    uid: str

    @property
    def key(self) -> GroupKey:
        """A later pod of the same name has another key."""
        return self.namespace, f"pod/{self.name}/{self.uid}"


def lone_pod(key: GroupKey) -> LonePod | None:
    """The pod that the key is about; None if it is about a PodGroup."""
    kind, _, rest = key[1].partition("/")
    if kind != "pod" or not rest:
        return None
    name, _, uid = rest.partition("/")
    return LonePod(key[0], name, uid)


def key_of_pod(pod: Pod) -> GroupKey:
    """The key of the pod as a preemptor of its own."""
    return LonePod(pod.metadata.namespace, pod.metadata.name, pod.metadata.uid).key


def workload_key(namespace: str, name: str, uid: str) -> GroupKey:
    """The key under which room is promised to a Workload whose pods do not exist yet. It has no gang."""
    return namespace, f"{WORKLOAD}/{name}/{uid}"


def key_of(preemptor: Preemptor) -> GroupKey:
    """The key of a plan's preemptor."""
    if preemptor.kind == "Pod":
        return LonePod(preemptor.namespace, preemptor.name, preemptor.uid).key
    return preemptor.namespace, preemptor.name


def spoken(key: GroupKey) -> str:
    """The preemptor as messages name it: its kind, and NAMESPACE/NAME."""
    pod = lone_pod(key)
    kind, _, rest = key[1].partition("/")
    if kind == WORKLOAD and rest:
        return f"Workload {key[0]}/{rest.partition('/')[0]}"
    return f"PodGroup {key[0]}/{short_name(key[1])}" if pod is None else f"Pod {pod.namespace}/{pod.name}"


def spoken_in(key: GroupKey, namespace: str) -> str:
    """The preemptor as messages name it that are read in this namespace: another namespace's has no name there."""
    said = spoken(key)
    return said if key[0] == namespace else f"another namespace's {said.partition(' ')[0]}"

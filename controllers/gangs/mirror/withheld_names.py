"""What a plan does not say to the readers of its namespace: the names of pods and groups of other namespaces.

A stored PreemptionPlan names a foreign victim by UID, priority and node. That is enough to resume the plan: the mirror
knows the names of the pods that still exist.

See docs/decisions/0037.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from api.plans import PreemptionPlanSpec, Victim, VictimPod
from controllers.gangs.keys import GroupKey
from controllers.gangs.mirror.roster import Roster

__all__ = ["spoken_pod", "with_names"]


def with_names(spec: PreemptionPlanSpec, roster: Roster) -> PreemptionPlanSpec:
    """The plan with the names that were withheld. A pod that is gone stays without a name, and so does its group."""
    if all(victim.name for victim in spec.victims):
        return spec
    return replace(spec, victims=[_with_names(victim, roster) for victim in spec.victims])


def _with_names(victim: Victim, roster: Roster) -> Victim:
    if victim.name:
        return victim
    pods = [_named(pod, roster) for pod in victim.pods]
    namespace, name = _group_of(victim, roster) if victim.kind == "PodGroup" else _pod_of(pods)
    return replace(victim, namespace=namespace, name=name, pods=pods)


def _named(pod: VictimPod, roster: Roster) -> VictimPod:
    view = roster.view(pod.uid)
    return pod if view is None else VictimPod(view.namespace, view.name, pod.uid, pod.node)


def _group_of(victim: Victim, roster: Roster) -> GroupKey:
    for pod in victim.pods:
        view = roster.view(pod.uid)
        key = view.group if view is not None else None
        if key is not None and roster.preemptor_uid(key) == victim.uid:
            return key
    return "", ""


def _pod_of(pods: Sequence[VictimPod]) -> tuple[str, str]:
    return (pods[0].namespace, pods[0].name) if pods else ("", "")


def spoken_pod(pod: VictimPod, namespace: str) -> str:
    """A victim as messages name it that are read in this namespace: another namespace's pod only by its UID."""
    return f"pod {pod.namespace}/{pod.name}" if pod.namespace == namespace else f"pod {pod.uid}"

"""What an API server would make of pods that do not exist yet: see `schema.defaults.admission`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from nodes.answers.consequences import Tried
from nodes.groups.made_pods import MadePods
from nodes.search.preemptors.supposed import SupposedPods
from nodes.state.snapshot import Snapshot
from quota.state.surroundings import Surroundings
from schema.defaults.admission import admitted, extended_resources, with_resource_tolerations
from schema.defaults.limit_ranges import Summary

__all__ = ["RESOURCE_TOLERATIONS", "AdmittedSets", "admitted_sets", "is_changed_by", "tolerating"]

RESOURCE_TOLERATIONS: Final = (
    "tolerations of extended resources (admission plugin ExtendedResourceToleration)"
)
"""What managed clusters with GPUs usually add to pods, and others do not."""
HARD: Final = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class AdmittedSets:
    """The pods as they would be stored."""

    sets: list[MadePods]
    refusals: list[str]
    """Why they would not be stored, each once."""
    unknown: list[str]
    """What an API server would look at and is not known here, sorted."""


def admitted_sets(sets: Sequence[MadePods], around: Surroundings) -> AdmittedSets:
    """The pods with what LimitRanges, RuntimeClasses and the default tolerations add."""
    found, refusals, unknown = list[MadePods](), dict[str, None](), set[str]()
    for each in sets:
        limits = around.summaries.get(each.pod.metadata.namespace, Summary())
        result = admitted(each.pod, limits, around.runtime_classes)
        found.append(replace(each, pod=result.pod))
        if each.count:
            refusals.update(dict.fromkeys(result.refusals))
            unknown.update(result.unknown)
    return AdmittedSets(found, [*refusals], sorted(unknown))


def tolerating(snapshot: Snapshot, sets: Sequence[SupposedPods]) -> list[SupposedPods] | None:
    """The pods with the tolerations that ExtendedResourceToleration adds; None if no node has such a taint."""
    resources = {name for each in sets if each.count for name in extended_resources(each.pod.spec)}
    tainted = {
        taint.key
        for shape in snapshot.node_shapes
        if shape is not None
        for taint in shape.taints
        if taint.effect in HARD
    }
    if not resources & tainted:
        return None
    return [replace(each, pod=with_resource_tolerations(each.pod)) for each in sets]


def is_changed_by(tried: Tried, other: Tried) -> bool:
    """Whether more pods would run, or others would be evicted."""
    return (tried.running, _victims(tried)) != (other.running, _victims(other))


def _victims(tried: Tried) -> set[str]:
    return {pod.uid for each in tried.spec.victims for pod in each.pods} if tried.running else set()

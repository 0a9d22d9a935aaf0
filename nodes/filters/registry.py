"""All filters, in the order of kube-scheduler's default profile. A reason names the first filter that fails.

NodeName is not in the list, because the search places only pods without a node.
"""

from __future__ import annotations

from typing import Any, Final

from nodes.filters.counting import CountingFilter
from nodes.filters.dynamic_resources import DynamicResources
from nodes.filters.filter import Filter, PodFilter, StaticFilter
from nodes.filters.gang_scheduling import GangScheduling
from nodes.filters.inter_pod_affinity import InterPodAffinity
from nodes.filters.node_affinity import NodeAffinity
from nodes.filters.node_declared_features import NodeDeclaredFeatures
from nodes.filters.node_ports import NodePorts
from nodes.filters.node_resources import NodeResourcesFit
from nodes.filters.node_unschedulable import NodeUnschedulable
from nodes.filters.node_volume_limits import NodeVolumeLimits
from nodes.filters.pod_topology_spread import PodTopologySpread
from nodes.filters.taint_toleration import TaintToleration
from nodes.filters.volume_binding import VolumeBinding
from nodes.filters.volume_restrictions import VolumeRestrictions
from nodes.filters.volume_zone import VolumeZone

__all__ = [
    "COUNTING_FILTERS",
    "FILTERS",
    "LOCAL",
    "NAMESPACES_ASKED",
    "NEEDS",
    "POD_FILTERS",
    "RESOURCES_FIT",
    "STATIC_FILTERS",
    "STRICTER",
    "UNMODELLED",
    "WITH_CLAIMS",
    "place_of",
]

FILTERS: Final[tuple[Filter[Any], ...]] = (
    NodeUnschedulable(),
    TaintToleration(),
    NodeAffinity(),
    NodePorts(),
    NodeResourcesFit(),
    VolumeRestrictions(),
    NodeVolumeLimits(),
    VolumeBinding(),
    VolumeZone(),
    PodTopologySpread(),
    InterPodAffinity(),
    DynamicResources(),
    NodeDeclaredFeatures(),
    GangScheduling(),
)


def _has_own(each: Filter[Any], method: str) -> bool:
    return getattr(type(each), method) is not getattr(Filter, method)


STATIC_FILTERS: Final = tuple(
    (place, each) for place, each in enumerate(FILTERS) if isinstance(each, StaticFilter)
)
"""Pairs of (place in FILTERS, filter)."""
POD_FILTERS: Final = tuple((place, each) for place, each in enumerate(FILTERS) if isinstance(each, PodFilter))
"""Pairs of (place in FILTERS, filter)."""
COUNTING_FILTERS: Final = tuple(
    (place, each) for place, each in enumerate(FILTERS) if isinstance(each, CountingFilter)
)
"""Pairs of (place in FILTERS, filter)."""
NEEDS: Final = tuple((place, each.needs) for place, each in enumerate(FILTERS) if _has_own(each, "needs"))
"""Pairs of (place in FILTERS, method `needs`), for the filters that have a `needs` of their own."""
UNMODELLED: Final = tuple(each.unmodelled for each in FILTERS if _has_own(each, "unmodelled"))
"""The method `unmodelled` of each filter that has its own. Every event of a pod calls the methods of NEEDS and
UNMODELLED, so both leave out the filters that would return nothing."""
WITH_CLAIMS: Final = tuple(
    (place, each.needs_with_claims)
    for place, each in enumerate(FILTERS)
    if _has_own(each, "needs_with_claims")
)
"""Pairs of (place in FILTERS, method `needs_with_claims`), for the filters that have their own."""
NAMESPACES_ASKED: Final = tuple(
    (place, each.namespaces_asked) for place, each in enumerate(FILTERS) if _has_own(each, "namespaces_asked")
)
"""Pairs of (place in FILTERS, method `namespaces_asked`), for the filters that have their own."""
LOCAL: Final = frozenset[str]().union(*(each.local for each in FILTERS))
"""See `Filter.local`."""
STRICTER: Final = frozenset[str]().union(*(each.stricter for each in FILTERS))
"""See `Filter.stricter`."""


def place_of(kind: type[Filter[Any]]) -> int:
    """The place of the filter of this class in FILTERS."""
    return next(place for place, each in enumerate(FILTERS) if isinstance(each, kind))


RESOURCES_FIT: Final = place_of(NodeResourcesFit)
"""The place of NodeResourcesFit in FILTERS."""

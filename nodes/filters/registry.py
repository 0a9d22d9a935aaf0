"""All filters, in the order in which kube-scheduler's default profile asks them: the first that fails is named.

NodeName is not among them: only pods without a node are placed.
"""

from __future__ import annotations

from typing import Any, Final

from nodes.filters.dynamic_resources import DynamicResources
from nodes.filters.filter import Filter, PodFilter, StaticFilter
from nodes.filters.gang_scheduling import GangScheduling
from nodes.filters.inter_pod_affinity import InterPodAffinity
from nodes.filters.node_affinity import NodeAffinity
from nodes.filters.node_ports import NodePorts
from nodes.filters.node_resources import NodeResourcesFit
from nodes.filters.node_unschedulable import NodeUnschedulable
from nodes.filters.pod_topology_spread import PodTopologySpread
from nodes.filters.taint_toleration import TaintToleration
from nodes.filters.volumes import Volumes

__all__ = ["FILTERS", "POD_FILTERS", "RESOURCES_FIT", "STATIC_FILTERS"]

FILTERS: Final[tuple[Filter[Any], ...]] = (
    NodeUnschedulable(),
    TaintToleration(),
    NodeAffinity(),
    NodePorts(),
    NodeResourcesFit(),
    Volumes(),
    PodTopologySpread(),
    InterPodAffinity(),
    DynamicResources(),
    GangScheduling(),
)
STATIC_FILTERS: Final = tuple(
    (place, each) for place, each in enumerate(FILTERS) if isinstance(each, StaticFilter)
)
"""With their places in FILTERS."""
POD_FILTERS: Final = tuple((place, each) for place, each in enumerate(FILTERS) if isinstance(each, PodFilter))
"""With their places in FILTERS."""
RESOURCES_FIT: Final = next(place for place, each in enumerate(FILTERS) if isinstance(each, NodeResourcesFit))
"""The place of NodeResourcesFit in FILTERS."""

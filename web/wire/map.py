"""The map of nodes. Amounts of cpu are in milli, all others in whole units.

In columns, all lists of an object have the same length. A node, block or gang is named by its place in the column of
those, from 0; in place of a gang, -1 stands for pods without one.
"""

from __future__ import annotations

from web.wire.base import Wire

__all__ = ["GangColumns", "Map", "NodeRoom", "PartColumns", "TopologyKey"]


class TopologyKey(Wire):
    """A label by which nodes may stand in blocks."""

    key: str
    pod_groups: int
    """How many PodGroups that the reader may list name it."""


class NodeColumns(Wire):
    """The nodes, block by block, and in each block by name."""

    name: list[str]
    block: list[int]
    allocatable: list[int]
    used: list[int]
    """What pods request that the reader may list. Pods that terminate are among them."""
    leaving: list[int]
    """The part of `used` of pods that terminate."""
    promised: list[int]
    """What pods that wait will get there, by plans that are carried out. Victims may still use that room."""
    free: list[int]
    """What is neither used nor promised. All readers get the same."""
    anonymous: list[int]
    """What is used by pods that the reader may not list, or promised to them."""


class GangColumns(Wire):
    """The gangs that have pods on nodes, or plans."""

    namespace: list[str]
    name: list[str]
    key: list[str]
    """The name that no other gang of the namespace has, of whatever kind."""


class PartColumns(Wire):
    """What each gang has on each node."""

    node: list[int]
    gang: list[int]
    pods: list[int]
    used: list[int]
    leaving: list[int]


class PromisedColumns(Wire):
    """What a plan promises on each node, by the gang of the pods."""

    node: list[int]
    gang: list[int]
    pods: list[int]
    amount: list[int]


class VictimColumns(Wire):
    """The victims of a plan that are still there, by node and gang."""

    node: list[int]
    gang: list[int]
    pods: list[int]
    amount: list[int]


class MapPlan(Wire):
    """A plan that is carried out."""

    kind: str
    """Of the preemptor, as all that follows: PodGroup or Pod."""
    namespace: str
    name: str
    uid: str
    priority: int
    gang: int
    promised: PromisedColumns
    victims: VictimColumns


class Map(Wire):
    """The nodes, and who holds their room."""

    version: str
    moment: str
    """RFC 3339."""
    trouble: str
    """Why this may be old. Empty if it is not."""
    topology_key: str
    topology_keys: list[TopologyKey]
    """The one first that most PodGroups name."""
    resource: str
    resources: list[str]
    blocks: list[str | None]
    """The values of the label. None for nodes that do not have it."""
    nodes: NodeColumns
    gangs: GangColumns
    parts: PartColumns
    plans: list[MapPlan]
    missing: list[str]
    """The rights that would show more."""
    unread: str
    """Which rights the page itself lacks. Empty if it lacks none for this."""


class NodeAmounts(Wire):
    """The room of a node, of one resource. See `NodeColumns`."""

    name: str
    allocatable: int
    used: int
    leaving: int
    promised: int
    free: int
    anonymous: int


class NodePod(Wire):
    """A pod on the node."""

    namespace: str
    name: str
    gang: str
    """Empty if it is in none."""
    priority: int
    requests: dict[str, int]
    leaving: bool
    """Whether it terminates."""
    victim_of: str
    """NAMESPACE/NAME of the preemptor for which it is evicted. Empty if it is none, or if the
    reader may not know it."""


class PromisedPod(Wire):
    """A pod that will get room on the node."""

    namespace: str
    name: str
    gang: str
    priority: int
    requests: dict[str, int]
    plan: str
    """NAMESPACE/NAME. Empty if the reader may not list it."""


class NodeRoom(Wire):
    """A node."""

    version: str
    moment: str
    trouble: str
    name: str
    labels: dict[str, str]
    unschedulable: bool
    taints: list[str]
    resources: list[NodeAmounts]
    pods: list[NodePod]
    promised: list[PromisedPod]
    missing: list[str]

"""Frames of the map. Whoever has a map and puts a later frame into it has the later map.

In columns, all lists of an object have the same length. Nodes are named: their places in a map move.
"""

from __future__ import annotations

from web.wire.base import Wire
from web.wire.map import GangColumns, PartColumns, TopologyKey

__all__ = ["Frame"]


class FrameNodes(Wire):
    """Nodes that came or changed, as they are now. See the columns of nodes in a map."""

    name: list[str]
    block: list[str | None]
    """The value of the label."""
    allocatable: list[int]
    used: list[int]
    leaving: list[int]
    promised: list[int]
    free: list[int]
    anonymous: list[int]


class FrameAmounts(Wire):
    """What a plan promises or takes."""

    node: list[str]
    gang: list[int]
    pods: list[int]
    amount: list[int]


class FramePlan(Wire):
    """A plan that came or changed, as it is now. See the plans in a map."""

    kind: str
    namespace: str
    name: str
    uid: str
    priority: int
    gang: int
    promised: FrameAmounts
    victims: FrameAmounts


class FramePlans(Wire):
    """The plans that are carried out."""

    order: list[str]
    """KIND/NAMESPACE/NAME/UID of all of them."""
    changed: list[FramePlan]


class Frame(Wire):
    """What has changed on the map. Gangs are named by their places in the frame's own columns; -1 stands for pods
    without one."""

    since: str
    """The frame has all that changed after this version. It fits a map of this version or a later one."""
    version: str
    moment: str
    trouble: str
    topology_keys: list[TopologyKey] | None
    """None if they are as before."""
    resources: list[str] | None
    """None if they are as before."""
    gone: list[str]
    """Names of nodes."""
    nodes: FrameNodes
    gangs: GangColumns
    parts: PartColumns
    """All parts of those nodes, which are named by their places in `nodes`."""
    plans: FramePlans | None
    """None if they are as before."""

"""What filter may do with a pod of a gang, and what is known of a bound pod. Plain values."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from controllers.gangs.lifecycle.life import ActivePlan, GroupKey

__all__ = ["AnyOf", "BoundPod", "FreeRoom", "Hold", "InPass", "Offer", "Within"]


@dataclass(frozen=True, slots=True)
class Hold:
    """No node for this pod now; the text is constant within a phase, for it lands in the pod's status."""

    text: str


@dataclass(frozen=True, slots=True)
class Offer:
    """This node and no other."""

    node: str


@dataclass(frozen=True, slots=True)
class InPass:
    """The pod's gang is tried in passes. What the pod gets depends on the calls before this one: see
    `Answering.in_pass`."""

    group: GroupKey
    plan: ActivePlan | None
    """The gang's plan."""
    otherwise: Hold
    """What it gets if it is not offered its node."""
    node: str | None
    """The node that the plan would offer; None if it holds the pod."""


@dataclass(frozen=True, slots=True)
class Within:
    """These nodes only; there the pod is treated as an ordinary one."""

    nodes: Collection[str]


@dataclass(frozen=True, slots=True)
class FreeRoom:
    """Only free room, and one node: nothing is evicted for this pod, and its scheduler would evict."""

    nodes: Collection[str] | None
    """On these nodes only; None: on all nodes."""


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The scheduler chooses one of these nodes. The pod's devices are not modelled, and nothing is evicted for it."""

    nodes: Collection[str] | None
    """None: of all nodes."""


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A bound pod as the preempt verb must judge it: may the scheduler evict it alone?"""

    node: str | None
    """None: the scheduler has put it on a node, and its binding has not reached us yet."""
    priority: int
    """See `Roster.unit_priority`."""
    unit_is_group: bool
    """It is part of a group in `all` mode, which is evicted whole or not at all."""
    leaving: bool = False
    """It terminates already: evicting it once more harms nobody."""
    in_group: bool = False
    """It belongs to a group, whatever group that is."""
    kept: bool = False
    """Nobody may evict it: see `Roster.is_kept`."""

"""What the account asks the nodes plane: who preempts, who was preempted, and where preemptors run.

The nodes plane answers from the tables that it keeps. Both are in one process, and everything runs on the event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from api.core import Pod
from api.plans import PreemptionPlanSpec, PreemptorKind

__all__ = ["CallHook", "Owner", "OwnerKey", "Requests", "Roll", "Standing", "Stayed", "Unit", "Usage"]

Requests = Mapping[str, int]
"""By resource, in the scheduler's integers: cpu in milli, bytes, and whole devices."""
NOTHING: Final[Requests] = MappingProxyType({})

CallHook = Callable[[Pod, Mapping[str, Collection[str]]], object]
"""Gets the pod of a preempt call, and the victims (UIDs) by node that the scheduler offers."""
OwnerKey = tuple[str, str]
"""How the nodes plane calls a preemptor: see `controllers.gangs.keys`."""


class Owner(NamedTuple):
    """A preemptor: a gang, or a pod that belongs to none."""

    uid: str
    kind: PreemptorKind
    namespace: str
    name: str
    key: OwnerKey


class Unit(NamedTuple):
    """What a pod is evicted with."""

    uid: str
    """The UID of its group if that is evicted whole, else the pod's own."""
    running: int
    """How many pods of it run, this one included. 1 if it is no group."""
    priority: int | None
    """At which it may be evicted; None if that is not known."""
    planned: bool
    """Whether the pod is a victim of an active plan by which the scheduler evicts for us."""
    group: str = ""
    """The UID of its group, also if that is not evicted whole; empty if it has none."""
    group_key: OwnerKey | None = None


class Usage(NamedTuple):
    """What a pod holds, and since when."""

    requests: Requests
    since: float
    """In seconds since the epoch."""


class Stayed(NamedTuple):
    """What is left of a group that lost a part of its pods."""

    requests: Requests
    """Of the pods that still run, summed up."""
    placed: int
    """How many they are, with those that have Succeeded."""
    minimum: int | None
    """minCount; None if the group has none."""


class Standing(NamedTuple):
    """How far a preemptor is."""

    nodes: frozenset[str]
    """Where its pods are."""
    placed: int
    """How many of its pods have a node, and have not ended."""
    minimum: int
    """How many have to. Those that have Succeeded are taken off."""
    waiting: int
    """How many pods of it have no node yet."""
    held: Requests = NOTHING
    """The requests of its pods that have a node, summed up. Only while it is in pieces."""
    newest: float = 0.0
    """When its newest pod was created, in whole seconds since the epoch."""

    @property
    def is_whole(self) -> bool:
        """Whether it runs as a whole."""
        return self.placed >= self.minimum

    @property
    def is_in_pieces(self) -> bool:
        """Whether a part of it holds room that does not serve."""
        return 0 < self.placed < self.minimum


class Roll(Protocol):
    """What the nodes plane knows."""

    async def wait_synced(self) -> None:
        """Wait until all objects have been listed."""

    def is_trusted(self) -> bool:
        """Whether it is in touch with the API server."""

    def unit_of(self, pod: Pod) -> Unit:
        """What the pod is evicted with."""

    def owner_of(self, uid: str) -> Owner | None:
        """The preemptor for which a scheduler preempts that names this UID, of a pod or a PodGroup of Kubernetes' own
        kind. None if it is not known."""

    def planned_owner(self, spec: PreemptionPlanSpec) -> Owner:
        """The preemptor of a plan."""

    def standing(self, owner: Owner) -> Standing | None:
        """How far it is; None if it is gone."""

    def is_whole(self, owner: Owner) -> bool:
        """Whether it runs as a whole, as `standing` says. No pod is looked at."""

    def usage(self, uid: str) -> Usage | None:
        """What the pod holds, and since when; None if it is gone."""

    def stayed(self, key: OwnerKey, group: str, but: Collection[str]) -> Stayed | None:
        """What is left of the group of this UID without the pods `but` (UIDs); None if the group is gone."""

    def on_pod(self, hook: Callable[[str, Pod | None], object]) -> None:
        """Call `hook` with a pod's UID and each newer state of it; None if it is gone or has ended."""

    def on_preempt_call(self, hook: CallHook) -> None:
        """Call `hook` whenever a scheduler asks preempt about a pod that is left to it."""

    def on_group(self, hook: Callable[[OwnerKey], object]) -> None:
        """Call `hook` whenever a group or one of its members changes."""

"""Evictions in time, and who evicted one object."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import UNSET, UnsetType

from api.plans import Evictor
from web.wire.base import Wire

__all__ = ["EvictedBy", "Eviction", "EvictionPreemptor", "Evictions"]


class EvictionPreemptor(Wire):
    """The preemptor of an eviction."""

    kind: str
    name: str
    """NAMESPACE/NAME."""


class Eviction(Wire):
    """What one plan began to evict in one namespace by one rule."""

    time: str
    """Since when the plan evicts (RFC 3339)."""
    plan: str
    """NAMESPACE/NAME."""
    preemptor: EvictionPreemptor
    namespace: str
    """Of the victims. Empty if the reader may not know it."""
    rule: str
    units: int
    pods: int
    phase: str
    """Of the plan."""
    in_vain: bool | None
    """Whether it served nobody. Null if that is not known yet."""


class Evictions(Wire):
    """The evictions of all stored plans that the reader may list."""

    version: str
    moment: str
    trouble: str
    evictions: list[Eviction]
    """The newest first."""
    oldest_plan: str | None
    """When the oldest plan was made. Earlier evictions are not known."""
    missing: list[str]
    """The rights that would show more."""


class EvictionUnit(Wire):
    """A preemptor, or a victim of it."""

    kind: str
    namespace: str
    name: str
    uid: str
    priority: int


class EvictedByPlan(Wire):
    """A plan that names the object as a victim."""

    plan: str
    """NAMESPACE/NAME."""
    phase: str
    evicting_since: str | None
    """RFC 3339. Null: it has evicted nobody."""
    preemptor: EvictionUnit
    preemptor_ran: bool
    victim: EvictionUnit
    rule: str
    reason: str
    plan_end: str | None
    """What it says of its end."""
    evicted_by: Evictor | None
    """Null unless the preemptor is a gang of kube-scheduler's own kind."""


class SchedulersPreemptor(Wire):
    """The preemptor for which kube-scheduler evicted the pod, as far as its event says so."""

    kind: Literal["Pod", "PodGroup"]
    name: str | None
    """NAMESPACE/NAME."""
    uid: str | None


class ObservedPlan(Wire):
    """An observed plan of that preemptor."""

    plan: str
    """NAMESPACE/NAME."""
    preemptor: str
    """Its kind, and NAMESPACE/NAME."""
    names_it: bool
    """Whether the pod is a victim of the plan, too."""
    instead: dict[str, Any] | None
    """`status.instead` of the plan."""


class EvictedByScheduler(Wire):
    """What kube-scheduler says of a pod that it evicted."""

    uid: str
    preemptor: SchedulersPreemptor
    time: str | None
    """RFC 3339."""
    message: str
    plan: str | None
    """NAMESPACE/NAME of the plan by which it evicted meanwhile."""
    observed: ObservedPlan | None


class EvictedBy(Wire):
    """Who evicted an object: what `reprieve who-evicted -o json` prints."""

    name: str
    """NAMESPACE/NAME of who was asked for."""
    evictions: list[EvictedByPlan]
    """The plans that name it as a victim, the oldest first."""
    by_scheduler: list[EvictedByScheduler]
    """What kube-scheduler evicted without such a plan."""
    oldest_plan: str | None
    missing: list[str] | UnsetType = UNSET
    """The rights that would show more, if some are missing."""

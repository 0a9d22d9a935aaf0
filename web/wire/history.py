"""Evictions in time, and who evicted one object."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

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


class EvictedBy(Wire):
    """Who evicted an object: what `reprieve who-evicted -o json` prints."""

    name: str
    """NAMESPACE/NAME of who was asked for."""
    evictions: list[dict[str, Any]]
    """The plans that name it as a victim, the oldest first."""
    by_scheduler: list[dict[str, Any]]
    """What kube-scheduler evicted without such a plan."""
    oldest_plan: str | None
    missing: list[str] | UnsetType = UNSET
    """The rights that would show more, if some are missing."""

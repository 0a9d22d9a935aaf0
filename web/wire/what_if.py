"""What would happen, and what would be planned: what `reprieve what-if` and `reprieve plan` print with `-o json`."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, UnsetType

from web.wire.base import Wire
from web.wire.decisions import Decision
from web.wire.why import Answer

__all__ = ["Consequence", "PlanFor", "PlanMetadata", "Step", "WhatIf"]


class Consequence(Wire):
    """What becomes of a unit that is evicted."""

    unit: str
    fits: bool | None
    """Whether it gets nodes again; null if that is not known."""
    sentence: str
    would_evict: list[str]


class Step(Wire):
    """What becomes of an object that is submitted."""

    kind: str
    name: str
    outcome: str
    sentence: str
    pods: int
    running: int
    """How many of its pods get nodes."""
    not_modelled: list[str]
    quota: Answer | None
    evicted: list[str]
    consequences: list[Consequence]
    quota_consequences: list[Answer]
    plan: Decision | None
    """The decision about nodes, as the spec of a PreemptionPlan."""


class WhatIf(Wire):
    """What would happen, one object after the other."""

    steps: list[Step]
    missing: list[str] | UnsetType = UNSET
    """The rights that would show more, if there are any."""


class PlanMetadata(Wire):
    """The name of a plan."""

    name: str
    namespace: str


class PlanFor(Wire):
    """A PreemptionPlan that nobody has stored."""

    api_version: str
    kind: str
    metadata: PlanMetadata
    spec: Decision
    status: dict[str, Any] | UnsetType = UNSET
    """Only of a plan that is Blocked."""
    missing: list[str] | UnsetType = UNSET
    """The rights that would show more, if there are any."""

"""Stored plans: the list, and one of them."""

from __future__ import annotations

from typing import Any, Literal

from answers.stored.phases import Standing
from answers.stored.rows import Plane
from web.wire.base import Wire
from web.wire.decisions import Decision, Turn

__all__ = [
    "Instead",
    "PhaseOfPlan",
    "PlanAnswer",
    "PlanPreemptor",
    "PlanRow",
    "PlanVictim",
    "PlannedNode",
    "Plans",
    "Stay",
    "StayingUnit",
]


class PlanPreemptor(Wire):
    """The preemptor of a plan."""

    kind: str
    namespace: str
    name: str
    priority: int


class PlanRow(Wire):
    """A stored plan in one row."""

    kind: Literal["PreemptionPlan", "DispatchPlan"]
    namespace: str
    name: str
    plane: Plane
    preemptor: PlanPreemptor
    outcome: str
    standing: Standing
    """By Observed and Proposed, nobody is evicted."""
    phase: str
    sentence: str
    evicted_by: str
    """Scheduler or Reprieve, for a gang of kube-scheduler's own kind."""
    victim_units: int | None
    victim_pods: int | None
    cluster: str
    """Whose turn it is, of a DispatchPlan."""
    decided: str
    """RFC 3339."""
    since: str
    """Since when it is in its phase."""
    end: str
    """What it says of its end."""
    in_vain: bool | None
    """Whether what it evicted served nobody. Null if that is not known, and if it evicted nobody."""


class Plans(Wire):
    """All stored plans that the reader may list."""

    version: str
    moment: str
    """RFC 3339."""
    trouble: str
    """Why this may be old. Empty if it is not."""
    plans: list[PlanRow]
    """What goes on first, and then the newest first."""
    oldest_plan: str | None
    """When the oldest of them was made."""
    missing: list[str]
    """The rights that would show more."""


class PhaseOfPlan(Wire):
    """A phase that a plan has come to."""

    name: str
    time: str
    reason: str
    message: str
    is_last: bool


class PlanVictim(Wire):
    """A unit that a plan names as a victim."""

    kind: str
    namespace: str
    """Empty, as the name is, if the reader may not know it."""
    name: str
    priority: int | None
    pods: int
    nodes: list[str]
    violates_pod_disruption_budget: bool
    rule: str | None
    """The rule of quota by which it goes."""
    cluster_queue: str | None


class StayingUnit(Wire):
    """A unit that stays."""

    kind: str
    name: str
    priority: int
    pods: int
    why: str


class Stay(Wire):
    """Who stays in the domain of a plan."""

    units: list[StayingUnit]
    others: bool
    """Whether more stay, which the reader may not know."""


class PlannedNode(Wire):
    """A node that a plan names: pods as NAMESPACE/NAME."""

    name: str
    leaving: list[str]
    coming: list[str]
    staying: list[str] | None
    """Null if that is not known (any longer)."""
    others_stay: bool


class Instead(Wire):
    """What a scheduler did instead of an observed plan."""

    sentences: list[str]
    numbers: dict[str, Any]
    """`status.instead` of the PreemptionPlan."""


class PlanAnswer(Wire):
    """All that is known of one stored plan."""

    version: str
    moment: str
    trouble: str
    plan: PlanRow
    phases: list[PhaseOfPlan]
    confirmed: str
    """Who says, besides the search, that the preemptor fits."""
    evictor: str
    """Who evicts, and why, for a gang of kube-scheduler's own kind."""
    decision: Decision | None
    """The fields of the spec that say why it is this decision. Null of a DispatchPlan."""
    victims: list[PlanVictim]
    staying: Stay | None
    """Null if it is not known (any longer)."""
    nodes: list[PlannedNode]
    """The nodes that the plan names, before and after."""
    instead: Instead | None
    turns: list[Turn]
    """Of the same Workload."""
    notes: list[str]
    missing: list[str]

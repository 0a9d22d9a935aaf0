"""Why an object waits: the form in which both engines answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = ["Place", "PodCount", "Source", "Wait"]

Source = Literal["Status", "Plan", "Engine"]
"""Who says why: the status of the object, a stored PreemptionPlan, or the engine, which was asked now."""


@dataclass(frozen=True, slots=True)
class Place:
    """One domain, or one flavor, and why it does not take what waits."""

    name: str
    outcome: str
    reason: str


@dataclass(frozen=True, slots=True)
class PodCount:
    """How many pods of a pod set get quota."""

    name: str
    count: int
    asked: int
    """How many it asks for. It gets fewer in a partial admission."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {"name": self.name, "count": self.count, "askedCount": self.asked}


@dataclass(frozen=True, slots=True)
class Wait:
    """Where an object stands, and what would have to change if it waits."""

    kind: str
    """Pod, PodGroup, Job or Workload; a group of another kind is a PodGroup."""
    name: str
    """NAMESPACE/NAME."""
    waits: bool
    state: str
    """One word, in CamelCase."""
    sentence: str
    source: Source = "Status"
    since: str = ""
    """Since when (RFC 3339); empty if it is not known."""
    numbers: Mapping[str, int | str] = field(default_factory=dict)
    """What is counted, by a name in camelCase."""
    missing: tuple[str, ...] = ()
    """Why pods that it needs do not exist."""
    places: tuple[Place, ...] = ()
    waits_for: tuple[str, ...] = ()
    """Whom it waits for."""
    would_help: tuple[str, ...] = ()
    """What would have to change."""
    stays: tuple[str, ...] = ()
    """Who could have gone for it, and why they stay."""
    notes: tuple[str, ...] = ()
    """What else its owner should know."""
    tried_again: str = ""
    """When it is tried again."""
    pod_sets: tuple[PodCount, ...] = ()
    """The pods for which a Workload has quota, or gets it; empty if it gets none."""
    not_modelled: tuple[str, ...] = ()
    """What is not modelled and could make the answer another one."""
    plan: str = ""
    """NAMESPACE/NAME of the stored PreemptionPlan that is about it, or of the DispatchPlan of the last turn."""
    decision: Mapping[str, Any] | None = None
    """What the engine has decided, for programs; None if it was not asked."""
    depends: tuple[Wait, ...] = ()
    """What other objects say that it depends on: its group, its Workload, a pod of it."""

    def plain(self) -> dict[str, Any]:
        """For programs: every field, under names that scripts can rely on."""
        return {
            "kind": self.kind,
            "name": self.name,
            "waits": self.waits,
            "state": self.state,
            "sentence": self.sentence,
            "source": self.source,
            "since": self.since,
            "numbers": dict(self.numbers),
            "missing": list(self.missing),
            "places": [
                {"name": each.name, "outcome": each.outcome, "reason": each.reason} for each in self.places
            ],
            "waitsFor": list(self.waits_for),
            "wouldHelp": list(self.would_help),
            "stays": list(self.stays),
            "notes": list(self.notes),
            "triedAgain": self.tried_again,
            "podSets": [each.plain() for each in self.pod_sets],
            "notModelled": list(self.not_modelled),
            "plan": self.plan,
            "decision": None if self.decision is None else dict(self.decision),
            "depends": [each.plain() for each in self.depends],
        }

"""Which plans evicted a pod, a PodGroup or a Workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from answers.reading.documents import Kind, Reader
from api.compression import expand
from api.groups import API_VERSION
from api.plan_names import whole_plan_name
from api.plans import (
    ClusterPreemptionPlan,
    PreemptionPlan,
    PreemptionPlanSpec,
    Preemptor,
    Victim,
)

__all__ = ["Eviction", "Plans"]

RAN: Final = frozenset({"Bound", "QuotaReserved"})
"""Phases in which the preemptor has what others left for."""


@dataclass(frozen=True, slots=True)
class Eviction:
    """A plan that has somebody as a victim."""

    plan: str
    """NAMESPACE/NAME of the PreemptionPlan."""
    spec: PreemptionPlanSpec
    victim: Victim
    phase: str
    """Of the plan; empty if it has none yet."""
    begun: str
    """Since when the plan evicts (RFC 3339); empty if it has evicted nobody."""
    why_over: str
    """What the plan says of its end; empty while it goes on, and if the preemptor ran."""

    @property
    def ran(self) -> bool:
        """Whether the preemptor got the room."""
        return self.phase in RAN

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "plan": self.plan,
            "phase": self.phase,
            "evictingSince": self.begun or None,
            "preemptor": _named(self.spec.preemptor),
            "preemptorRan": self.ran,
            "victim": _named(self.victim),
            "rule": self.rule,
            "reason": self.spec.reason,
            "planEnd": self.why_over or None,
        }

    @property
    def rule(self) -> str:
        """By which rule: of quota, or that of nodes."""
        if self.victim.quota:
            return self.victim.quota.reason
        return "Priority" if self.spec.outcome == "Preempts" else self.spec.outcome


class Plans(Reader):
    """PreemptionPlans, and those that name what they withhold."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        (API_VERSION, "PreemptionPlan"): Kind(PreemptionPlan, True),
        (API_VERSION, "ClusterPreemptionPlan"): Kind(ClusterPreemptionPlan, False),
    }
    matter: ClassVar[str] = "evictions"

    def __init__(self) -> None:
        super().__init__()
        self._plans: list[PreemptionPlan] = []
        self._whole: dict[str, PreemptionPlanSpec] = {}

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`. Raises ValueError for damaged compressed victims."""
        spec = expand(thing.spec)
        if isinstance(thing, ClusterPreemptionPlan):
            self._whole[thing.metadata.name] = spec
        else:
            thing.spec = spec
            self._plans.append(thing)

    @property
    def oldest(self) -> str:
        """When the oldest plan was made (RFC 3339); empty if there is no plan."""
        return min((each.metadata.creation_timestamp or "" for each in self._plans), default="")

    def evictions(self, namespace: str, name: str) -> list[Eviction]:
        """The plans with a victim of this name, or with a pod of it, the oldest first."""
        found = [
            _eviction(plan, spec, victim)
            for plan in self._plans
            for spec in [self._spec(plan)]
            for victim in spec.victims
            if _is(victim, namespace, name)
        ]
        return sorted(found, key=lambda each: (each.begun, each.plan))

    def _spec(self, plan: PreemptionPlan) -> PreemptionPlanSpec:
        """With the names that the plan's namespace may not read, if they were read."""
        return self._whole.get(whole_plan_name(plan.metadata.namespace, plan.metadata.name), plan.spec)


def _is(victim: Victim, namespace: str, name: str) -> bool:
    named = [(victim.namespace, victim.name), *((pod.namespace, pod.name) for pod in victim.pods)]
    return (namespace, name) in named


def _eviction(plan: PreemptionPlan, spec: PreemptionPlanSpec, victim: Victim) -> Eviction:
    status = plan.status
    phase = (status.phase if status is not None else None) or ""
    conditions = {each.type: each for each in (status.conditions if status is not None else None) or ()}
    evicting, end = conditions.get("Evicting"), conditions.get(phase)
    return Eviction(
        plan=f"{plan.metadata.namespace}/{plan.metadata.name}",
        spec=spec,
        victim=victim,
        phase=phase,
        begun=(evicting.last_transition_time or "")
        if evicting is not None and evicting.status == "True"
        else "",
        why_over=f"{end.reason}: {end.message}"
        if end is not None and phase not in RAN | {"Evicting", "Planned"}
        else "",
    )


def _named(unit: Preemptor | Victim) -> dict[str, Any]:
    return {
        "kind": unit.kind,
        "namespace": unit.namespace,
        "name": unit.name,
        "uid": unit.uid,
        "priority": unit.priority,
    }

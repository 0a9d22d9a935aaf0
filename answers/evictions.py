"""Which plans evicted a pod, a PodGroup or a Workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import UNSET

from answers.instead import Observed, observed_for
from answers.scheduler_marks import Mark
from api.plans import PreemptionPlan, PreemptionPlanSpec, Preemptor, Victim
from api.stored_plans import is_observed, is_proposal

__all__ = ["Eviction", "Evictions", "Preempted", "evictions", "rule_of"]

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
            "evictedBy": self.evicted_by or None,
        }

    @property
    def evicted_by(self) -> str:
        """Scheduler or Reprieve, for a gang of kube-scheduler's own kind; empty for other preemptors."""
        return self.spec.evicted_by if self.spec.evicted_by is not UNSET else ""

    @property
    def rule(self) -> str:
        """See `rule_of`."""
        return rule_of(self.spec, self.victim)


@dataclass(frozen=True, slots=True)
class Preempted:
    """What kube-scheduler evicted and no plan that acts names as a victim."""

    mark: Mark
    plan: str
    """NAMESPACE/NAME of the plan by which it evicted meanwhile (`status.unplanned`), else empty."""
    observed: Observed | None
    """The observed plan of the same preemptor."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        observed = self.observed.plain() if self.observed is not None else None
        return {**self.mark.plain(self.plan), "observed": observed}


@dataclass(frozen=True, slots=True)
class Evictions:
    """The answer."""

    name: str
    """NAMESPACE/NAME of who was asked for."""
    found: tuple[Eviction, ...]
    """The oldest first."""
    oldest: str
    """When the oldest plan was made that was read (RFC 3339); empty if there is no plan."""
    by_scheduler: tuple[Preempted, ...] = ()

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "name": self.name,
            "evictions": [each.plain() for each in self.found],
            "byScheduler": [each.plain() for each in self.by_scheduler],
            "oldestPlan": self.oldest or None,
        }


def rule_of(spec: PreemptionPlanSpec, victim: Victim) -> str:
    """By which rule the victim goes: of quota, or that of nodes."""
    if victim.quota:
        return victim.quota.reason
    return "Priority" if spec.outcome == "Preempts" else spec.outcome


def evictions(
    plans: Sequence[PreemptionPlan], namespace: str, name: str, marks: Sequence[Mark] = ()
) -> Evictions:
    """The plans with a victim of this name, or with a pod of it. `plans`: with all names, and expanded. `marks`: what
    kube-scheduler says of pods of this name.

    Plans that are only proposed or observed evict nobody. Observed ones stand beside what kube-scheduler evicted.
    """
    observed = [each for each in plans if is_observed(each)]
    plans = [each for each in plans if not (is_proposal(each) or is_observed(each))]
    found = [
        _eviction(plan, victim)
        for plan in plans
        for victim in plan.spec.victims
        if _is(victim, namespace, name)
    ]
    return Evictions(
        name=f"{namespace}/{name}",
        found=tuple(sorted(found, key=lambda each: (each.begun, each.plan))),
        oldest=min((each.metadata.creation_timestamp or "" for each in plans), default=""),
        by_scheduler=_by_scheduler(plans, observed, marks),
    )


def _by_scheduler(
    plans: Sequence[PreemptionPlan], observed: Sequence[PreemptionPlan], marks: Sequence[Mark]
) -> tuple[Preempted, ...]:
    victims = {uid for plan in plans for each in plan.spec.victims for uid in _uids(each)}
    unplanned = {
        uid: f"{plan.metadata.namespace}/{plan.metadata.name}"
        for plan in plans
        for uid in (plan.status.unplanned if plan.status is not None else None) or ()
    }
    return tuple(
        Preempted(mark, unplanned.get(mark.uid, ""), observed_for(observed, mark))
        for mark in marks
        if mark.uid not in victims
    )


def _uids(victim: Victim) -> list[str]:
    return [victim.uid, *(pod.uid for pod in victim.pods)]


def _is(victim: Victim, namespace: str, name: str) -> bool:
    named = [(victim.namespace, victim.name), *((pod.namespace, pod.name) for pod in victim.pods)]
    return (namespace, name) in named


def _eviction(plan: PreemptionPlan, victim: Victim) -> Eviction:
    status = plan.status
    phase = (status.phase if status is not None else None) or ""
    conditions = {each.type: each for each in (status.conditions if status is not None else None) or ()}
    evicting, end = conditions.get("Evicting"), conditions.get(phase)
    return Eviction(
        plan=f"{plan.metadata.namespace}/{plan.metadata.name}",
        spec=plan.spec,
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

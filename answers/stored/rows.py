"""A stored plan in one row: for whom it is, what it does, how far it is, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from msgspec import UNSET

from answers.stored.phases import (
    GOT_IT,
    Standing,
    conditions_of,
    evicted_in_vain,
    standing_of,
)
from api.dispatch import DispatchPlan
from api.plans import PreemptionPlan
from api.stored_plans import phase_of
from api.words import counted
from nodes.groups.keys import short_name

__all__ = ["Plane", "Row", "row_of", "turn_row"]

Plane = Literal["Nodes", "Quota", "Clusters"]


@dataclass(frozen=True, slots=True)
class Row:
    """One plan."""

    kind: Literal["PreemptionPlan", "DispatchPlan"]
    namespace: str
    name: str
    plane: Plane
    """What it plans: room on nodes, quota, or a turn of a worker cluster to preempt."""
    preemptor_kind: str
    preemptor: str
    """Its name. It is of the same namespace. A group of another kind has its kind before its name."""
    priority: int
    outcome: str
    """Of the decision; empty of a turn."""
    standing: Standing
    phase: str
    sentence: str
    evicted_by: str
    """Scheduler or Reprieve, for a gang of kube-scheduler's own kind; empty for other preemptors."""
    units: int | None
    """How many victims it has; None of a turn."""
    pods: int | None
    """How many pods these have; None if that is not known."""
    cluster: str
    """Of a turn."""
    decided: str
    """When it was made (RFC 3339)."""
    since: str
    """Since when it is in its phase (RFC 3339); empty if that is not known."""
    end: str
    """What it says of its end; empty while it goes on."""
    in_vain: bool | None
    """Whether what it evicted served nobody; None if it is not known, or it evicted nobody."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "plane": self.plane,
            "preemptor": {
                "kind": self.preemptor_kind,
                "namespace": self.namespace,
                "name": self.preemptor,
                "priority": self.priority,
            },
            "outcome": self.outcome,
            "standing": self.standing,
            "phase": self.phase,
            "sentence": self.sentence,
            "evictedBy": self.evicted_by,
            "victimUnits": self.units,
            "victimPods": self.pods,
            "cluster": self.cluster,
            "decided": self.decided,
            "since": self.since,
            "end": self.end,
            "inVain": self.in_vain,
        }


def row_of(plan: PreemptionPlan) -> Row:
    """The row of a PreemptionPlan, which needs no long lists."""
    spec, meta, phase = plan.spec, plan.metadata, phase_of(plan)
    standing, said = standing_of(plan), conditions_of(plan)
    created = meta.creation_timestamp or ""
    of_phase = said.get(phase)
    return Row(
        kind="PreemptionPlan",
        namespace=meta.namespace,
        name=meta.name,
        plane="Quota" if spec.preemptor.kind == "Workload" else "Nodes",
        preemptor_kind=spec.preemptor.kind,
        preemptor=short_name(spec.preemptor.name),
        priority=spec.preemptor.priority,
        outcome=spec.outcome,
        standing=standing,
        phase=phase or "Planned",
        sentence=_sentence(plan),
        evicted_by=spec.evicted_by if spec.evicted_by is not UNSET else "",
        units=spec.victim_units if spec.victim_units is not UNSET else len(spec.victims),
        pods=spec.victim_pods if spec.victim_pods is not UNSET else None,
        cluster="",
        decided=created,
        since=(of_phase.last_transition_time if of_phase is not None else "")
        or (created if phase in ("", "Planned", "Observed", "Proposed") else ""),
        end=_end(plan),
        in_vain=evicted_in_vain(plan),
    )


def turn_row(plan: DispatchPlan) -> Row:
    """The row of a turn of a worker cluster."""
    spec, status = plan.spec, plan.status
    is_open = status is None or status.phase == "Open"
    ended = status.ended if status is not None and status.ended is not UNSET else ""
    does = "may preempt" if is_open else "could preempt"
    return Row(
        kind="DispatchPlan",
        namespace=plan.metadata.namespace,
        name=plan.metadata.name,
        plane="Clusters",
        preemptor_kind="Workload",
        preemptor=spec.workload.name,
        priority=spec.workload.priority,
        outcome="",
        standing="GoesOn" if is_open else "Over",
        phase=status.phase if status is not None else "Open",
        sentence=f"Turn {spec.number}: cluster {spec.cluster} {does} for it. {spec.reason}",
        evicted_by="",
        units=None,
        pods=None,
        cluster=spec.cluster,
        decided=spec.began,
        since=ended or spec.began,
        end=status.reason if status is not None and not is_open else "",
        in_vain=None,
    )


def _end(plan: PreemptionPlan) -> str:
    """As `answers.evictions` says it."""
    if standing_of(plan) != "Over":
        return ""
    said = conditions_of(plan).get(phase_of(plan))
    if said is None:
        return ""
    if said.reason in ("", said.type):
        return said.message
    return f"{said.reason}: {said.message}"


def _sentence(plan: PreemptionPlan) -> str:
    """What it does to others, in the tense of its standing."""
    spec, phase = plan.spec, phase_of(plan)
    standing = standing_of(plan)
    if not (spec.victim_units if spec.victim_units is not UNSET else len(spec.victims)):
        return _harmless(plan)
    who, it = _victims(plan), "kube-scheduler" if spec.evicted_by == "Scheduler" else "It"
    if standing == "Observed":
        return f"With planning.mode Enforce, it would evict {who}."
    if standing == "Proposed":
        return f"It would take quota back from {who}. A preemption gate is closed, so all of them stay."
    begun = "Evicting" in conditions_of(plan)
    if standing == "GoesOn":
        return f"{it} {'evicts' if begun else 'is to evict'} {who}."
    if not begun:
        return f"It was to evict {who}, and has evicted nobody."
    if phase in GOT_IT:
        return f"For it, {who} were evicted." if _is_many(plan) else f"For it, {who} was evicted."
    return f"It began to evict {who}, and its preemptor did not get the room by it."


def _harmless(plan: PreemptionPlan) -> str:
    """About a plan without victims."""
    reason = f"{plan.spec.reason[:1].upper()}{plan.spec.reason[1:]}"
    return f"{reason}. It evicts nobody." if reason else "It evicts nobody."


def _is_many(plan: PreemptionPlan) -> bool:
    units = plan.spec.victim_units
    return (len(plan.spec.victims) if units is UNSET else units) != 1


def _victims(plan: PreemptionPlan) -> str:
    """Such as `2 units with 4 pods`."""
    spec = plan.spec
    units = len(spec.victims) if spec.victim_units is UNSET else spec.victim_units
    if spec.preemptor.kind == "Workload":
        return counted(units, "Workload")
    pods = sum(len(each.pods) for each in spec.victims) if spec.victim_pods is UNSET else spec.victim_pods
    return f"{counted(units, 'unit')} with {counted(pods, 'pod')}"

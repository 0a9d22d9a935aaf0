"""All that is known of one stored plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET

from answers.errors import InputError
from answers.instead import sentences
from answers.names import Names
from answers.picture import Picture
from answers.stored.nodes import PlannedNode, nodes_of
from answers.stored.phases import Phase, confirmed_by, phases_of
from answers.stored.rows import Row, row_of, turn_row
from answers.stored.staying import Staying, staying
from answers.stored_plans import NO_PLANS, StoredPlans, counted_victims
from answers.withholding import Reader
from api.dispatch import DispatchPlan
from api.plans import PreemptionPlan, PreemptionPlanSpec, Victim
from api.words import counted
from nodes.groups.keys import short_name

__all__ = ["PlanAnswer", "about"]

COMPARED: Final = (
    "outcome",
    "reason",
    "domain",
    "priorityCutoff",
    "search",
    "cost",
    "domains",
    "otherDomains",
    "podDisruptionBudgetViolations",
    "podDisruptionBudgetPolicy",
    "stoppedByPodDisruptionBudgets",
    "notModelled",
    "excluded",
    "otherExcluded",
    "mismatch",
    "evictorReason",
)
"""The fields of the decision that say why it is this one. Victims and placements stand beside them."""
STEERED: Final = {
    "Scheduler": "kube-scheduler evicts, on the nodes that the plan names ({}).",
    "Reprieve": "reprieve evicts ({}).",
}


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The answer."""

    row: Row
    phases: Sequence[Phase]
    confirmed: str
    """Who says, besides the search, that the preemptor fits; empty if nobody is asked."""
    evictor: str
    """Who evicts, and why, for a gang of kube-scheduler's own kind; else empty."""
    decision: Mapping[str, Any] | None
    """Why it is this decision; None of a turn of a worker cluster."""
    victims: Sequence[Mapping[str, Any]]
    staying: Staying | None
    """Who stays; None if it is not known (any longer)."""
    nodes: Sequence[PlannedNode]
    instead: Mapping[str, Any] | None
    """What a scheduler did instead of an observed plan: sentences and numbers; None if the plan does not say it."""
    turns: Sequence[Mapping[str, Any]]
    """The turns of worker clusters for the same Workload, in their order."""
    notes: Sequence[str]
    missing: Sequence[str]
    """Rights that would show more."""

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "plan": self.row.plain(),
            "phases": [each.plain() for each in self.phases],
            "confirmed": self.confirmed,
            "evictor": self.evictor,
            "decision": self.decision,
            "victims": list(self.victims),
            "staying": self.staying.plain() if self.staying is not None else None,
            "nodes": [each.plain() for each in self.nodes],
            "instead": self.instead,
            "turns": list(self.turns),
            "notes": list(self.notes),
            "missing": list(self.missing),
        }


def about(
    picture: Picture, stored: Mapping[str, StoredPlans], namespace: str, name: str, names: Names
) -> PlanAnswer:
    """The answer for the plan of this name: a PreemptionPlan, or else a DispatchPlan.

    `names`: what the reader may list. Raises InputError if there is none that the reader may see.
    """
    reader = Reader(names)
    if reader.lists("preemptionplans", namespace):
        found = stored.get(namespace, NO_PLANS).find(name)
        if found is not None:
            return _about_plan(picture, found.whole(), reader)
    if reader.lists("dispatchplans", namespace):
        for turn in picture.worker_clusters.plans:
            if (turn.metadata.namespace, turn.metadata.name) == (namespace, name):
                return _about_turn(picture, turn, reader)
    raise InputError(f"there is no PreemptionPlan {namespace}/{name}, and no DispatchPlan of that name")


def _about_plan(picture: Picture, plan: PreemptionPlan, reader: Reader) -> PlanAnswer:
    plan = msgspec.structs.replace(plan, spec=counted_victims(plan.spec))
    spec = reader.decision(plan.spec)
    stay = staying(picture, plan, spec, reader)
    said = sentences(plan)
    status = plan.status
    its = _turns_of(picture, plan.metadata.namespace, spec.preemptor.uid, reader)
    return PlanAnswer(
        row=row_of(plan),
        phases=phases_of(plan),
        confirmed=confirmed_by(plan),
        evictor=_evictor(spec),
        decision=_decision(spec),
        victims=[_victim(each) for each in spec.victims],
        staying=stay,
        nodes=nodes_of(spec, stay.by_node if stay is not None else None),
        instead={"sentences": said, "numbers": msgspec.to_builtins(status.instead)}
        if said and status is not None
        else None,
        turns=[_turn(each) for each in its],
        notes=[*_notes(plan), *reader.notes()],
        missing=reader.missing,
    )


def _about_turn(picture: Picture, turn: DispatchPlan, reader: Reader) -> PlanAnswer:
    spec = turn.spec
    its = _turns_of(picture, turn.metadata.namespace, spec.workload.uid, reader)
    row = turn_row(turn)
    phases = [Phase("Open", spec.began, "", spec.reason, row.phase == "Open")]
    if row.phase != "Open":
        phases.append(Phase(row.phase, row.since, "", row.end, True))
    return PlanAnswer(
        row=row,
        phases=phases,
        confirmed="",
        evictor="",
        decision=None,
        victims=(),
        staying=None,
        nodes=(),
        instead=None,
        turns=[_turn(each) for each in its if each.spec.workload.attempt == spec.workload.attempt],
        notes=reader.notes(),
        missing=reader.missing,
    )


def _evictor(spec: PreemptionPlanSpec) -> str:
    if spec.evicted_by is UNSET:
        return ""
    return STEERED[spec.evicted_by].format(spec.evictor_reason or "")


def _decision(spec: PreemptionPlanSpec) -> dict[str, Any]:
    """A budget that the reader may not know has no name, and is left out."""
    plain = msgspec.to_builtins(spec)
    found = {name: plain[name] for name in COMPARED if name in plain}
    budgets = found.get("stoppedByPodDisruptionBudgets")
    if budgets is not None:
        found["stoppedByPodDisruptionBudgets"] = [each for each in budgets if each["name"]]
    return found


def _victim(victim: Victim) -> dict[str, Any]:
    """One that the reader may not know has no UID, and so no priority and no nodes either."""
    is_known = bool(victim.uid)
    quota = victim.quota if victim.quota is not UNSET else None
    return {
        "kind": victim.kind,
        "namespace": victim.namespace,
        "name": short_name(victim.name),
        "priority": victim.priority if is_known else None,
        "pods": len(victim.pods),
        "nodes": sorted({pod.node for pod in victim.pods if pod.node}) if is_known else [],
        "violatesPodDisruptionBudget": victim.violates_pod_disruption_budget,
        "rule": quota.reason if quota is not None else None,
        "clusterQueue": quota.cluster_queue if quota is not None else None,
    }


def _notes(plan: PreemptionPlan) -> list[str]:
    """What else the status says."""
    status, found = plan.status, list[str]()
    if status is None:
        return found
    if status.next_attempt:
        known = "at the latest" if status.next_attempt_known else "at the latest, and perhaps much sooner"
        found.append(f"kube-scheduler tries the preemptor again at {status.next_attempt} {known}.")
    if status.unplanned:
        more = counted(len(status.unplanned), "pod")
        found.append(
            f"While kube-scheduler evicted by the plan, it evicted {more} that the plan does not name."
        )
    if status.taken_nodes:
        found.append(f"Others took the room that was made on {', '.join(status.taken_nodes)}.")
    return found


# ---- turns of worker clusters


def _turns_of(picture: Picture, namespace: str, uid: str, reader: Reader) -> list[DispatchPlan]:
    its = [
        each
        for each in picture.worker_clusters.plans
        if each.metadata.namespace == namespace and each.spec.workload.uid == uid
    ]
    if not its or not reader.lists("dispatchplans", namespace):
        return []
    return sorted(its, key=lambda each: (each.spec.workload.attempt, each.spec.number))


def _turn(turn: DispatchPlan) -> dict[str, Any]:
    """As the decision of `answers.dispatched` has it."""
    return {
        "plan": turn.metadata.name,
        "spec": msgspec.to_builtins(turn.spec),
        "status": msgspec.to_builtins(turn.status) if turn.status is not None else None,
    }

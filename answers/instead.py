"""What observed plans say of what a scheduler did instead: for one preemptor, and for one pod that was preempted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from answers.scheduler_marks import Mark
from api.instead import Instead
from api.plans import PreemptionPlan
from api.stored_plans import is_observed
from api.words import counted
from nodes.groups.keys import short_name

__all__ = ["Observed", "observed_for", "observed_of", "sentences"]


@dataclass(frozen=True, slots=True)
class Observed:
    """A plan that is only observed, beside the preemption of a pod."""

    plan: str
    """NAMESPACE/NAME."""
    preemptor: str
    """Kind, and NAMESPACE/NAME."""
    names_it: bool
    """Whether the pod is a victim of the plan, too."""
    sentences: Sequence[str]
    """What the scheduler did instead; empty if the plan does not say it."""
    instead: Instead | None

    def plain(self) -> dict[str, Any]:
        """For programs."""
        return {
            "plan": self.plan,
            "preemptor": self.preemptor,
            "namesIt": self.names_it,
            "instead": msgspec.to_builtins(self.instead),
        }


def observed_of(plans: Iterable[PreemptionPlan], uids: Collection[str]) -> PreemptionPlan | None:
    """The observed plan of a preemptor that says most lately what a scheduler did instead; without such a one the
    newest. `uids`: of the preemptor, or of members."""
    mine = [each for each in plans if is_observed(each) and not _preemptors(each).isdisjoint(uids)]
    return max(mine, key=_lateness, default=None)


def observed_for(plans: Sequence[PreemptionPlan], mark: Mark) -> Observed | None:
    """The observed plan of the preemptor that the scheduler names."""
    plan = observed_of(plans, [mark.preemptor_uid] if mark.preemptor_uid else [])
    return _observed(plan, mark.uid) if plan is not None else None


def sentences(plan: PreemptionPlan) -> list[str]:
    """What the scheduler did instead of this plan. Empty if the plan does not say it."""
    instead = _instead(plan)
    if instead is None:
        return []
    victims = instead.victims.pods
    said = [
        f"The observed plan {plan.metadata.namespace}/{plan.metadata.name} would evict "
        f"{counted(_pods(plan), 'pod')}. The scheduler preempted {counted(victims, 'pod')} instead"
        + (f": {instead.served_nobody} of them served nobody." if victims else ".")
    ]
    if instead.groups_broken:
        said.append(f"The scheduler broke {counted(instead.groups_broken, 'group')}.")
    if instead.in_pieces:
        said.append(f"It was in pieces for {counted(instead.in_pieces_seconds, 'second')}.")
    if instead.bound and instead.seconds_until_bound is not UNSET:
        said.append(f"It was bound after {counted(instead.seconds_until_bound, 'second')}.")
    if instead.unattributed:
        more = counted(instead.unattributed, "pod")
        said.append(f"On its nodes, {more} more were preempted for somebody who is not known.")
    if instead.state == "Changed":
        said.append("Both cannot be compared: the plan was not made on the state before the scheduler began.")
    elif instead.state == "Unknown":
        said.append("Both cannot be compared: not all of what the scheduler did was seen.")
    if not instead.concluded:
        said.append("This may still change.")
    return said


def _observed(plan: PreemptionPlan, pod: str) -> Observed:
    its = plan.spec.preemptor
    return Observed(
        plan=f"{plan.metadata.namespace}/{plan.metadata.name}",
        preemptor=f"{its.kind} {its.namespace}/{short_name(its.name)}",
        names_it=any(each.uid == pod for victim in plan.spec.victims for each in victim.pods),
        sentences=sentences(plan),
        instead=_instead(plan),
    )


def _instead(plan: PreemptionPlan) -> Instead | None:
    return plan.status.instead if plan.status is not None else None


def _preemptors(plan: PreemptionPlan) -> set[str]:
    return {plan.spec.preemptor.uid, *(each.uid for each in plan.spec.placements)}


def _pods(plan: PreemptionPlan) -> int:
    counted_pods = plan.spec.victim_pods
    return sum(len(each.pods) for each in plan.spec.victims) if counted_pods is UNSET else counted_pods


def _lateness(plan: PreemptionPlan) -> tuple[bool, str, str, str]:
    instead = _instead(plan)
    created = plan.metadata.creation_timestamp or ""
    return instead is not None, instead.as_of if instead is not None else "", created, plan.metadata.name

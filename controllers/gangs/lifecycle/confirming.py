"""Delayed preemption (KEP-5710): may a plan evict? The scheduler's word decides, and after a while our model.

Pure functions of a plan that evicts and of what was last seen of it. See docs/decisions/0027.
"""

from __future__ import annotations

from dataclasses import dataclass

from api.words import counted
from controllers.gangs.lifecycle.life import ActivePlan, Contradiction, Ending
from controllers.gangs.lifecycle.plan_seen import PlanSeen
from controllers.gangs.lifecycle.settings import ASK_AGAIN_SECONDS, ASKED_SECONDS, Settings
from controllers.gangs.scheduler.proofs import Doubt, Proof

__all__ = ["Confirmed", "Unknown", "confirm", "contradictions"]


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The plan may evict."""

    by_scheduler: int
    """Members whose node the scheduler has offered."""
    by_model: int
    """Members that the scheduler said nothing about."""
    later: int = 0
    """Those of them that fit only when members of earlier waves run. The scheduler cannot say anything about them."""

    def __str__(self) -> str:
        if not self.by_model:
            return f"the scheduler offers all {self.by_scheduler} members their nodes"
        later = f", {self.later} of them in later waves" if self.later else ""
        shown = f"the scheduler offers {self.by_scheduler} members their nodes"
        return f"{shown}; for {self.by_model} our model counts{later}"


@dataclass(frozen=True, slots=True)
class Unknown:
    """The scheduler has to be asked about these members (UIDs). Nobody: it has tried all of them just before."""

    members: tuple[str, ...]
    asked: float | None = None
    """If there is nobody to ask: when the scheduler tried the last of them, in monotonic seconds."""


def confirm(
    plan: ActivePlan, seen: PlanSeen, now: float, settings: Settings, *, after_vain: bool = False
) -> Confirmed | Unknown | Ending | None:
    """What follows for a plan without contradictions: go on, ask, give up, or (None) wait.

    The model does not count against a refusal that stands: it would evict in vain whenever a node changes a moment
    before the scheduler refuses it.

    A plan with something that is not modelled needs the scheduler's word on every member, whatever the setting.

    A member of a later wave may fit only when members of earlier waves run. Our model counts for it at once, whatever
    the setting, unless the scheduler has refused it for a reason that has nothing to do with other members.

    A member without our gate is tried at least once, whatever is shown of members like it: a scheduler that does not
    run would not place it.

    `after_vain`: the gang has evicted in vain. Then our model counts only for members that the scheduler cannot show.
    """
    insists = settings.confirmation == "Require" or bool(plan.spec.not_modelled)
    silent = tuple(uid for uid in seen.proofs if _is_silent(seen, uid))
    unknown = tuple(uid for uid in silent if not _comes_later(plan, seen, uid))
    confirmed = Confirmed(len(seen.proofs) - len(silent), len(silent), len(silent) - len(unknown))
    if seen.presented and (
        not unknown or (settings.confirmation == "Off" and not after_vain and not insists)
    ):
        return confirmed
    if not plan.asking:
        to_ask = _to_ask(unknown, seen, again=after_vain or insists)
        if to_ask.members or plan.asked is None:
            return to_ask
    if plan.asked is None:
        return None
    stale = _in_doubt(seen, Doubt.STALE)
    if stale and not plan.asked_again:
        return Unknown(stale) if now >= plan.asked + ASK_AGAIN_SECONDS else None
    if now < _patience_ends(plan.asked, unknown, seen, settings):
        return None
    if not seen.presented:
        return Ending("Aborted", "NotAttempted", "no scheduler has tried to schedule a pod of the group")
    refused = _in_doubt(seen, Doubt.STANDS)
    if refused or (unknown and insists):
        return Ending("Aborted", "NotConfirmed", _why_unknown(plan, refused or unknown, seen))
    could_tell = tuple(uid for uid in unknown if not seen.proofs[uid].cannot_tell)
    if after_vain and could_tell:
        return Ending("Aborted", "NotConfirmed", _why_unknown(plan, could_tell, seen))
    return confirmed


def _is_silent(seen: PlanSeen, uid: str) -> bool:
    """Whether the scheduler has not shown that it takes the member."""
    return seen.proofs[uid].proof is Proof.UNKNOWN or _is_passed_over(seen, uid)


def _is_passed_over(seen: PlanSeen, uid: str) -> bool:
    """Whether only a member like it was shown, and the scheduler has not tried this one, although it may."""
    member = seen.proofs[uid]
    return member.by_another and member.attempted is None and uid not in seen.gates


def _to_ask(unknown: tuple[str, ...], seen: PlanSeen, *, again: bool) -> Unknown:
    """Members that the scheduler has tried since their node changed need not come back: they would wake all others.

    `again`: they come back all the same, because only the scheduler's word counts, and it may list other nodes now.
    """
    members = tuple(uid for uid in unknown if again or not seen.proofs[uid].is_current)
    if members or not seen.presented:
        return Unknown(members or tuple(seen.proofs))
    return Unknown((), max(seen.proofs[uid].attempted or 0.0 for uid in unknown))


def _comes_later(plan: ActivePlan, seen: PlanSeen, uid: str) -> bool:
    """Whether the scheduler's silence about an unknown member shows nothing: its wave has not come."""
    if plan.spec.not_modelled or plan.has_turn(plan.members[uid]):
        return False
    return seen.proofs[uid].doubt is None


def _in_doubt(seen: PlanSeen, doubt: Doubt) -> tuple[str, ...]:
    return tuple(uid for uid, member in seen.proofs.items() if member.doubt is doubt)


def _why_unknown(plan: ActivePlan, unknown: tuple[str, ...], seen: PlanSeen) -> str:
    member, others = plan.members[unknown[0]], len(unknown) - 1
    more = f", and nothing about {counted(others, 'other member')}" if others else ""
    shown = (
        "the scheduler has not tried it"
        if _is_passed_over(seen, unknown[0])
        else seen.proofs[unknown[0]].seen
    )
    return f"nothing shows that pod {member.name} fits on {member.node}{more}: {shown}"


def _patience_ends(asked: float, unknown: tuple[str, ...], seen: PlanSeen, settings: Settings) -> float:
    attempts = [seen.proofs[uid].attempted for uid in unknown]
    last = max((attempt for attempt in attempts if attempt is not None), default=asked)
    return min(max(asked, last) + settings.confirmation_seconds, asked + ASKED_SECONDS)


def contradictions(plan: ActivePlan, seen: PlanSeen) -> tuple[Contradiction, ...]:
    """Members that the scheduler does not take on their planned node, though it could have offered it."""
    return tuple(
        Contradiction(uid, plan.members[uid].name, plan.members[uid].node, member.seen)
        for uid, member in seen.proofs.items()
        if member.proof is Proof.CONTRADICTED
    )

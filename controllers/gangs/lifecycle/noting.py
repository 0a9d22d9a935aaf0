"""What a plan only remembers until it is looked at again: offers, refusals, and what the evictor tells.

A pure function, which the reducer calls.
"""

from __future__ import annotations

from dataclasses import replace

from controllers.gangs.lifecycle.life import ActivePlan, Contradiction, Offer
from controllers.gangs.lifecycle.observations import (
    Compared,
    DeletionRefused,
    EvictorStopped,
    Nominated,
    NotOffered,
    Observation,
    Offered,
    PreemptCalled,
    Rehearsed,
)
from controllers.gangs.lifecycle.settings import REWRITE_SECONDS, TURNED_DOWN_SECONDS

__all__ = ["noted"]


def noted(plan: ActivePlan, observation: Observation, now: float) -> ActivePlan:
    """What is only remembered until the plan is looked at again."""
    match observation:
        case Offered(uid, message):
            missed = {each: since for each, since in plan.missed.items() if each != uid}
            offered = plan.offered if uid in plan.offered else {**plan.offered, uid: Offer(now, message)}
            return replace(plan, offered=offered, missed=missed)
        case NotOffered(uid, name):
            since = plan.missed.get(uid)
            if since is None:
                return replace(plan, missed={**plan.missed, uid: now})
            if now - since > TURNED_DOWN_SECONDS:
                return _turned_down(plan, uid, f"the scheduler's own filters keep pod {name} off its node")
            return plan
        case PreemptCalled(uid, name) if uid in plan.offered:
            return _turned_down(plan, uid, f"the scheduler found no room for pod {name} on its node")
        case Nominated(done):
            again = plan.write_again if done else now + REWRITE_SECONDS
            return replace(plan, nominating=False, nominated=plan.nominated or done, write_again=again)
        case Compared(changed):
            return replace(plan, changed=changed)
        case Rehearsed(None):
            return replace(plan, rehearsing=False)
        case Rehearsed(refused, skipped):
            refused = {**plan.refused, **(refused or {})}
            return replace(plan, rehearsing=False, rehearsed=True, refused=refused, skipped_dry_runs=skipped)
        case DeletionRefused(uid, message):
            return replace(plan, refused={**plan.refused, uid: message})
        case EvictorStopped(done, paused):
            since = now if paused and plan.paused_since is None else plan.paused_since
            return replace(plan, evicting=False, evicted=plan.evicted or done, paused_since=since)
        case _:
            return plan


def _turned_down(plan: ActivePlan, uid: str, seen: str) -> ActivePlan:
    member = plan.members.get(uid)
    if member is None:
        return plan
    return replace(plan, turned_down=Contradiction(uid, member.name, member.node, seen))

"""What follows for a gang without a plan from the members that it has.

Pure functions, which the reducer calls.
"""

from __future__ import annotations

from dataclasses import replace

from controllers.gangs.lifecycle.effects import CannotSchedule, Effect, SayAstray, SayScheduled, Wake
from controllers.gangs.lifecycle.judging import after_bound
from controllers.gangs.lifecycle.life import Life
from controllers.gangs.lifecycle.observations import MembersSeen
from controllers.gangs.lifecycle.settings import REGATHER_SECONDS
from nodes.search.preemptors.trying import NotTried

__all__ = ["at_rest", "members_seen"]


def members_seen(life: Life, seen: MembersSeen, now: float) -> tuple[Life, tuple[Effect, ...]]:
    """The gang gathers, is complete, or runs."""
    if life.plan is not None:
        return life, ()
    life, told = _domain_seen(life, seen)
    satisfied = seen.bound >= seen.minimum
    gathering = seen.members < seen.minimum
    until = now + REGATHER_SECONDS if not seen.bound and seen.members < seen.left else 0.0
    complete = not gathering and not satisfied
    if complete and not life.complete:
        life = replace(life, complete_since=now)
    life = replace(life, complete=complete, looked=False, gathering_until=until)
    life = _in_pieces(life, seen, now)
    if satisfied:
        # A gang that does without members that are gone says nothing of the evictions that were for them.
        life, judged = after_bound(life) if seen.bound >= seen.left else (life, ())
        effects = () if life.phase == "Bound" else (SayScheduled(), Wake("Bound", "the pod group runs"))
        return at_rest(replace(life, phase="Bound")), (*judged, *effects, *told)
    if seen.not_tried is not None:
        life, left = _left_alone(life, seen.not_tried)
        return life, (left, *told)
    if gathering:
        return at_rest(replace(life, phase="Gathering")), told
    return (replace(life, phase="Gathering") if life.phase == "Bound" else life), told


def _left_alone(life: Life, why: NotTried) -> tuple[Life, CannotSchedule]:
    """Nothing is planned for a gang that no scheduler tries. A change of the gang or a member ends that."""
    repeated = (life.phase, life.reason, life.message) == why
    life = replace(at_rest(life), phase=why.phase, reason=why.reason, message=why.message, complete=False)
    return life, CannotSchedule(*why, repeated)


def _in_pieces(life: Life, seen: MembersSeen, now: float) -> Life:
    """A gang that never ran whole should not stay bound in part."""
    has_run = life.has_run or seen.has_run or seen.bound >= seen.minimum
    if has_run or not seen.bound:
        return replace(life, has_run=has_run, partial_since=None, kept="")
    return replace(life, partial_since=now if life.partial_since is None else life.partial_since)


def _domain_seen(life: Life, seen: MembersSeen) -> tuple[Life, tuple[Effect, ...]]:
    """Say which members are outside of the gang's domain. Members that were kept in a former domain may go on."""
    effects: tuple[Effect, ...] = ()
    if life.domain and seen.domain != life.domain:
        effects = (Wake("DomainChanged", "the pod group does not run in its former domain any longer"),)
    if seen.astray and seen.astray != life.astray:
        effects = (*effects, SayAstray(seen.astray))
    return replace(life, domain=seen.domain, astray=seen.astray), effects


def at_rest(life: Life) -> Life:
    """Nothing is wanted. What went wrong before says nothing about the next plan."""
    life = replace(life, looked=False, failures=0, replans=0, due=0.0, untried_until=None, placed=False)
    return replace(life, reason="", message="", probing=None)

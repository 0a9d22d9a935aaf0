"""What decides: what was learned from earlier plans, whose turn it is, and the planner that asks all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from api.backoff import Backoff
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.following import Following
from controllers.gangs.gangs import Gangs
from controllers.gangs.keys import GroupKey
from controllers.gangs.known import Known
from controllers.gangs.lifecycle.settings import PiecesRule
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.looking.look import Looks
from controllers.gangs.performing import Performer
from controllers.gangs.plan_acts import PlanActs
from controllers.gangs.planner import Planner
from controllers.gangs.planning.arrivals import Arrivals
from controllers.gangs.planning.candidates import Candidates
from controllers.gangs.planning.decide import Decider
from controllers.gangs.planning.exclusions import Exclusions
from controllers.gangs.planning.lessons import Lessons
from controllers.gangs.planning.lone_preemptors import LonePreemptors
from controllers.gangs.planning.outcomes import Outcomes
from controllers.gangs.planning.partial_gangs import PartialGangs
from controllers.gangs.planning.pieces_inquiry import Inquiry
from controllers.gangs.planning.planning_queue import PlanningQueue, Share
from controllers.gangs.planning.reading import Reader
from controllers.gangs.planning.singles import Singles
from controllers.gangs.planning.sparing import Sparing
from controllers.gangs.planning.turns import Turns
from controllers.gangs.planning.verdicts import Verdicts
from controllers.gangs.promised.promising import Promising
from controllers.gangs.scheduler.callers import Callers
from controllers.gangs.searching import SearchThread
from controllers.gangs.telling.events import Reporter
from controllers.gangs.telling.telling import Telling
from controllers.gangs.timekeeping import Timed, Timekeeper
from controllers.gangs.waking.asking import Asking
from controllers.gangs.waking.waking import Waking
from controllers.gangs.writing.plan_store import PlanStore
from controllers.gangs.writing.writes import Writes
from kube.client import ApiClient
from nodes.state.slots import Slots

__all__ = ["lessons", "lone_preemptors", "partial_gangs", "performer", "planner", "turns", "verdicts"]


def lone_preemptors(known: Known, gangs: Gangs, asking: Asking, backoff: Backoff) -> LonePreemptors:
    """Pods that preempt alone. They come back to the scheduler when no plan comes of their wish."""
    singles = Singles(known.clock, backoff, asking.return_lone)
    return LonePreemptors(gangs, singles, known.mirror.roster, known.clock)


def lessons(known: Known, configuration: PlanningConfiguration, reporter: Reporter) -> Lessons:
    """What was learned from earlier plans."""
    roster = known.mirror.roster
    exclusions = Exclusions(roster.node_changes, known.clock, seconds=configuration.exclusion_seconds)
    sparing = Sparing(roster, known.promises.stored, reporter, known.clock)
    return Lessons(roster, exclusions, sparing, known.clock)


def verdicts(known: Known, store: PlanStore, lessons: Lessons, arrivals: Arrivals) -> Verdicts:
    """What has become of evictions."""
    stored, exclusions = known.promises.stored, lessons.exclusions
    return Verdicts(known.mirror.roster, stored, store, exclusions, arrivals, known.clock)


def turns(
    known: Known,
    gangs: Gangs,
    lessons: Lessons,
    verdicts: Verdicts,
    evidence: Evidence,
    singles: Singles,
    search: SearchThread,
    waits: Callable[[GroupKey], bool],
) -> Turns:
    """Whose turn it is. `waits`: whether a group waits for quota."""
    mirror, clock = known.mirror, known.clock
    reservations, gated = known.promises.reservations, known.waiters.gated
    decider = Decider(mirror, reservations, lessons, evidence, singles, gated, search)
    queue = PlanningQueue(Slots(mirror.tables), clock, Share())
    candidates = Candidates(mirror.roster, evidence, singles, clock, waits)
    return Turns(queue, candidates, decider, verdicts, singles, gangs, clock)


def partial_gangs(
    known: Known,
    rule: PiecesRule,
    client: ApiClient,
    gangs: Gangs,
    evidence: Evidence,
    callers: Callers,
    waking: Waking,
    writes: Writes,
) -> PartialGangs:
    """Gangs in pieces."""
    mirror, stored, clock = known.mirror, known.promises.stored, known.clock
    inquiry = Inquiry(Reader(client), mirror, stored, evidence, callers, rule, clock)
    return PartialGangs(inquiry, gangs, mirror.roster, writes, rule.seconds, clock, waking.ask)


def performer(
    known: Known,
    acts: PlanActs,
    waking: Waking,
    outcomes: Outcomes,
    reporter: Reporter,
    gangs: Gangs,
    writes: Writes,
) -> Performer:
    """Carries out what lives ask for."""
    promising = Promising(known.promises.claims)
    promising.on_change(waking.promised)
    return Performer(promising, acts, waking, outcomes, reporter, gangs, writes)


def planner(
    known: Known,
    gangs: Gangs,
    turns: Turns,
    performer: Performer,
    waking: Waking,
    telling: Telling,
    evidence: Evidence,
    timed: Sequence[Timed],
    nudged: asyncio.Event,
) -> Planner:
    """The loop. `timed`: what waits for the clock, in order. `nudged` has it look again."""
    mirror, reservations, gated = known.mirror, known.promises.reservations, known.waiters.gated
    looks = Looks(mirror.roster, reservations, evidence, gated)
    following = Following(mirror, gangs, looks, turns, performer, waking, telling)
    performer.promising.on_change(following.promised)
    return Planner(mirror, following, turns, waking, Timekeeper(timed), known.clock, nudged)

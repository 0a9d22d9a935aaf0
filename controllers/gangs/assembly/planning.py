"""What decides: what was learned from earlier plans, whose turn it is, and what moves gangs through their lives."""

from __future__ import annotations

from collections.abc import Callable

from api.backoff import Backoff
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.following import Following, Performs, Wakes
from controllers.gangs.gangs import Gangs
from controllers.gangs.keys import GroupKey, LonePod
from controllers.gangs.known import Known
from controllers.gangs.lifecycle.settings import PiecesRule
from controllers.gangs.looking.attempt_book import AttemptBook
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.looking.look import Looks
from controllers.gangs.looking.steered_look import SteeredLook
from controllers.gangs.mirror.preempted_pods import PreemptedPods
from controllers.gangs.mirror.probes import Probes
from controllers.gangs.performing import Performer
from controllers.gangs.plan_acts import PlanActs
from controllers.gangs.planning.arrivals import Arrivals
from controllers.gangs.planning.candidates import Candidates
from controllers.gangs.planning.decide import Decider, Searching
from controllers.gangs.planning.exclusions import Exclusions
from controllers.gangs.planning.lessons import Lessons
from controllers.gangs.planning.limiter import Limiter
from controllers.gangs.planning.lone_preemptors import LonePreemptors
from controllers.gangs.planning.outcomes import Outcomes
from controllers.gangs.planning.partial_gangs import PartialGangs
from controllers.gangs.planning.pieces_inquiry import Inquiry
from controllers.gangs.planning.planning_queue import PlanningQueue, Share
from controllers.gangs.planning.reading import Reader
from controllers.gangs.planning.singles import Singles
from controllers.gangs.planning.sparing import Sparing
from controllers.gangs.planning.state_before import StateBefore
from controllers.gangs.planning.turns import Turns
from controllers.gangs.planning.verdicts import Verdicts
from controllers.gangs.promised.promising import Promising
from controllers.gangs.scheduler.callers import Callers
from controllers.gangs.telling.events import Reporter
from controllers.gangs.telling.telling import Telling
from controllers.gangs.waking.asking import Asking
from controllers.gangs.waking.waking import Waking
from controllers.gangs.writing.plan_store import PlanStore
from controllers.gangs.writing.writes import Writes
from kube.client import ApiClient
from nodes.state.slots import Slots

__all__ = [
    "decider",
    "following",
    "inquiry",
    "lessons",
    "limiter",
    "lone_preemptors",
    "partial_gangs",
    "performer",
    "state_before",
    "turns",
    "verdicts",
]


def lone_preemptors(known: Known, gangs: Gangs, asking: Asking, backoff: Backoff) -> LonePreemptors:
    """Pods that preempt alone. They come back to the scheduler when no plan comes of their wish."""

    def bring_back(pod: LonePod) -> None:
        if not known.modes.observes(pod.namespace):  # nobody has held it
            asking.return_lone(pod)

    singles = Singles(known.clock, backoff, bring_back)
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


def decider(
    known: Known, lessons: Lessons, evidence: Evidence, singles: Singles, searching: Searching
) -> Decider:
    """Runs the search."""
    reservations, probes = known.promises.reservations, Probes(known.waiters.gated, known.mirror.roster)
    return Decider(known.mirror, reservations, lessons, evidence, singles, probes, searching)


def state_before(known: Known, gangs: Gangs) -> StateBefore:
    """The state on which gangs are decided about where nothing is done for them."""
    roster = known.mirror.roster

    def has_run(key: GroupKey) -> bool:
        return gangs.life_of(key).has_run

    def is_open(key: GroupKey) -> bool:
        return roster.minimum(key) is not None and not has_run(key)

    preempted = PreemptedPods(known.mirror.tables, is_open, known.clock)
    return StateBefore(roster, known.scheduler_marks, preempted, has_run)


def turns(
    known: Known,
    gangs: Gangs,
    decider: Decider,
    verdicts: Verdicts,
    evidence: Evidence,
    singles: Singles,
    waits: Callable[[GroupKey], bool],
) -> Turns:
    """Whose turn it is. `waits`: whether a group waits for quota."""
    queue = PlanningQueue(Slots(known.mirror.tables), known.clock, Share())
    roster = known.mirror.roster
    probes = Probes(known.waiters.gated, roster)
    candidates = Candidates(roster, evidence, singles, known.clock, waits, known.modes, probes)
    return Turns(queue, candidates, decider, verdicts, singles, gangs, known.clock)


def limiter(known: Known, gangs: Gangs) -> Limiter | None:
    """Who knows how many pods may be evicted, which the gangs ask from now on. None without limits."""
    if known.limits is None:
        return None
    mirror = known.mirror
    made = Limiter(known.limits, known.evicted, gangs, mirror.roster, mirror.pauses, known.clock)
    gangs.limits = made
    return made


def inquiry(
    known: Known, client: ApiClient, rule: PiecesRule, evidence: Evidence, callers: Callers
) -> Inquiry:
    """What the rule about gangs in pieces asks."""
    stored, clock = known.promises.stored, known.clock
    return Inquiry(Reader(client), known.mirror, stored, evidence, callers, rule, clock)


def partial_gangs(
    known: Known, inquiry: Inquiry, rule: PiecesRule, gangs: Gangs, waking: Waking, writes: Writes
) -> PartialGangs:
    """Gangs in pieces."""
    roster, clock = known.mirror.roster, known.clock
    return PartialGangs(inquiry, gangs, roster, writes, rule.seconds, clock, waking.ask)


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


def following(
    known: Known,
    gangs: Gangs,
    evidence: Evidence,
    turns: Turns,
    performer: Performs,
    waking: Wakes,
    telling: Telling,
    attempts: AttemptBook,
) -> Following:
    """What moves gangs through their lives."""
    mirror, gated = known.mirror, known.waiters.gated
    steered = SteeredLook(mirror.roster, known.waiters.waiting, known.scheduler_marks, attempts.estimate)
    looks = Looks(mirror.roster, known.promises.reservations, evidence, gated, steered)
    return Following(mirror, gangs, looks, turns, performer, waking, telling)

"""What evicts, and what carries out plans around it."""

from __future__ import annotations

from controllers.gangs.evicting.broken_units import BrokenUnits
from controllers.gangs.evicting.evictions import Evictions
from controllers.gangs.evicting.evictor import Evictor
from controllers.gangs.evicting.job_stops import Stopping
from controllers.gangs.evicting.marking import Marking
from controllers.gangs.evicting.rehearsals import Rehearsals
from controllers.gangs.evicting.strays import Strays
from controllers.gangs.gangs import Gangs
from controllers.gangs.known import Known
from controllers.gangs.lifecycle.endings import MODE_CHANGED
from controllers.gangs.lifecycle.life import Ending
from controllers.gangs.mirror.eviction_requests import EvictionRequests
from controllers.gangs.plan_acts import Keeps, PlanActs, Records
from controllers.gangs.planning.verdicts import Verdicts
from controllers.gangs.resuming import Resuming
from controllers.gangs.telling.events import Reporter
from controllers.gangs.writing.housekeeping import ABANDONED, Housekeeping
from controllers.gangs.writing.plan_store import PlanStore
from controllers.gangs.writing.pod_writer import PodWriter
from controllers.gangs.writing.writes import Writes
from runtime.exchange.owner_stops import OwnerStops
from runtime.plans.plan_retention import Retention

__all__ = ["broken_units", "evictions", "plan_acts", "records", "resuming", "strays"]


def evictions(
    known: Known,
    pods: PodWriter,
    store: PlanStore,
    reporter: Reporter,
    gangs: Gangs,
    marking: Marking,
    stops: OwnerStops,
) -> Evictions:
    """Whoever evicts. `stops`: whoever runs the Jobs whose pods are evicted."""
    roster = known.mirror.roster
    requests = EvictionRequests(known.mirror.tables, known.service_accounts, known.admission)
    stopping, rehearsals = Stopping(roster, stops), Rehearsals(requests)
    evictor = Evictor(pods, roster, reporter, marking, stopping, rehearsals)
    return Evictions(evictor, store, reporter, gangs, known.mirror, known.promises.account, gangs.nudge)


def strays(known: Known, marking: Marking, evictions: Evictions) -> Strays:
    """A mark is a stray one if neither a stored plan nor one at work evicts the pod."""
    claims = known.promises.claims
    return Strays(
        known.marked,
        marking,
        lambda uid: claims.has_victim(uid) or evictions.is_victim(uid),
        known.clock,
    )


def broken_units(known: Known, evictions: Evictions, reporter: Reporter) -> BrokenUnits:
    """Who says what kube-scheduler has broken."""
    claims = known.promises.claims
    return BrokenUnits(
        known.scheduler_marks,
        known.mirror.roster,
        lambda uid: claims.has_victim(uid) or evictions.is_victim(uid),
        reporter.unit_broken,
        known.clock,
        known.modes,
    )


def plan_acts(
    known: Known,
    store: PlanStore,
    evictions: Evictions,
    gangs: Gangs,
    writes: Writes,
    retention: Retention,
    keeps: Keeps,
) -> PlanActs:
    """What is done to carry out plans. `keeps`: see `Records`."""
    housekeeping = _housekeeping(known, store, writes, retention)
    return PlanActs(store, housekeeping, evictions, known.promises.reservations, gangs, writes, keeps)


def records(
    known: Known, store: PlanStore, gangs: Gangs, writes: Writes, retention: Retention, keeps: Keeps
) -> Records:
    """What stores decisions that nobody carries out. `keeps`: see `Records`."""
    housekeeping = _housekeeping(known, store, writes, retention, abandoned=MODE_CHANGED)
    return Records(store, housekeeping, gangs, writes, keeps)


def _housekeeping(
    known: Known, store: PlanStore, writes: Writes, retention: Retention, abandoned: Ending = ABANDONED
) -> Housekeeping:
    uid_of = known.mirror.roster.preemptor_uid
    stored, clock = known.promises.stored, known.clock
    return Housekeeping(stored, store, writes, retention, clock, uid_of=uid_of, abandoned=abandoned)


def resuming(
    known: Known, gangs: Gangs, evictions: Evictions, verdicts: Verdicts, plan_seconds: float
) -> Resuming:
    """What goes on with the plans that a former process was carrying out."""
    claims, roster = known.promises.claims, known.mirror.roster
    return Resuming(claims, roster, gangs, evictions, verdicts, known.clock, plan_seconds=plan_seconds)

"""Runs the search for a gang on its own thread, on what the mirror shows now."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import structlog
from msgspec import UNSET
from msgspec.structs import replace

from api.plan_names import plan_name
from api.plans import PreemptionPlanSpec
from controllers.gangs.keys import lone_pod, spoken
from controllers.gangs.lifecycle.life import GroupKey, victim_uids
from controllers.gangs.lifecycle.modes import Modes
from controllers.gangs.lifecycle.observations import Decided, NotDecided
from controllers.gangs.lifecycle.probing import Alike, first_round, may_speak
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.metrics import PLANNING_SECONDS
from controllers.gangs.mirror.mirror import Mirror
from controllers.gangs.mirror.pausing import why_paused
from controllers.gangs.mirror.probes import Probes
from controllers.gangs.planning.assigning import assign
from controllers.gangs.planning.lessons import Lessons
from controllers.gangs.planning.observed_pods import ObservedPods, with_pods_in_the_way
from controllers.gangs.planning.singles import Singles
from controllers.gangs.planning.state_before import StateBefore
from controllers.gangs.promised.account import asks_with, subtract
from controllers.gangs.promised.reservations import Reservations
from nodes.groups.keys import is_native_name
from nodes.search.decision import Decision, DecisionError, Limits, group_decision, pod_decision
from nodes.state.potential import NOBODY
from nodes.state.snapshot import Snapshot
from runtime.failpoints import failpoint
from runtime.work.search_thread import SearchThread

__all__ = ["Decider", "Searching"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Searching:
    """How a search is run."""

    thread: SearchThread[Limits]
    drive: bool
    """Whether we evict for every native gang."""
    modes: Modes
    """Where what is decided is done."""
    before: StateBefore | None = None
    """Where it is not done, decisions are made on the state before a scheduler began. None: it is done everywhere."""


class Decider:
    """Asks the engine: what would it take to place this gang now?"""

    def __init__(
        self,
        mirror: Mirror,
        reservations: Reservations,
        lessons: Lessons,
        evidence: Evidence,
        singles: Singles,
        probes: Probes,
        searching: Searching,
    ) -> None:
        self._tables, self._roster, self._reservations = mirror.tables, mirror.roster, reservations
        self._lessons, self._evidence, self._singles = lessons, evidence, singles
        self._pauses = mirror.pauses
        self._probes, self._searching = probes, searching
        self._observed = ObservedPods(searching.modes)

    async def decide(self, key: GroupKey, *, barred: str = "", in_vain: bool = False) -> Decided | NotDecided:
        """The decision for one gang, or for a pod that preempts alone.

        Room that is promised to others of its priority or above is not planned with.
        `barred`: why nothing may be evicted for it now; empty if something may. Then no promised room is planned with.
        `in_vain`: pods were evicted for it in vain.
        """
        await failpoint("planner.delay")
        among = self._singles.nodes(key)
        priority = self._roster.group_priority(key)
        snapshot, changed = self._tables.snapshot(), ""
        observes, before = self._searching.modes.observes(key[0]), self._searching.before
        if observes and before is not None:
            snapshot, changed = before.apply(snapshot, key)
        mirrored = snapshot
        if priority is not None:  # otherwise there is no decision at all
            # Who may not evict takes no room that others are making, whatever their priority.
            asks = NOBODY if barred else asks_with(priority, self._roster.members(key))
            snapshot = subtract(snapshot, self._reservations, key, asks)
        snapshot = self._lessons.apply(snapshot, key)
        spared = snapshot if observes else self._observed.spare(snapshot)
        unspared = snapshot if spared is not snapshot and not barred else None
        question = _Question(key, spared, mirrored, barred, among, self._searching.drive, unspared)
        with PLANNING_SECONDS.time():
            decided = await self._searching.thread.run(partial(_decide, question))
        if isinstance(decided, DecisionError):
            return NotDecided(str(decided))
        spec = self._assigned(decided)
        if observes:
            spec = replace(spec, mode="Observe")
        members = self._roster.planned(spec)
        alike = self._alike(key, decided, in_vain=in_vain)
        return Decided(
            plan_name(spec),
            spec,
            members,
            self._roster.grace_seconds(victim_uids(spec)),
            untried=bool(spec.victims) and self._evidence.is_untried(key, self._probes.gated),
            gated=not self._probes.may_be_tried(key, first_round(alike, members, 0.0)),
            alike=alike,
            paused=why_paused(self._pauses, spec),
            changed=changed,
        )

    def is_shared(self, key: GroupKey, decided: Decided | NotDecided) -> bool:
        """Whether the search would tell every gang with the same demand and priority what it has told this one.

        Where pods keep others away, the labels and the namespace of members count, too. The volumes of members count
        against the limits of nodes.
        """
        return (
            isinstance(decided, Decided)
            and not (decided.paused or decided.limited)  # others may have victims elsewhere
            and lone_pod(key) is None  # it is planned on its candidates alone
            and decided.spec.mismatch is UNSET
            and decided.spec.stopped_by_pod_disruption_budgets is UNSET  # others may have another policy
            and not self._roster.count(key).bound
            and not self._lessons.spares(key)
            and not self._tables.classes.keeping_apart
            and not self._tables.claims_of(self._tables.members(key))
        )

    def _alike(self, key: GroupKey, decision: Decision, *, in_vain: bool) -> Alike:
        """Planned members (UIDs) for which a few may speak. kube-scheduler tries its own groups as a whole."""
        if is_native_name(key[1]) or not may_speak(decision.spec, in_vain=in_vain):
            return ()
        return self._probes.by_kind(decision.alike)

    def _assigned(self, decision: Decision) -> PreemptionPlanSpec:
        """The plan with its members where the scheduler has offered them nodes, as far as members are alike."""
        spec = decision.spec
        if not (spec.victims and decision.alike):
            return spec
        members = [uid for uids in decision.alike for uid in uids]
        return assign(spec, decision.alike, self._evidence.offers(spec, members))


@dataclass(frozen=True, slots=True)
class _Question:
    """What the search is asked."""

    key: GroupKey
    snapshot: Snapshot
    """What the plan is made from."""
    mirrored: Snapshot
    """What kube-scheduler knows of the same pods and nodes: not what is promised, and not what was learned."""
    barred: str
    """See `Decider.decide`."""
    among: frozenset[str]
    """The nodes for a pod that preempts alone."""
    drive: bool
    """See `Searching`."""
    unspared: Snapshot | None
    """What a plan would be made from if pods of observed namespaces could be evicted. None: there are none."""


def _decide(asked: _Question, limits: Limits) -> Decision | DecisionError:
    """On the search's thread. A fault of ours holds one gang back, and never the others."""
    decision, other = _search(asked, asked.snapshot, limits), asked.unspared
    if other is None or isinstance(decision, DecisionError) or decision.spec.outcome != "Unschedulable":
        return decision
    instead = _search(asked, other, limits)
    if not isinstance(instead, DecisionError):
        with_pods_in_the_way(decision.spec, instead.spec, asked.snapshot, other)
    return decision


def _search(asked: _Question, snapshot: Snapshot, limits: Limits) -> Decision | DecisionError:
    namespace, name = asked.key
    try:
        if (pod := lone_pod(asked.key)) is not None:
            if pod.uid not in snapshot.pod_rows:
                return DecisionError(spoken(asked.key), "", "it is gone")
            return pod_decision(
                snapshot,
                pod.namespace,
                pod.name,
                limits=limits,
                strict=False,
                barred=asked.barred,
                among=asked.among,
            )
        return group_decision(
            snapshot,
            namespace,
            name,
            limits=limits,
            strict=False,
            barred=asked.barred,
            mirrored=asked.mirrored,
            drive=asked.drive,
        )
    except DecisionError as error:
        return error
    except Exception as error:
        log.exception("the search failed", namespace=namespace, group=name)
        return DecisionError(spoken(asked.key), "", f"internal error: {error!r}")

"""All that acts in one term, and what it knows (`GangController` makes both)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from concurrent.futures import Executor

from api.backoff import Backoff
from api.core import Pod
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.evicting.evictions import Evictions
from controllers.gangs.evicting.evictor import Evictor
from controllers.gangs.evicting.job_stops import Stopping
from controllers.gangs.evicting.marking import Marking
from controllers.gangs.evicting.strays import Strays
from controllers.gangs.gangs import Gangs
from controllers.gangs.keys import key_of_pod
from controllers.gangs.known import Known
from controllers.gangs.lifecycle.life import ActivePlan, GroupKey, Life
from controllers.gangs.lifecycle.observations import Asked, Failed, GatesRemoved
from controllers.gangs.lifecycle.settings import Rules
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.looking.look import Looks
from controllers.gangs.mirror.marked_pods import Signature
from controllers.gangs.performing import Hands, Performer
from controllers.gangs.planner import Planner, World
from controllers.gangs.planning.arrivals import Arrivals
from controllers.gangs.planning.candidates import Candidates
from controllers.gangs.planning.decide import Decider
from controllers.gangs.planning.exclusions import Exclusions
from controllers.gangs.planning.partial_gangs import PartialGangs
from controllers.gangs.planning.planning_queue import PlanningQueue, Share
from controllers.gangs.planning.reading import Reader
from controllers.gangs.planning.refusals import Refusals
from controllers.gangs.planning.singles import Singles
from controllers.gangs.planning.sparing import Sparing
from controllers.gangs.planning.stopped_gangs import StoppedGangs
from controllers.gangs.planning.verdicts import Verdicts
from controllers.gangs.promised.account import Account
from controllers.gangs.resuming import Resuming
from controllers.gangs.telling.events import Reporter
from controllers.gangs.telling.group_status import GroupStatusWriter
from controllers.gangs.timekeeping import Timekeeper
from controllers.gangs.waking.asking import Asking
from controllers.gangs.waking.gates import Gates
from controllers.gangs.waking.kept_out import KeptOut
from controllers.gangs.waking.nominations import Nominations
from controllers.gangs.waking.waker import Waker
from controllers.gangs.writing.housekeeping import Housekeeping
from controllers.gangs.writing.plan_store import PlanStore
from controllers.gangs.writing.writer import Writer
from controllers.gangs.writing.writes import Writes
from kube.client import ApiClient
from kube.sender import Sender
from nodes.state.slots import Slots
from nodes.state.snapshot import Snapshot
from runtime.plans.plan_retention import Retention
from runtime.terms.term import Term

__all__ = ["Leading"]


class Leading:
    """All state that acts in one term."""

    def __init__(
        self,
        known: Known,
        configuration: PlanningConfiguration,
        client: ApiClient,
        executor: Executor,
        term: Term,
    ) -> None:
        clock, roster, claims = known.clock, known.roster, known.claims
        self._clock, self._roster, self._waiting = clock, roster, known.waiting
        self._queued = known.queued
        self._nudged = asyncio.Event()
        sender = Sender(client, fence=term)
        self.writer = Writer(client, clock, sender=sender, group_written=known.apply_group)
        rules = Rules(
            Backoff(configuration.backoff_initial_seconds, configuration.backoff_max_seconds, jitter=0.0),
            configuration.plan_deadline_seconds,
            configuration.confirmation,
            configuration.confirmation_seconds,
            configuration.in_vain_seconds,
            untried_seconds=configuration.confirmation_seconds,
            partial_seconds=configuration.partial_gang_seconds,
        )
        self.waker = Waker(self.writer, roster, clock, known.gated)
        self.kept_out = KeptOut(known.leftover, roster)
        self.reporter = Reporter(self.writer, roster, known.waiting, clock)
        self.asking = Asking(self.writer, self.waker, known.waiting, known.parked, clock, self._was_asked)
        self.evidence = Evidence(
            roster,
            known.scheduler,
            clock,
            self._presented,
            gang_of=self.gang_of,
        )
        self.writes = Writes(self._write_failed)
        self.gates = Gates(
            configuration.gates,
            known.gated,
            roster,
            self._life_of,
            self.writer,
            known.is_trusted,
            clock,
        )
        self.gangs = Gangs(
            roster, rules, clock, self.nudge, self.gates.gang_changed, self.evidence.has_called
        )
        self.status_writes = Writes(lambda _key: None)
        self.group_status = GroupStatusWriter(
            self.gangs, roster, known.gated, self.writer, self.status_writes, self.reporter.gathers, clock
        )
        store = PlanStore(self.writer, claims.stored, known.apply_plan, clock)
        retention = Retention(configuration.plan_retention_seconds, configuration.kept_plans_per_preemptor)
        marking = Marking(self.writer, roster, known.marked, Signature.of(term))
        self._evictions = Evictions(
            Evictor(self.writer, roster, self.reporter, marking, Stopping(roster, known.stops)),
            store,
            self.reporter,
            self.gangs,
            roster,
            Account(roster, known.reservations),
            known.is_trusted,
            self.nudge,
        )
        self.strays = Strays(
            known.marked,
            marking,
            lambda uid: claims.has_victim(uid) or self._evictions.is_victim(uid),
            clock,
        )
        self.exclusions = Exclusions(roster.node_changes, clock, seconds=configuration.exclusion_seconds)
        promised = known.reservations
        self.arrivals = Arrivals(
            roster, lambda uid, node: promised.grants.covers(uid, node) or promised.claimant(uid) is not None
        )
        self._verdicts = Verdicts(roster, claims.stored, store, self.exclusions, self.arrivals, clock)
        self._resuming = Resuming(
            claims,
            roster,
            self.gangs,
            self._evictions,
            self._verdicts,
            clock,
            plan_seconds=configuration.plan_deadline_seconds,
        )
        sparing = Sparing(
            roster,
            claims.stored,
            self.reporter,
            clock,
        )
        self.singles = Singles(clock, rules.backoff, lambda pod: self._bring_back(pod.uid))
        hands = Hands(
            store,
            self._evictions,
            self.asking,
            self.waker,
            self.reporter,
            self.group_status,
            Housekeeping(claims.stored, store, self.writes, retention, clock),
            self._verdicts,
            Nominations(known.waiting, roster, self.evidence, self.waker),
            self.singles,
            self.writes,
            self.kept_out,
        )
        refusals = self._refusals = Refusals()
        decider = Decider(
            known.tables,
            roster,
            known.reservations,
            refusals,
            self.exclusions,
            sparing,
            self.evidence,
            self.singles,
            known.gated,
            executor,
            configuration.limits(),
        )
        performer = Performer(
            hands,
            self.gangs,
            roster,
            claims,
            known.waiting,
            refusals,
            self.exclusions,
            clock,
            lambda nodes, is_promised: self.planner.promised(nodes, is_promised),
        )
        timekeeper = Timekeeper(
            hands,
            self.gangs,
            known.reservations,
            self.evidence,
            known.waiting,
            refusals,
            self.exclusions,
            sparing,
            PartialGangs(
                Reader(client),
                self.gangs,
                roster,
                known.tables,
                claims.stored,
                self.evidence,
                configuration.partial_gangs,
                configuration.partial_gang_seconds,
                clock,
                performer.ask,
            ),
            StoppedGangs(known.queued, self.gangs, roster, clock),
            clock.monotonic,
        )
        world = World(
            known.tables,
            Looks(roster, known.reservations, self.evidence, known.gated),
            known.is_trusted,
            known.tell_time,
        )
        self.planner = Planner(
            world,
            self.gangs,
            PlanningQueue(Slots(known.tables), clock, Share()),
            Candidates(roster, self.evidence, self.singles, clock, known.queued.waits),
            decider,
            performer,
            timekeeper,
            hands,
            clock,
            self._nudged,
        )

    def prepared(self, snapshot: Snapshot, namespace: str) -> Snapshot:
        """The snapshot as plans in this namespace may use it: what was refused and excluded lately counts."""
        return self.exclusions.apply(self._refusals.exempt(snapshot), namespace)

    def nudge(self) -> None:
        """Have the planner look again now."""
        self._nudged.set()

    def resume(self) -> None:
        """Go on from the plans that a former process was carrying out."""
        self._resuming.resume()
        self.strays.begin()

    def called(self, pod: Pod) -> None:
        """A scheduler asked us about a pod of any kind."""
        if self.evidence.called(pod):
            self.gangs.caller_came()

    # ---- pods that preempt alone

    def gang_of(self, pod: Pod) -> GroupKey | None:
        """The pod's gang: the pod itself if it preempts alone, else the PodGroup that its label names."""
        return self._alone(pod) or self._roster.gang_of(pod)

    def _alone(self, pod: Pod) -> GroupKey | None:
        key = self.gangs.alone(pod.metadata.uid)
        if key is None and len(self.singles) and self.singles.wants(key_of_pod(pod)):
            return key_of_pod(pod)
        return key

    def plan_of(self, pod: Pod) -> ActivePlan | None:
        """The plan of a pod that preempts alone; None if it has none."""
        key = self.gangs.alone(pod.metadata.uid)
        gang = self.gangs.get(key) if key is not None else None
        return gang.life.plan if gang is not None else None

    def preempts_alone(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> bool:
        """The scheduler would evict for a pod that is no member of a gang: victims (UIDs) by node.

        Whether a plan is made for the pod. If not, it goes on without one for now.
        """
        key = key_of_pod(pod)
        gang = self.gangs.get(key)
        if gang is not None and self._clock.monotonic() < gang.life.due:
            return False
        is_known = self._roster.preemptor_uid(key) is not None
        if (is_known and self._roster.why_nobody_goes(key)) or not self.singles.wish(key, candidates):
            return False
        self.evidence.preempt_called(pod, candidates)
        self.gangs.touch(key)
        return True

    def _bring_back(self, uid: str) -> None:
        pod = self._waiting.find(uid)
        if pod is not None:
            self.asking.bring_back(pod)

    async def run(self) -> None:
        """Act until cancelled."""
        with self._queued.told(self.nudge):
            await self._act()

    async def _act(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.planner.run(), name="planner")
            tasks.create_task(self.asking.run(), name="asking")
            tasks.create_task(self.gates.run(), name="gates")
            tasks.create_task(self.group_status.run(), name="group status")
            tasks.create_task(self.strays.run(), name="strays")

    def _presented(self, group: GroupKey, uid: str) -> None:
        """A scheduler works on a member: what it showed may confirm the gang's plan."""
        self.asking.presented(group, uid)
        gang = self.gangs.get(group)
        if gang is not None and (gang.life.phase == "Planned" or gang.life.untried_until is not None):
            self.gangs.stir(group)

    def gates_removed(self, group: GroupKey) -> None:
        """No pod of the group has our scheduling gate any longer."""
        gang = self.gangs.get(group)
        if gang is not None:
            self.gangs.observe(gang, GatesRemoved())

    def _life_of(self, group: GroupKey) -> Life:
        gang = self.gangs.get(group)
        return gang.life if gang is not None else Life()

    def _was_asked(self, group: GroupKey) -> None:
        gang = self.gangs.get(group)
        if gang is not None:
            self.gangs.observe(gang, Asked())
        self.nudge()

    def _write_failed(self, key: tuple[str, str]) -> None:
        gang = self.gangs.get(key)
        if gang is not None:
            self.gangs.observe(gang, Failed())

    async def close(self) -> None:
        """Stop acting; write the events that wait."""
        await self._evictions.close()
        await self.writes.close()
        await self.status_writes.close()
        await self.writer.close()

    def pod_changed(self, uid: str, pod: Pod | None) -> None:
        """Keep what is known of pods that wait in step with the mirror."""
        self.evidence.pod_changed(uid, pod)
        self.strays.pod_changed(uid)
        alone = self._alone(pod) if pod is not None else self.gangs.alone(uid)
        if alone is not None:
            self.gangs.touch(alone)
        self.gates.pod_changed(uid)
        if pod is None or pod.metadata.deletion_timestamp or pod.spec.node_name:
            self.waker.forget(uid)
            self.kept_out.forget(uid)
            self.asking.forget(uid)
        else:
            self.waker.recall(pod)
            if self.waker.is_kept_out(uid):
                self.kept_out.recall(pod)

"""All that acts in one term (`GangController` makes it)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence

from api.core import Pod
from controllers.gangs.assembly import evicting, planning, telling, waking
from controllers.gangs.assembly.undoing import undoing
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.evicting.marking import Marking
from controllers.gangs.gangs import Gangs
from controllers.gangs.keys import key_of_pod
from controllers.gangs.known import Known
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.modes import Mode
from controllers.gangs.lifecycle.observations import Failed, GatesRemoved, Observation
from controllers.gangs.looking.attempt_book import AttemptBook
from controllers.gangs.looking.passing import Passing
from controllers.gangs.mirror.marked_pods import Signature
from controllers.gangs.mirror.misread import Fault
from controllers.gangs.planner import Planner
from controllers.gangs.planning.arrivals import Arrivals
from controllers.gangs.planning.decide import Searching
from controllers.gangs.planning.limiter import find_names
from controllers.gangs.planning.outcomes import Outcomes
from controllers.gangs.planning.partial_gangs import PartialGangs
from controllers.gangs.planning.resumption import Resumption
from controllers.gangs.planning.stopped_gangs import StoppedGangs
from controllers.gangs.planning.turns import Turns, Waits
from controllers.gangs.planning.unanswered import Unanswered
from controllers.gangs.pod_events import Hear
from controllers.gangs.scheduler.callers import Callers
from controllers.gangs.timekeeping import Timekeeper
from controllers.gangs.undoing.undoing import Tools
from controllers.gangs.waking.unknown_pods import UnknownPods
from controllers.gangs.writing.plan_store import PlanStore
from controllers.gangs.writing.pod_writer import PodWriter
from controllers.gangs.writing.writer import Writer
from controllers.gangs.writing.writes import Writes
from kube.client import ApiClient
from kube.sender import Sender
from nodes.search.decision import Limits
from runtime.exchange.quota_plane import QuotaPlane
from runtime.terms.term import Term
from runtime.work.search_thread import SearchThread

__all__ = ["Leading"]


class Leading:
    """All state that acts in one term."""

    def __init__(
        self,
        known: Known,
        configuration: PlanningConfiguration,
        client: ApiClient,
        search: SearchThread[Limits],
        quota: QuotaPlane,
        term: Term,
    ) -> None:
        self._known, self._quota, self._term, self._has_taken_over = known, quota, term, False
        roster, clock, backoffs = known.mirror.roster, known.clock, known.scheduler.backoffs
        settings = configuration.settings(backoffs)
        self._nudged = asyncio.Event()
        groups, sender = known.mirror.watched.groups, Sender(client, fence=term)
        writer = self.writer = Writer(
            client, clock, sender=sender, group_written=groups.apply, modes=known.modes
        )
        self.undoing = undoing(known, client, lambda _: self._tools())
        pods = self.pods = PodWriter(sender, clock, known.modes, writer.event, self.undoing.left)
        self.callers = Callers()
        gangs = self.gangs = Gangs(
            roster, settings, clock, self._nudged.set, self.callers.has_called, known.modes
        )
        self.limiter = planning.limiter(known, gangs)
        self.writes = Writes(lambda key: gangs.report(key, Failed()))
        self.attempts = AttemptBook(
            roster,
            known.waiters.gated,
            backoffs,
            clock,
            lambda key: gangs.life_of(key).plan,
            gangs.report,
        )
        self.telling = telling.telling(known, writer, pods, gangs)
        reporter = self.telling.reporter

        asking = waking.asking(known, pods, gangs)
        self.lone = planning.lone_preemptors(known, gangs, asking, settings.backoff)
        self.passing = Passing(roster, gangs, clock)
        self.evidence = waking.evidence(known, gangs, asking, self.lone)
        self.waking = waking.waking(known, gangs, asking, self.evidence, self.writes)
        self.unknown = UnknownPods(roster.is_known, self._forget_pod, clock)
        self.gates = waking.gates(known, configuration.gates, pods, gangs)

        store = PlanStore(writer, known.promises.stored, known.plans.apply, clock)
        marking = self._marking = Marking(pods, roster, known.marked, Signature.of(term))
        self.evictions = evicting.evictions(known, pods, store, reporter, gangs, marking, quota.stops)
        units, evictor = self.undoing.left.units, self.evictions.evictor
        units.is_victim, units.has_asked = self.evictions.is_victim, evictor.has_asked
        self.strays = evicting.strays(known, marking, self.evictions)
        self.broken = evicting.broken_units(known, self.evictions, reporter)
        retention = configuration.retention()
        keeps = self.undoing.left.keeps
        self._acts = evicting.plan_acts(known, store, self.evictions, gangs, self.writes, retention, keeps)

        self.unanswered = Unanswered(self.callers.has_called, clock)
        self.arrivals = Arrivals(roster, known.promises.has_asked, self.unanswered.may_concern)
        self.lessons = planning.lessons(known, configuration, reporter)
        self._verdicts = planning.verdicts(known, store, self.lessons, self.arrivals)
        self._resuming = evicting.resuming(
            known, gangs, self.evictions, self._verdicts, configuration.plan_deadline_seconds
        )
        rule = configuration.pieces()
        inquiry = planning.inquiry(known, client, rule, self.evidence, self.callers)
        pieces = planning.partial_gangs(known, inquiry, rule, gangs, self.waking, self.writes)
        self.before = planning.state_before(known, gangs)
        searching = Searching(search, configuration.drives(), known.modes, self.before)
        self.turns = self._turns(searching)
        self.planner = self._planner(pieces)

    def _tools(self) -> Tools:
        """What writes to pods of namespaces that are not enforced any longer."""
        return Tools(self.pods, self._marking, self.evictions, is_shared=True)

    def _turns(self, searching: Searching) -> Turns:
        known, lessons, singles = self._known, self.lessons, self.lone.singles
        decider = planning.decider(known, lessons, self.evidence, singles, searching)
        waits = self._quota.groups.waits
        return planning.turns(known, self.gangs, decider, self._verdicts, self.evidence, singles, waits)

    def _planner(self, pieces: PartialGangs) -> Planner:
        """The loop over all of these."""
        known, gangs, lessons, verdicts = self._known, self.gangs, self.lessons, self._verdicts
        evidence, singles, groups = self.evidence, self.lone.singles, self._quota.groups
        outcomes = Outcomes(lessons, verdicts, singles)
        performer = planning.performer(
            known, self._acts, self.waking, outcomes, self.telling.reporter, gangs, self.writes
        )
        turns = self.turns
        following = planning.following(
            known, gangs, evidence, turns, performer, self.waking, self.telling, self.attempts
        )
        performer.promising.on_change(following.promised)
        pauses = known.mirror.pauses
        stopped = StoppedGangs(groups, gangs, known.mirror.roster, pauses, known.clock)
        waits = Waits(gangs, verdicts, singles)
        limiter = () if self.limiter is None else (self.limiter,)
        timekeeper = Timekeeper(
            (
                evidence,
                lessons,
                waits,
                self.waking,
                self._acts,
                stopped,
                pieces,
                self.unknown,
                self.broken,
                Resumption(pauses, gangs),
                *limiter,
            )
        )
        mirror, clock = known.mirror, known.clock
        return Planner(mirror, following, turns, self.waking, timekeeper, clock, self._nudged)

    async def run(self) -> None:
        """Act until cancelled."""
        with self._quota.groups.told(self.gangs.nudge):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.planner.run(), name="planner")
                tasks.create_task(self.waking.run(), name="asking")
                tasks.create_task(self.gates.run(), name="gates")
                tasks.create_task(self.telling.run(), name="group status")
                tasks.create_task(self.strays.run(), name="strays")
                tasks.create_task(self.undoing.run(), name="undoing")
                tasks.create_task(self.unanswered.run(), name="unanswered calls")

    @property
    def acts(self) -> bool:
        """Whether it has taken over, and its term is not over."""
        return self._has_taken_over and not self._term.is_over

    async def prepare(self) -> None:
        """Read what `take_over` needs and the mirror does not have. The mirror must be synced."""
        known = self._known
        if known.limits is not None and known.limits.per_namespace is not None:
            await find_names(known.evicted, self.writer)

    def take_over(self, faults: Iterable[Fault], *, was_enforced: bool = False) -> None:
        """Go on from what a former process or term left. The mirror must be synced.

        `faults`: annotations that cannot be read. They are reported to users again. `was_enforced`: the Lease says
        that something may be left in namespaces that are not enforced any longer.
        """
        plans = [stored.group[0] for stored in self._known.promises.stored if stored.active is not None]
        self._resuming.resume()
        self.gangs.end_enforcement(self._enforces)
        self.undoing.begin(was_enforced=was_enforced or not all(map(self._enforces, plans)))
        self.before.begin()
        self.passing.take_over(self._known.promises.stored)
        self.unanswered.take_over()
        self.strays.begin()
        self.broken.begin()
        self._has_taken_over = True
        for fault in faults:
            self.telling.misread(fault)
        self.waking.begin()

    async def close(self) -> None:
        """Stop acting; write the events that wait."""
        await self.evictions.close()
        await self.writes.close()
        await self.telling.close()
        await self.writer.close()

    # ---- what happens

    def hearers(self) -> Mapping[str, Hear]:
        """Who hears of pods in a term, by name in `pod_events.ORDER`."""
        return {
            "arrivals": self.arrivals.pod_changed,
            "state before": self.before.pod_changed,
            "evidence": self.evidence.pod_changed,
            "undoing": self.undoing.pod_changed,
            "strays": lambda uid, _: self.strays.pod_changed(uid),
            "broken units": lambda uid, _: self.broken.pod_changed(uid),
            "lone preemptors": self.lone.pod_changed,
            "gates": lambda uid, _: self.gates.pod_changed(uid),
            "waking": self.waking.pod_changed,
            "gates removed": lambda uid, _: self._gate_removed(uid),
        }

    def _forget_pod(self, uid: str) -> None:
        """No event says that the pod is gone, since none has said that it came."""
        for hear in self.hearers().values():
            hear(uid, None)

    def _gate_removed(self, uid: str) -> None:
        """If the pod has lost our scheduling gate, the gang hears that."""
        gated = self._known.waiters.gated
        group = gated.ungated_by(uid)
        if group is not None:
            if not gated.has(group):
                self.attempts.ungated(group)
            self.gangs.report(group, GatesRemoved())

    def group_touched(self, group: GroupKey) -> None:
        """The group has changed, or a member of it has."""
        self.gangs.touch(group)
        self.gates.group_touched(group)
        if self._known.mirror.roster.group(group) is None:
            self.passing.forget(group)
            self.attempts.forget(group)

    def mode_changed(self, namespace: str, mode: Mode) -> None:
        """The mode of the namespace is another one now."""
        self.telling.reporter.mode_changed(namespace)
        if mode == "Enforce":
            self._begin_to_enforce(namespace)
        else:
            self.pods.enforcement_ended(namespace)
            self.gangs.end_enforcement(self._enforces)
        self.undoing.begin(was_enforced=mode != "Enforce")
        self.gangs.nudge()

    def _enforces(self, namespace: str) -> bool:
        return self._known.modes.of(namespace) == "Enforce"

    def _begin_to_enforce(self, namespace: str) -> None:
        """Everything of the namespace is decided anew, and its pods may make room for others.

        What a former mode has left on its pods is found as at the beginning of a term.
        """
        self.gangs.enforced(namespace)
        self.turns.freed(None)
        self.strays.begin()
        for uid, pod in self._known.waiters:
            if pod.metadata.namespace == namespace:
                self.waking.pod_changed(uid, pod)

    def called(self, pod: Pod) -> None:
        """A scheduler asked us about a pod of any kind."""
        if self.callers.called(pod):
            self.gangs.caller_came()
        self.telling.asked_about(pod)

    def report(self, pod: Pod, observation: Observation) -> None:
        """Something has happened to the pod's gang, if it is of any."""
        key = self.lone.gang_of(pod)
        gang = self.gangs.report(key, observation) if key is not None else None
        if gang is not None and gang.life.plan is not None and gang.life.plan.turned_down:
            self.gangs.nudge()

    def preempts_alone(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> bool:
        """The scheduler would evict for a pod that is no member of a gang: victims (UIDs) by node.

        Whether a plan is made for the pod. If not, it goes on without one for now.
        """
        if not self.lone.wish(pod, candidates):
            return False
        self.evidence.preempt_called(pod, candidates)
        self.gangs.touch(key_of_pod(pod))
        return True

    def preempt_heard(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> None:
        """The same for a pod of an observed namespace. It goes on at once, whatever is decided."""
        self.lone.heard(pod, candidates)

    def wants_plan(self, pod: Pod, nodes: Sequence[str]) -> None:
        """The scheduler would evict on these nodes for a pod of a basic group of its own kind, and must not.

        It never asks preempt for such a pod. It has shown that the nodes pass its filters once others are gone.
        """
        if self.lone.wish(pod, dict.fromkeys(nodes, ())):
            self.evidence.filter_called(pod, [*nodes])
            self.gangs.touch(key_of_pod(pod))

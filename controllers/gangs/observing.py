"""All that decides in one term in which nothing is enforced (`GangController` makes it).

It decides by the same parts as a term that acts: the same queue, the same search, the same reducer. What holds pods or
evicts them by these decisions is not made at all. Only what a former mode has left is withdrawn (`undoing`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from api.core import Pod
from controllers.gangs.assembly import evicting, planning, telling
from controllers.gangs.assembly.undoing import undoing
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.evicting.marking import Marking
from controllers.gangs.gangs import Gangs
from controllers.gangs.known import Known
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.observations import Failed
from controllers.gangs.looking.attempt_book import AttemptBook
from controllers.gangs.looking.evidence import Evidence
from controllers.gangs.mirror.marked_pods import Signature
from controllers.gangs.mirror.misread import Fault
from controllers.gangs.planner import Planner
from controllers.gangs.planning.arrivals import Arrivals
from controllers.gangs.planning.decide import Searching
from controllers.gangs.planning.lone_preemptors import LonePreemptors
from controllers.gangs.planning.singles import Singles
from controllers.gangs.planning.turns import Waits
from controllers.gangs.pod_events import Hear
from controllers.gangs.recording import Recording
from controllers.gangs.timekeeping import Timekeeper
from controllers.gangs.undoing.leftovers import Leftovers
from controllers.gangs.undoing.undoing import Tools
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

__all__ = ["Observing"]

END_SECONDS: Final = 1.0
"""How often to look for plans of a former mode that have to end."""


class _NobodyWaits:
    """No pod was held: see `controllers.gangs.following.Wakes`."""

    def wake(self, group: GroupKey, reason: str, message: str) -> None:
        pass

    def forget_group(self, group: GroupKey) -> None:
        pass

    def let_in(self) -> None:
        pass


class Observing:
    """All state of one term."""

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
        self.decides = configuration.mode != "Off"
        """Whether anything is decided. If not, only what a former mode has left is withdrawn."""
        roster, clock, modes = known.mirror.roster, known.clock, known.modes
        groups, sender = known.mirror.watched.groups, Sender(client, fence=term)
        self._nudged = asyncio.Event()
        self.writer = Writer(client, clock, sender=sender, group_written=groups.apply, modes=modes)
        settings = configuration.settings(known.scheduler.backoffs)
        gangs = self.gangs = Gangs(roster, settings, clock, self._nudged.set, modes=modes)
        self.writes = Writes(lambda key: gangs.report(key, Failed()))
        self.telling = telling.telling(known, self.writer, None, gangs)
        singles = Singles(clock, settings.backoff, lambda _: None)
        self.lone = LonePreemptors(gangs, singles, roster, clock)
        self.evidence = Evidence(roster, known.scheduler, clock, lambda *_: None, gang_of=self.lone.gang_of)
        self.before = planning.state_before(known, gangs)
        self._store = PlanStore(self.writer, known.promises.stored, known.plans.apply, clock)
        self.undoing = undoing(known, client, lambda left: self._tools(left, sender))
        keeps, retention = self.undoing.left.keeps, configuration.retention()
        self._records = evicting.records(known, self._store, gangs, self.writes, retention, keeps)
        self.planner = self._planner(configuration, search)

    def _tools(self, left: Leftovers, sender: Sender) -> Tools:
        """What writes to the pods on the list."""
        known = self._known
        pods = PodWriter(sender, known.clock, known.modes, self.writer.event, left)
        marking = Marking(pods, known.mirror.roster, known.marked, Signature.of(self._term))
        evictions = evicting.evictions(
            known, pods, self._store, self.telling.reporter, self.gangs, marking, self._quota.stops
        )
        return Tools(pods, marking, evictions)

    def _planner(self, configuration: PlanningConfiguration, search: SearchThread[Limits]) -> Planner:
        """The loop over all of these."""
        known, gangs, evidence, reporter = self._known, self.gangs, self.evidence, self.telling.reporter
        mirror, clock, singles = known.mirror, known.clock, self.lone.singles
        store, records = self._store, self._records
        lessons = planning.lessons(known, configuration, reporter)
        arrivals = Arrivals(mirror.roster, known.promises.has_asked, lambda _: False)
        verdicts = planning.verdicts(known, store, lessons, arrivals)
        searching = Searching(search, configuration.drives(), known.modes, self.before)
        decider = planning.decider(known, lessons, evidence, singles, searching)
        turns = planning.turns(known, gangs, decider, verdicts, evidence, singles, self._quota.groups.waits)
        attempts = AttemptBook(
            mirror.roster,
            known.waiters.gated,
            known.scheduler.backoffs,
            clock,
            lambda key: gangs.life_of(key).plan,
            gangs.report,
        )
        performer, waking = Recording(records, reporter, singles, self.writes), _NobodyWaits()
        following = planning.following(
            known, gangs, evidence, turns, performer, waking, self.telling, attempts
        )
        timekeeper = Timekeeper((evidence, lessons, Waits(gangs, verdicts, singles), records))
        return Planner(mirror, following, turns, waking, timekeeper, clock, self._nudged)

    async def run(self) -> None:
        """Decide until cancelled."""
        with self._quota.groups.told(self.gangs.nudge):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.undoing.run(), name="undoing")
                if self.decides:
                    tasks.create_task(self.planner.run(), name="planner")
                    tasks.create_task(self.telling.run(), name="group status")
                else:
                    tasks.create_task(self._end_plans(), name="plans")

    async def _end_plans(self) -> None:
        while True:
            self.end_plans()
            await asyncio.sleep(END_SECONDS)

    def end_plans(self) -> None:
        """End the plans of a former mode. Without decisions there is no planner that would do it."""
        self._records.tick(trusted=self._known.mirror.is_trusted())

    @property
    def acts(self) -> bool:
        """Whether it has taken over, and its term is not over."""
        return self._has_taken_over and not self._term.is_over

    def take_over(self, faults: Iterable[Fault], *, was_enforced: bool = False) -> None:
        """Begin. The mirror must be synced. `faults`: annotations that cannot be read. Events would say so.

        `was_enforced`: the Lease says that something of a former mode may be left.
        """
        had_plans = any(stored.active is not None for stored in self._known.promises.stored)
        self.undoing.begin(was_enforced=was_enforced or had_plans)
        self.before.begin()
        self._has_taken_over = True

    async def close(self) -> None:
        """Write nothing any longer."""
        await self.undoing.close()
        await self.writes.close()
        await self.telling.close()
        await self.writer.close()

    # ---- what happens

    def hearers(self) -> Mapping[str, Hear]:
        """Who hears of pods in a term, by name in `pod_events.ORDER`."""
        return {
            "state before": self.before.pod_changed,
            "evidence": self.evidence.pod_changed,
            "undoing": self.undoing.pod_changed,
            "lone preemptors": self.lone.pod_changed,
        }

    def group_touched(self, group: GroupKey) -> None:
        """The group has changed, or a member of it has."""
        self.gangs.touch(group)

    def preempt_heard(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> None:
        """A scheduler evicts for the pod by one of these candidates: victims (UIDs) by node."""
        self.lone.heard(pod, candidates)

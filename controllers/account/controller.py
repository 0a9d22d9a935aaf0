"""The account: it follows pods, events and plans in every process, and counts while it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from typing import Final

from api.clock import Clock
from api.core import Pod
from api.instead import Instead
from api.reports import GapCause
from controllers.account.accounting import STEP_SECONDS, Accounting
from controllers.account.cases import Decision
from controllers.account.configuration import ObservingConfiguration
from controllers.account.counted import CountedPlans
from controllers.account.decisions import Decisions
from controllers.account.ledger import Ledger
from controllers.account.metrics import GAP_SECONDS
from controllers.account.report_writing import ReportWriter
from controllers.account.reporting import Reporting
from controllers.account.signs import Events, MarkedPods, Said
from controllers.account.tally import Counting
from controllers.account.writing import Writing
from kube.client import ApiClient
from kube.sender import Sender
from runtime.exchange.accounted import OwnerKey, Roll
from runtime.exchange.agreements import Agrees
from runtime.mirror.resources import PLANS, PREEMPTED_EVENTS
from runtime.mirror.views import Views
from runtime.terms.term import Term
from serving.ops import Check

__all__ = ["AccountController"]


class AccountController:
    """See `runtime.terms.controller.Controller`."""

    name: Final = "account"

    def __init__(
        self, settings: ObservingConfiguration, client: ApiClient, views: Views, roll: Roll, clock: Clock
    ) -> None:
        self._settings, self._client, self._roll, self._clock = settings, client, roll, clock
        self._marked = MarkedPods(roll.unit_of, roll.usage, clock)
        self._said = Events(self._heard, roll.owner_of, clock)
        self._decisions = Decisions(roll.planned_owner, self._marked.lost, self._decided)
        self._counted = CountedPlans(self._count)
        self._plans = views.watch(PLANS, self._decisions)
        views.watch(PLANS, self._counted)
        self._events = views.watch(PREEMPTED_EVENTS, self._said)
        self._acting: Accounting | None = None
        self._reporting: Reporting | None = None
        roll.on_pod(self._pod_changed)
        roll.on_group(self._touched)
        roll.on_preempt_call(self._called)

    def checks(self) -> Mapping[str, Check]:
        """See `Controller`. Nobody waits for the account."""
        return {}

    async def lead(self, term: Term) -> None:
        """See `Controller`."""
        await self._roll.wait_synced()
        for view in (self._plans, self._events):
            await view.wait_synced()
        reporting = self.report(term)
        acting = self.begin(term)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(acting.run(), name="account")
                tasks.create_task(reporting.run(), name="reports of the account")
                tasks.create_task(self._watch_gaps(reporting), name="gaps of the account")
        finally:
            self._acting = self._reporting = None
            await acting.close()
            await reporting.close()

    def report(self, term: Term) -> Reporting:
        """The reports of this term. All that is watched must be synced."""
        writer = ReportWriter(self._client, Sender(self._client, fence=term))
        token = f"{term.holder}/{term.number}/{self._clock.wall():.3f}"
        self._reporting = Reporting(
            writer, self._counted, self._clock, days=self._settings.report_days, token=token
        )
        return self._reporting

    def begin(self, term: Term) -> Accounting:
        """The account of this term. All that is watched must be synced."""
        self._decisions.all_pods_are_known()
        ledger, writing = Ledger(self._settings.episode_seconds), Writing(Sender(self._client, fence=term))
        acting = Accounting(ledger, self._roll, self._decisions, writing, self._clock, self._concluded)
        acting.take_over(self._marked, [each for each in self._said if self._counts(each)])
        self._acting = acting
        return acting

    async def _watch_gaps(self, reporting: Reporting) -> None:
        while True:
            await asyncio.sleep(STEP_SECONDS)
            cause = self._cause()
            reporting.pass_time(cause)
            if cause is not None:
                GAP_SECONDS.inc(STEP_SECONDS)

    def _cause(self) -> GapCause | None:
        """Why not all is seen now."""
        if not self._roll.is_trusted():
            return "NotReached"
        return "EventsRefused" if self._events.is_refused else None

    def compared(self, namespace: str, agrees: Agrees) -> None:
        """Kueue has decided about a Workload of this namespace, and it is known whether we would have done the same."""
        if self._reporting is not None:
            self._reporting.compared(namespace, agrees)

    def _count(self, counting: Counting) -> None:
        if self._reporting is not None:
            self._reporting.count(counting)

    def _concluded(self, decision: Decision, said: Instead) -> None:
        if self._reporting is not None:
            self._reporting.conclude(decision, said)

    # ---- what is watched

    def _pod_changed(self, uid: str, pod: Pod | None) -> None:
        victim, acting = self._marked.pod_changed(uid, pod), self._acting
        if acting is None:
            return
        if victim is not None:
            acting.preempted(victim)
        acting.pod_touched(uid)
        node = pod.spec.node_name or pod.status.nominated_node_name if pod is not None else None
        owner = self._roll.owner_of(uid) if node else None
        if pod is None or node is None or owner is None:
            return
        if pod.spec.node_name:
            acting.placed(owner, node)
        else:
            acting.nominated(owner, node)

    def _called(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> None:
        """A scheduler evicts for the pod by one of these candidates: victims (UIDs) by node."""
        owner = self._roll.owner_of(pod.metadata.uid) if self._acting is not None else None
        if self._acting is not None and owner is not None:
            self._acting.called(owner, [uid for uids in candidates.values() for uid in uids])

    def _touched(self, key: OwnerKey) -> None:
        if self._acting is not None:
            self._acting.touched(key)

    def _heard(self, said: Said) -> None:
        if self._acting is not None and self._counts(said):
            self._acting.heard(said)

    def _counts(self, said: Said) -> bool:
        return not self._marked.is_planned(said.victim)

    def _decided(self, owner: str) -> None:
        if self._acting is not None:
            self._acting.decided(owner)

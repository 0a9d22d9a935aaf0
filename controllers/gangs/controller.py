"""The gang controller (KEP-5710): follows pods, groups and plans in every process, and acts while it leads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Executor
from typing import Final

import structlog

from api.clock import Clock
from api.core import Pod
from api.meta import ObjectMeta
from api.reached_limits import ReachedLimit
from api.times import rfc3339
from controllers.gangs.configuration import GroupsConfiguration, PlanningConfiguration
from controllers.gangs.gauges import Gauges
from controllers.gangs.known import Known
from controllers.gangs.leading import Leading
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.lifecycle.modes import Mode
from controllers.gangs.observing import Observing
from controllers.gangs.permits import Permits
from controllers.gangs.pod_events import PodEvents
from controllers.gangs.promised.workload_places import WorkloadPlaces
from controllers.gangs.undoing.holding import Holding, may_hold, mode_of
from controllers.gangs.undoing.traces import Traces, traces_of
from controllers.gangs.waking.parked import TurnedDown
from controllers.gangs.waking.waking import Waking
from kube.client import ApiClient
from nodes.state.snapshot import Snapshot
from runtime.exchange.accounted import CallHook
from runtime.exchange.quota_plane import QuotaPlane
from runtime.mirror.freshness import catch_up
from runtime.mirror.views import Views
from runtime.terms.term import Term
from runtime.work.search_thread import SearchThread
from serving.ops import Check

__all__ = ["GangController", "Holding", "Traces", "may_hold", "mode_of", "traces_of"]

log = structlog.get_logger(__name__)


class GangController:
    """What every process knows is made here; what acts is made in `lead` and ends with it (`Leading`)."""

    name: Final = "gangs"

    def __init__(
        self,
        configuration: PlanningConfiguration,
        client: ApiClient,
        views: Views,
        executor: Executor,
        clock: Clock,
        quota: QuotaPlane | None = None,
        groups: GroupsConfiguration | None = None,
    ) -> None:
        """`executor` runs the searches. `quota`: None for a process without a quota plane.

        Raises FieldError if the scheduler's configuration file cannot be read, or does not fit our settings.
        """
        self._configuration, self._client, self._clock = configuration, client, clock
        self.known: Final = Known(configuration, groups or GroupsConfiguration(), views, clock)
        self.permits: Final = Permits(client, self.known.modes)
        self.quota: Final = quota or QuotaPlane()
        self._search = SearchThread(configuration.search_limits(), executor)
        mirror, promises = self.known.mirror, self.known.promises
        self.places: Final = WorkloadPlaces(
            mirror.tables,
            promises.reservations,
            self._search,
            self._prepared,
            promises.workloads,
            self._nudge,
            lambda: mirror.watched.synced,
        )
        self.holding = Holding()
        """What the Lease says is still held. The process gives one that knows the Lease."""
        self._begun: Leading | Observing | None = None
        """What hears of pods in this term. It acts once it has taken over."""
        self._pod_events = PodEvents(self.known.hearers())
        self._stepped_down: list[Callable[[], None]] = []
        self._heard: list[CallHook] = []
        self._ended = float("-inf")
        """When this process ceased to lead last, in monotonic seconds."""
        Gauges(
            lambda: self._acting,
            promises.stored,
            mirror.roster,
            clock,
            configuration.plan_deadline_seconds,
        ).export()
        mirror.watched.on_pod(self._pod_events.changed)
        mirror.watched.on_owner(self._owner_changed)
        mirror.watched.on_change(self._changed)
        mirror.tables.groups.on_touch(self._group_touched)
        self.known.plans.on_change(self._changed)
        self.known.modes.on_change(self._mode_changed)

    # ---- the controller

    def checks(self) -> Mapping[str, Check]:
        """See `runtime.terms.controller.Controller`."""
        return self.known.mirror.checks()

    async def lead(self, term: Term) -> None:
        """See `runtime.terms.controller.Controller`. Returns when rights are granted that were missing."""
        try:
            await self.permits.ask()
            await self._lead(term)
        finally:
            self.permits.end()

    async def _lead(self, term: Term) -> None:
        begin = self.begin if self.known.modes.enforces else self.observe
        leading, since = begin(term), max(term.began, self._ended)
        try:
            await self.known.mirror.wait_synced()
            await catch_up(self._client, self.known.mirror.views, since, self._clock)
            await self.take_over(leading)
            await self.permits.act(leading.run())
        finally:
            await self.step_down(leading)

    def begin(self, term: Term) -> Leading:
        """All that acts in this term. It hears of pods from now on, and does nothing yet."""
        begun = Leading(self.known, self._configuration, self._client, self._search, self.quota, term)
        self._begin(begun)
        return begun

    def observe(self, term: Term) -> Observing:
        """The same for a term in which nothing is enforced."""
        begun = Observing(self.known, self._configuration, self._client, self._search, self.quota, term)
        self._begin(begun)
        return begun

    def _begin(self, begun: Leading | Observing) -> None:
        self._begun = begun
        self._pod_events.begin(begun.hearers(), self.known.waiters)

    async def take_over(self, leading: Leading | Observing) -> None:
        """Go on from what a former process or term left. The mirror must be synced."""
        if isinstance(leading, Leading):
            await leading.prepare()
        # Without the rights to enforce, it does not matter that the former leader enforced (`Holding`).
        was_enforced = bool(self.holding.now or self.permits.lacking)
        leading.take_over(self.known.misread, was_enforced=was_enforced)
        self.holding.follow(leading.undoing.holds)
        self.places.taken_over()

    async def step_down(self, leading: Leading | Observing) -> None:
        """Nothing acts any longer, and other processes may."""
        self._begun = None
        self.holding.forget()
        self._pod_events.end()
        for hook in self._stepped_down:
            hook()
        try:
            await leading.close()
        finally:
            self.known.promises.claims.forget_words()
            self._ended = self._clock.monotonic()

    def on_step_down(self, hook: Callable[[], None]) -> None:
        """Call `hook` whenever this process ceases to lead."""
        self._stepped_down.append(hook)

    @property
    def leading(self) -> Leading | None:
        """What acts now, if this process leads: it has taken over, and its term is not over. None if nothing is
        enforced.

        A process that stood still may not have noticed yet that its term is over.
        """
        acting = self._acting
        return acting if isinstance(acting, Leading) else None

    @property
    def _acting(self) -> Leading | Observing | None:
        """The same, also if it only observes."""
        return self._begun if self._begun is not None and self._begun.acts else None

    def limits_reached(self) -> list[ReachedLimit]:
        """The limits on evictions that hold preemptors back. Empty if this process does not lead."""
        leading = self.leading
        if leading is None or leading.limiter is None:
            return []
        return [
            ReachedLimit(name, each.waiting, namespace, rfc3339(each.until) if each.until is not None else "")
            for (name, namespace), each in sorted(leading.limiter.reached().items())
        ]

    @property
    def acts(self) -> bool:
        """Whether this process leads, be it only to observe."""
        return self._acting is not None

    @property
    def deciding(self) -> Leading | None:
        """The same, if the mirror may be trusted as well: without that, nobody is evicted, and pods of gangs wait."""
        return self.leading if self.known.mirror.is_trusted() else None

    @property
    def waking(self) -> Waking | None:
        """Where pods are remembered that filter turns down. It is there before this process leads: from the moment on
        at which its term has begun."""
        return self._begun.waking if isinstance(self._begun, Leading) else None

    def asked_about(self, uid: str) -> None:
        """A scheduler tries the pod (UID), which the mirror need not know."""
        if isinstance(self._begun, Leading):
            self._begun.unknown.asked(uid)

    def preempt_heard(self, pod: Pod, candidates: Mapping[str, Collection[str]]) -> None:
        """A scheduler that nobody answers for asks preempt about the pod: victims (UIDs) by node. It evicts some."""
        for hook in self._heard:
            hook(pod, candidates)
        acting = self._acting
        if acting is not None and self.known.mirror.is_trusted():
            acting.preempt_heard(pod, candidates)

    def on_preempt_heard(self, hook: CallHook) -> None:
        """Call `hook` with each such call."""
        self._heard.append(hook)

    def told(self, turned_down: TurnedDown) -> bool:
        """Another process names pods that it has turned down. Returns whether this one leads and brings them back."""
        acting = self._acting
        if isinstance(acting, Leading):
            acting.unanswered.miss()
            acting.waking.told(turned_down)
        elif acting is not None:
            acting.undoing.told(turned_down)
        return acting is not None

    def _prepared(self, snapshot: Snapshot, namespace: str) -> Snapshot | None:
        deciding = self.deciding
        return deciding.lessons.prepared(snapshot, namespace) if deciding is not None else None

    # ---- what is watched

    def _owner_changed(self, api_version: str, kind: str, uid: str, meta: ObjectMeta | None) -> None:
        fault, leading = self.known.misread.seen(api_version, kind, uid, meta), self.leading
        if fault is not None and leading is not None:
            leading.telling.misread(fault)

    def _group_touched(self, group: GroupKey) -> None:
        if self._begun is not None:
            self._begun.group_touched(group)

    def _mode_changed(self, namespace: str, before: Mode, now: Mode) -> None:
        """Other namespaces keep their modes. A term that has not taken over finds everything as it is then."""
        if (leading := self.leading) is not None:
            log.info("the mode of a namespace has changed", namespace=namespace, before=before, now=now)
            leading.mode_changed(namespace, now)

    def _nudge(self) -> None:
        if self._begun is not None:
            self._begun.gangs.nudge()

    def _changed(self) -> None:
        self._nudge()
        self.places.changed()

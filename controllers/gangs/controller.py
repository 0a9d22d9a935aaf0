"""The gang controller (KEP-5710): follows pods, groups and plans in every process, and acts while it leads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Final

import structlog

from api.clock import Clock
from api.core import Pod
from api.meta import ObjectMeta
from api.times import parse_rfc3339
from controllers.gangs.configuration import GroupsConfiguration, PlanningConfiguration, check_scheduler
from controllers.gangs.gauges import Gauges
from controllers.gangs.known import Known
from controllers.gangs.leading import Leading
from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.mirror.gated_pods import GatedPods
from controllers.gangs.mirror.marked_pods import MarkedPods
from controllers.gangs.mirror.misread import Misread
from controllers.gangs.mirror.pending import PendingPods
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.waiting import WaitingPods
from controllers.gangs.promised.claims import Claims
from controllers.gangs.promised.leftover import Leftover
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.promised.workload_claims import WorkloadClaims
from controllers.gangs.promised.workload_places import WorkloadPlaces
from controllers.gangs.scheduler.configuration import SchedulerConfiguration, load
from controllers.gangs.waking.parked import ParkedPods
from kube.client import ApiClient
from nodes.state.snapshot import Snapshot
from runtime.exchange.owner_stops import OwnerStops
from runtime.exchange.queued_groups import QueuedGroups
from runtime.mirror.freshness import catch_up
from runtime.mirror.readiness import not_synced, too_old
from runtime.mirror.resources import PLANS
from runtime.mirror.views import Views
from runtime.mirror.watched_tables import WatchedTables
from runtime.terms.term import Term
from serving.ops import Check

__all__ = ["GangController"]

log = structlog.get_logger(__name__)

OBJECT_SECONDS: Final = 5.0
"""How long after its creation a pod waits at most until its owner or PodGroup is known."""


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
        queued: QueuedGroups | None = None,
        stops: OwnerStops | None = None,
        groups: GroupsConfiguration | None = None,
    ) -> None:
        """`executor` runs the searches. `queued`: which PodGroups wait for quota or have lost it; None: none does.
        `stops`: whoever runs the Jobs whose pods are evicted; None: nobody does.

        Raises FieldError if the scheduler's configuration file cannot be read, or does not fit our settings.
        """
        self._configuration, self._client, self._executor = configuration, client, executor
        path = configuration.scheduler_configuration
        self.scheduler = load(path) if path is not None else SchedulerConfiguration()
        check_scheduler(configuration, self.scheduler)
        by_owner = (groups or GroupsConfiguration()).by_owner
        self.mirror = WatchedTables(views, configuration.costs(), self.scheduler.profiles, by_owner)
        self.clock = clock
        self.queued: Final = queued or QueuedGroups()
        self.stops: Final = stops or OwnerStops()
        self.roster = Roster(self.mirror.tables)
        self.reservations = Reservations(clock)
        self.leftover = Leftover(self.mirror.tables, self.roster, self.reservations)
        self.claims = Claims(self.roster, self.reservations)
        self.waiting = WaitingPods(clock)
        self.parked = ParkedPods(self.waiting)
        self.gated = GatedPods(clock)
        self.pending = PendingPods(self.roster)
        self.marked = MarkedPods()
        self.misread = Misread()
        self._workload_claims = WorkloadClaims(self.roster, self.reservations)
        self.places: Final = WorkloadPlaces(
            self.mirror.tables,
            self.reservations,
            executor,
            configuration.limits(),
            self._prepared,
            self._workload_claims,
            self._nudge,
            lambda: self.mirror.synced,
        )
        self._acting: Leading | None = None
        self.leading: Leading | None = None
        """What acts now; None while this process does not lead, or does not know its plans yet."""
        self._term: Term | None = None
        self._stepped_down: list[Callable[[], None]] = []
        self.plans = views.watch(PLANS, self.claims.stored)
        self._watched = (*self.mirror.views, self.plans)
        self._ended = float("-inf")
        """When this process ceased to lead last, in monotonic seconds."""
        self._not_synced = not_synced(self._watched)
        self._too_old = too_old(self._watched, configuration.max_watch_age_seconds)
        Gauges(
            lambda: self.in_charge,
            self.claims.stored,
            self.roster,
            clock,
            configuration.plan_deadline_seconds,
        ).export()
        self.mirror.on_pod(self._pod_changed)
        self.mirror.on_owner(self._owner_changed)
        self.mirror.on_change(self._changed)
        self.mirror.tables.groups.on_touch(self._group_touched)
        self.plans.on_change(self._changed)

    # ---- the controller

    def checks(self) -> Mapping[str, Check]:
        """See `runtime.terms.controller.Controller`."""
        return {"synced": self._not_synced, "watch-age": self._too_old}

    def is_trusted(self) -> bool:
        """Whether the mirror may be trusted. Without it nobody is evicted, and pods of groups wait."""
        return self._not_synced() is None and self._too_old() is None

    def awaits_object(self, pod: Pod, key: GroupKey) -> bool:
        """Whether the pod is new, and the object that would make its group a gang is not known yet.

        A scheduler may hear of a pod before we hear of its owner or PodGroup, or of their kind, if that has just been
        installed. An object that does not come delays no pod for long.
        """
        created = pod.metadata.creation_timestamp
        if created is None:
            return False
        age = self.clock.wall() - parse_rfc3339(created)
        if age >= OBJECT_SECONDS:
            return False
        # The object came before the pod. Times of creation have whole seconds.
        return self.mirror.awaits_object(key, self.clock.monotonic() - age + 1.0)

    def tell_time(self) -> bool:
        """Have the tables know which pods are overdue; whether that has changed for any pod."""
        changed = self.mirror.tables.tell_time(self.clock.wall() - self._configuration.overdue_seconds)
        for uid in changed:
            self.claims.overdue_changed(uid)
        return bool(changed)

    async def lead(self, term: Term) -> None:
        """See `runtime.terms.controller.Controller`."""
        leading, since = self.begin(term), max(term.began, self._ended)
        try:
            await self.mirror.wait_synced()
            await self.plans.wait_synced()
            await catch_up(self._client, self._watched, since, self.clock)
            await self.take_over(leading)
            await leading.run()
        finally:
            await self.step_down(leading)

    def begin(self, term: Term) -> Leading:
        """All that acts in this term. It hears of pods from now on, and does nothing yet."""
        known = Known(
            self.mirror.tables,
            self.roster,
            self.reservations,
            self.leftover,
            self.claims,
            self.waiting,
            self.parked,
            self.gated,
            self.marked,
            self.scheduler,
            self.clock,
            self.plans.apply,
            self.mirror.groups.apply,
            self.is_trusted,
            self.tell_time,
            self.queued,
            self.stops,
        )
        self._term = term
        self._acting = Leading(known, self._configuration, self._client, self._executor, term)
        for uid, pod in self.pending:
            self._acting.pod_changed(uid, pod)
        return self._acting

    async def take_over(self, leading: Leading) -> None:
        """Go on from what a former process or term left. The mirror must be synced."""
        leading.resume()
        self.leading = leading
        for fault in self.misread:
            leading.reporter.misread(*fault)
        leading.asking.begin()
        self.places.taken_over()

    async def step_down(self, leading: Leading) -> None:
        """Nothing acts any longer, and other processes may."""
        self.leading = self._acting = self._term = None
        for hook in self._stepped_down:
            hook()
        try:
            await leading.close()
        finally:
            self.claims.forget_words()
            self._ended = self.clock.monotonic()

    def on_step_down(self, hook: Callable[[], None]) -> None:
        """Call `hook` whenever this process ceases to lead."""
        self._stepped_down.append(hook)

    @property
    def in_charge(self) -> Leading | None:
        """What acts now; None also if the term is over and nobody has noticed, as in a process that stood still."""
        return self.leading if self._term is not None and not self._term.is_over else None

    @property
    def acting(self) -> Leading | None:
        """Who remembers pods that filter turns down, also before it acts; None while this process does not lead."""
        return self._acting

    def _prepared(self, snapshot: Snapshot, namespace: str) -> Snapshot | None:
        leading = self.in_charge
        return leading.prepared(snapshot, namespace) if leading is not None and self.is_trusted() else None

    # ---- what is watched

    def _pod_changed(self, uid: str, pod: Pod | None) -> None:
        if self._acting is not None:
            self._acting.arrivals.pod_changed(uid, pod)  # while its grant and claim still stand
        self.claims.pod_changed(uid, pod)
        self._workload_claims.pod_changed(uid, pod)
        self.waiting.pod_changed(uid, pod)
        self.pending.pod_changed(uid, pod)
        self.marked.pod_changed(uid, pod)
        ungated = self.gated.pod_changed(uid, pod)
        if self._acting is not None:
            self._acting.pod_changed(uid, pod)
            if ungated is not None:
                self._acting.gates_removed(ungated)

    def _owner_changed(self, api_version: str, kind: str, uid: str, meta: ObjectMeta | None) -> None:
        fault = self.misread.seen(api_version, kind, uid, meta)
        if fault is not None and self.leading is not None:
            self.leading.reporter.misread(*fault)

    def _group_touched(self, group: GroupKey) -> None:
        if self._acting is not None:
            self._acting.gangs.touch(group)
            self._acting.gates.group_touched(group)

    def _nudge(self) -> None:
        if self._acting is not None:
            self._acting.nudge()

    def _changed(self) -> None:
        self._nudge()
        self.places.changed()

"""What every process knows, whether or not it leads: projections of watched objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from api.clock import Clock
from api.plans import PreemptionPlan
from controllers.gangs.configuration import GroupsConfiguration, PlanningConfiguration, check_scheduler
from controllers.gangs.mirror.evicted_pods import EvictedPods
from controllers.gangs.mirror.marked_pods import MarkedPods
from controllers.gangs.mirror.mirror import Mirror
from controllers.gangs.mirror.misread import Misread
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.mirror.scheduler_marks import SchedulerMarks
from controllers.gangs.mirror.service_accounts import ServiceAccounts
from controllers.gangs.pod_events import Hear
from controllers.gangs.promised.promises import Promises
from controllers.gangs.scheduler.configuration import SchedulerConfiguration
from controllers.gangs.scheduler.file import load
from controllers.gangs.waking.waiters import Waiters
from runtime.mirror.resources import NAMESPACES, PLANS
from runtime.mirror.views import View, Views
from runtime.mirror.watched_admission import WatchedAdmission
from runtime.mirror.watched_tables import WatchedTables

__all__ = ["Known"]


class Known:
    """What a term starts with. It leaves no trace here when it ends, except for its own promises of room."""

    def __init__(
        self, configuration: PlanningConfiguration, groups: GroupsConfiguration, views: Views, clock: Clock
    ) -> None:
        """Raises FieldError if the scheduler's configuration file cannot be read, or does not fit our settings."""
        path = configuration.scheduler_configuration
        self.scheduler: Final = load(path) if path is not None else SchedulerConfiguration()
        check_scheduler(configuration, self.scheduler)
        self.clock: Final = clock
        self.modes: Final = configuration.modes()
        watched = WatchedTables(
            views,
            configuration.costs(),
            self.scheduler.profiles,
            groups.by_owner,
            configuration.preempting(),
        )
        roster = Roster(watched.tables)
        self.promises: Final = Promises(watched.tables, roster, clock)
        self.limits: Final = configuration.eviction_limits()
        self.evicted: Final = EvictedPods(roster, clock)
        if self.limits is not None:
            self.promises.stored.on_plan(self.evicted.seen)
        self.plans: Final[View[PreemptionPlan]] = views.watch(PLANS, self.promises.stored)
        self.mirror: Final = Mirror(
            watched,
            roster,
            (self.plans,),
            clock,
            overdue_seconds=configuration.overdue_seconds,
            max_age_seconds=configuration.max_watch_age_seconds,
        )
        if self.modes.narrowed:
            views.watch(NAMESPACES, self.modes)
        self.mirror.on_overdue(self.promises.claims.overdue_changed)
        self.waiters: Final = Waiters(roster, clock, self.modes)
        self.marked: Final = MarkedPods()
        self.scheduler_marks: Final = SchedulerMarks(clock)
        self.misread: Final = Misread()
        self.service_accounts: Final = ServiceAccounts()
        self.admission: Final = (
            WatchedAdmission(views, configuration.max_watch_age_seconds)
            if self.modes.wants_to_enforce
            else None
        )
        """None for a process that never evicts."""

    def hearers(self) -> Mapping[str, Hear]:
        """Who hears of pods in every process, by name in `pod_events.ORDER`."""
        return {
            "claims": self.promises.pod_changed,
            "workload claims": self.promises.workloads.pod_changed,
            "waiting": self.waiters.waiting.pod_changed,
            "pending": self.waiters.pending.pod_changed,
            "marked": self.marked.pod_changed,
            "scheduler marks": self.scheduler_marks.pod_changed,
            "gated": self.waiters.gated.pod_changed,
            "service accounts": self.service_accounts.pod_changed,
        }

"""Builds and runs the services that the configuration enables."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Final

import structlog

from api.clock import SYSTEM_CLOCK, Clock
from api.reached_limits import ReachedLimit
from cli.common.configuration import Configuration
from cli.serve.definitions import look
from cli.serve.election import Election
from cli.serve.leaving import Leaving
from cli.serve.loops import loop_name
from cli.serve.notes import Notes, may_evict, notes, said_of
from cli.serve.page import run_page
from controllers.account.controller import AccountController
from controllers.checks.controller import CheckController
from controllers.gangs.accounted import Accounted
from controllers.gangs.controller import GangController
from controllers.jobs.batch.controller import JobController
from controllers.jobs.pod_groups.controller import GroupController
from controllers.multikueue.controller import MultiKueueController
from controllers.quota.configuration import search_options
from controllers.quota.controller import QuotaController
from controllers.quota.observing import QuotaObserver
from extender.callers import Callers
from extender.configuration import own_address
from extender.service import EchoService, ExtenderService
from kube.client import ApiClient
from kube.lane import open_lane
from kube.lease import LeaseLock, LeaseTimes
from runtime.exchange.agreements import Agreements
from runtime.exchange.owner_stops import OwnerStops
from runtime.exchange.placements import Placements
from runtime.exchange.queued_groups import QueuedGroups
from runtime.exchange.quota_plane import QuotaPlane
from runtime.exchange.reports import Reports
from runtime.gates import ORCHESTRATED_PREEMPTION, TIME_BASED_PREEMPTION
from runtime.mirror.pauses import Pauses
from runtime.mirror.views import Views
from runtime.terms.controller import Controller
from runtime.terms.election import LeaseTerms, new_identity
from runtime.terms.process import Part, run_process
from runtime.terms.term import EternalTerms
from runtime.work.search_thread import SearchThread
from serving.garbage import collect_seldom
from webhooks.configuration import WebhooksConfiguration
from webhooks.service import WebhookService

__all__ = ["run"]

log = structlog.get_logger(__name__)

SWITCH_SECONDS: Final = 0.0001
"""How soon a thread that searches gives way to the event loop, which answers.

The time is paid after each poll of the network, so several times for each call. Python's own value is 5 ms.
"""


async def run(configuration: Configuration) -> bool:
    """Serve until SIGTERM or SIGINT. Raises OSError for a port that is taken, and the errors of the configuration.

    Returns whether a signal stopped it: no part failed.
    """
    log.info("starting", loop=loop_name(), **said_of(configuration))
    collect_seldom()
    sys.setswitchinterval(SWITCH_SECONDS)
    if configuration.page is not None:
        return await run_page(configuration, configuration.page)
    open_lane()
    clock, identity = SYSTEM_CLOCK, new_identity()
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(ApiClient.connect(configuration.kubeconfig, clock=clock))
        looking = asyncio.create_task(look(client))
        stack.callback(looking.cancel)
        views = Views(client, clock=clock, home=configuration.leader_election.resource_namespace)
        callers = Callers(clock) if configuration.extender is not None else None
        pauses = Pauses(views) if may_evict(configuration) else None
        if pauses is not None:
            pauses.export()
        leaving = Leaving(configuration)
        services = _Services(configuration, client, views, clock, stack)
        limits = services.limits_reached if configuration.planning.limits is not None else None
        said = notes(configuration, callers, pauses, services.lacking, leaving.holding, limits)
        lock = leaving.lock = _lock(configuration, client, identity, clock, said)
        services.add_nodes_plane(lock, callers, leaving, releases=await leaving.is_needed())
        if configuration.webhooks is not None:
            services.add_webhooks(configuration.webhooks)
        if configuration.quota.mode != "Off":
            services.add_quota_plane()
        terms = LeaseTerms(lock, clock) if lock is not None else EternalTerms(clock, identity)
        return await run_process(configuration.ops, views, services.parts, services.controllers, terms)


class _Services:
    """The services of one process, and what its planes tell each other. The nodes plane is added before the quota
    plane."""

    def __init__(
        self,
        configuration: Configuration,
        client: ApiClient,
        views: Views,
        clock: Clock,
        stack: AsyncExitStack,
    ) -> None:
        """`stack` ends the threads."""
        self._configuration, self._client, self._views = configuration, client, views
        self._clock, self._stack = clock, stack
        self.parts: list[Part] = []
        self.controllers: list[Controller] = []
        self._queued = QueuedGroups()
        self._stops = OwnerStops()
        self._agreements = Agreements()
        self._gangs: GangController | None = None
        self._placements: Placements | None = None
        """The nodes plane. None without one: then no PodGroup waits in a queue."""

    def limits_reached(self) -> Sequence[ReachedLimit]:
        """The limits on evictions that hold preemptors back, as far as this process knows."""
        return self._gangs.limits_reached() if self._gangs is not None else ()

    def add_nodes_plane(
        self,
        lock: LeaseLock | None,
        callers: Callers | None,
        leaving: Leaving | None = None,
        *,
        releases: bool = False,
    ) -> None:
        """The gang controller, and the extender. To observe, no scheduler has to call us; to enforce, it does.

        `releases`: something of a former Enforce may be held, so a process with Off has the controller, too.
        """
        extender, mode = self._configuration.extender, self._configuration.planning.mode
        election, leaving = Election.of(lock), leaving or Leaving(self._configuration)
        if mode == "Enforce" and extender is not None:
            gangs = self._gang_controller(leaving)
            self._placements = gangs.places
            self.controllers += [gangs, self._account(gangs)]
            self.parts.append(ExtenderService(extender, gangs, self._clock, election, callers))
            return
        observer = self._gang_controller(leaving) if mode == "Observe" or releases else None
        if observer is not None:
            self.controllers.append(observer)
            if mode == "Observe":
                self.controllers.append(self._account(observer))
        elif mode == "Off" and lock is not None:
            self.controllers.append(leaving)
            self.parts.append(leaving)
        if extender is not None:
            self.parts.append(EchoService(extender, self._clock, callers, observer, election))

    def lacking(self) -> Sequence[str]:
        """The rights that the term lacks to enforce."""
        return self._gangs.permits.lacking if self._gangs is not None else ()

    def _account(self, gangs: GangController) -> AccountController:
        settings, client, views = self._configuration.observing, self._client, self._views
        account = AccountController(settings, client, views, Accounted(gangs), self._clock)
        self._agreements.on_compared(account.compared)
        return account

    def _gang_controller(self, leaving: Leaving) -> GangController:
        self._gangs = GangController(
            self._configuration.planning,
            self._client,
            self._views,
            self._thread("search"),
            self._clock,
            QuotaPlane(self._queued, self._stops),
            self._configuration.groups,
        )
        self._gangs.holding = leaving.holding
        return self._gangs

    def add_webhooks(self, settings: WebhooksConfiguration) -> None:
        """The admission webhooks, and the controller that checks what is stored."""
        webhooks = WebhookService(
            settings,
            self._configuration.jobs,
            self._client,
            self._views,
            self._clock,
            planning=self._configuration.planning,
        )
        self.parts.append(webhooks)
        self.controllers.append(webhooks.rechecker)

    def add_quota_plane(self) -> None:
        """The controllers of a mode that is not Off. Only those of Enforce write to Kueue's kinds."""
        settings, jobs = self._configuration.quota, self._configuration.jobs
        client, views, clock = self._client, self._views, self._clock
        time_based = self._configuration.feature_gates[TIME_BASED_PREEMPTION]
        search = SearchThread(search_options(settings, time_based=time_based), self._thread("cycle"))
        if settings.mode == "Observe":
            self.controllers.append(QuotaObserver(search, client, views, clock, self._agreements))
            return
        reports = Reports()
        self.controllers += [
            QuotaController(settings, search, client, views, clock, reports, self._placements),
            JobController(jobs, client, views, reports, settings.overdue_seconds, clock, self._stops),
            CheckController(client, views, clock),
        ]
        manager = self._configuration.multikueue
        if manager is not None:
            gates = self._configuration.feature_gates[ORCHESTRATED_PREEMPTION]
            self.controllers.append(
                MultiKueueController(manager, client, views, reports.dispatched, clock, has_gates=gates)
            )
        if self._placements is not None:
            self.controllers.append(
                GroupController(jobs, client, views, reports.workloads, self._queued, clock)
            )

    def _thread(self, name: str) -> Executor:
        return self._stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix=name))


def _lock(
    configuration: Configuration, client: ApiClient, identity: str, clock: Clock, said: Notes
) -> LeaseLock | None:
    """The Lease; None without an election. `said`: what the process says of itself on it."""
    settings, extender = configuration.leader_election, configuration.extender
    if not settings.leader_elect:
        return None
    times = LeaseTimes(
        settings.lease_duration_seconds, settings.renew_deadline_seconds, settings.retry_period_seconds
    )
    address = own_address(extender) if extender is not None else ""
    return LeaseLock(
        client,
        settings.resource_namespace,
        settings.resource_name,
        identity,
        times,
        clock,
        address,
        notes=said,
    )

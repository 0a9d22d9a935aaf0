"""Builds and runs the services that the configuration enables."""

from __future__ import annotations

import sys
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AsyncExitStack
from typing import Final, NamedTuple, Self

from api.clock import SYSTEM_CLOCK, Clock
from cli.common.configuration import Configuration
from cli.serve.notes import notes
from controllers.checks.controller import CheckController
from controllers.gangs.controller import GangController
from controllers.jobs.batch.controller import JobController
from controllers.jobs.pod_groups.controller import GroupController
from controllers.quota.configuration import search_options
from controllers.quota.controller import QuotaController
from controllers.quota.observing import QuotaObserver
from extender.callers import Callers
from extender.configuration import own_address
from extender.service import ExtenderService
from kube.client import ApiClient
from kube.lease import LeaseLock, LeaseTimes
from runtime.exchange.owner_stops import OwnerStops
from runtime.exchange.placements import Placements
from runtime.exchange.queued_groups import QueuedGroups
from runtime.exchange.workload_reports import WorkloadReports
from runtime.gates import TIME_BASED_PREEMPTION
from runtime.mirror.views import Views
from runtime.terms.controller import Controller
from runtime.terms.election import LeaseTerms, new_identity
from runtime.terms.process import Part, run_process
from runtime.terms.term import EternalTerms
from serving.garbage import collect_seldom
from webhooks.service import WebhookService

__all__ = ["run"]

SWITCH_SECONDS: Final = 0.0005
"""How soon a thread that searches gives way to the event loop, which answers.

Python's own 5 ms are paid at each step of an answer that waits for the network: several times for each call.
"""


async def run(configuration: Configuration) -> bool:
    """Serve until SIGTERM or SIGINT. Raises OSError for a port that is taken, and the errors of the configuration.

    Returns whether it was told to stop: no part failed.
    """
    collect_seldom()
    sys.setswitchinterval(SWITCH_SECONDS)
    clock = SYSTEM_CLOCK
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(ApiClient.connect(configuration.kubeconfig, clock=clock))
        views = Views(client, clock=clock)
        identity = new_identity()
        lock = _lock(configuration, client, identity, clock)
        parts: list[Part] = []
        controllers: list[Controller] = []
        queued = QueuedGroups() if configuration.extender is not None else None
        placements: Placements | None = None
        callers: Callers | None = None
        stops = OwnerStops()
        if configuration.extender is not None:
            executor = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="search"))
            gangs = GangController(
                configuration.planning, client, views, executor, clock, queued, stops, configuration.groups
            )
            controllers.append(gangs)
            placements = gangs.places
            service = ExtenderService(configuration.extender, gangs, clock, _Election.of(lock))
            callers = service.callers
            parts.append(service)
        if configuration.webhooks is not None:
            gates_members = configuration.planning.gates != "Off"
            webhooks = WebhookService(
                configuration.webhooks,
                configuration.jobs,
                client,
                views,
                clock,
                gates_members=gates_members,
            )
            parts.append(webhooks)
            controllers.append(webhooks.rechecker)
        if configuration.quota.mode != "Off":
            cycles = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="cycle"))
            nodes = _Nodes(queued, placements, stops)
            controllers += _quota_controllers(configuration, client, views, cycles, clock, nodes)
        if lock is not None:
            lock.notes = notes(configuration, callers)
        terms = LeaseTerms(lock, clock) if lock is not None else EternalTerms(clock, identity)
        return await run_process(configuration.ops, views, parts, controllers, terms)


class _Nodes(NamedTuple):
    """What the quota plane and the nodes plane tell each other."""

    queued: QueuedGroups | None
    """PodGroups in queues. None without a nodes plane: then no PodGroup waits in a queue."""
    placements: Placements | None
    """The nodes plane; None if it does not run here."""
    stops: OwnerStops
    """Where the nodes plane finds whoever runs Jobs."""


def _quota_controllers(
    configuration: Configuration,
    client: ApiClient,
    views: Views,
    cycles: Executor,
    clock: Clock,
    nodes: _Nodes,
) -> list[Controller]:
    """Those of a mode that is not Off. `cycles` runs the cycles. Only those of Enforce write to Kueue's kinds."""
    settings = configuration.quota
    options = search_options(settings, time_based=configuration.feature_gates[TIME_BASED_PREEMPTION])
    if settings.mode == "Observe":
        return [QuotaObserver(options, client, views, cycles, clock)]
    reports, nodes.stops.is_expected = WorkloadReports(), True
    groups: list[Controller] = []
    if nodes.queued is not None:
        groups.append(GroupController(configuration.jobs, client, views, reports, nodes.queued, clock))
    return [
        QuotaController(settings, options, client, views, cycles, clock, reports, nodes.placements),
        JobController(
            configuration.jobs, client, views, reports, settings.overdue_seconds, clock, nodes.stops
        ),
        CheckController(client, views, clock),
        *groups,
    ]


def _lock(configuration: Configuration, client: ApiClient, identity: str, clock: Clock) -> LeaseLock | None:
    """The Lease; None without an election."""
    settings, extender = configuration.leader_election, configuration.extender
    if not settings.leader_elect:
        return None
    times = LeaseTimes(
        settings.lease_duration_seconds, settings.renew_deadline_seconds, settings.retry_period_seconds
    )
    address = own_address(extender) if extender is not None else ""
    return LeaseLock(
        client, settings.resource_namespace, settings.resource_name, identity, times, clock, address
    )


class _Election:
    """What the extender asks about the Lease (see `extender.service.Election`)."""

    def __init__(self, lock: LeaseLock) -> None:
        self._lock = lock

    @classmethod
    def of(cls, lock: LeaseLock | None) -> Self | None:
        return cls(lock) if lock is not None else None

    @property
    def leader(self) -> str:
        holder = self._lock.holder
        return holder.address if holder is not None else ""

    @property
    def in_touch(self) -> bool:
        return self._lock.in_touch

"""Builds and runs the services that the configuration enables."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack

from api.clock import SYSTEM_CLOCK, Clock
from cli.common.configuration import Configuration
from controllers.gangs.controller import GangController
from extender.service import ExtenderService
from kube.client import ApiClient
from kube.lease import LeaseLock, LeaseTimes
from runtime.controller import Controller
from runtime.election import LeaseTerms, new_identity
from runtime.process import Part, run_process
from runtime.term import EternalTerms, Terms
from runtime.views import Views
from serving.garbage import collect_seldom
from webhooks.service import WebhookService

__all__ = ["run"]


async def run(configuration: Configuration) -> None:
    """Serve until SIGTERM or SIGINT. Raises OSError for a port that is taken, and the errors of the configuration."""
    collect_seldom()
    clock = SYSTEM_CLOCK
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(ApiClient.connect(configuration.kubeconfig, clock=clock))
        views = Views(client, clock=clock)
        parts: list[Part] = []
        controllers: list[Controller] = []
        if configuration.extender is not None:
            executor = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="search"))
            gangs = GangController(configuration.planning, client, views, executor, clock)
            controllers.append(gangs)
            parts.append(ExtenderService(configuration.extender, gangs, clock))
        if configuration.webhooks is not None:
            gates_members = configuration.planning.gates != "Off"
            webhooks = WebhookService(
                configuration.webhooks, client, views, clock, gates_members=gates_members
            )
            parts.append(webhooks)
            controllers.append(webhooks.rechecker)
        await run_process(configuration.ops, views, parts, controllers, _terms(configuration, client, clock))


def _terms(configuration: Configuration, client: ApiClient, clock: Clock) -> Terms:
    settings, identity = configuration.leader_election, new_identity()
    if not settings.leader_elect:
        return EternalTerms(clock, identity)
    times = LeaseTimes(
        settings.lease_duration_seconds, settings.renew_deadline_seconds, settings.retry_period_seconds
    )
    lock = LeaseLock(client, settings.resource_namespace, settings.resource_name, identity, times, clock)
    return LeaseTerms(lock, identity, times, clock)

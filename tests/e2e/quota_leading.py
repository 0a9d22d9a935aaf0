"""A quota controller that leads in the process of the test, and Workloads on its API server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest

from api.backoff import Backoff
from api.clock import SYSTEM_CLOCK
from controllers.quota.configuration import QuotaConfiguration
from controllers.quota.controller import QuotaController
from hack.controlplane.client import Client, Json
from hack.controlplane.plane import ControlPlane
from kube.reflector import Timing
from quota.search.decision import Options
from runtime.exchange.reports import Reports
from runtime.mirror.views import Views
from runtime.terms.term import Term
from runtime.work.search_thread import SearchThread
from tests.e2e.support import condition
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.connected import connected
from tests.kit.manifests import KUEUE

__all__ = ["create", "leading", "remove", "until", "until_true", "workload"]

TIMING: Final = Timing(backoff=Backoff(0.1, 0.5), refused=Backoff(0.3, 0.3))


@asynccontextmanager
async def leading(
    plane: ControlPlane, number: int, reports: Reports | None = None
) -> AsyncIterator[QuotaController]:
    """A process that leads, until the end of the context."""
    async with connected(plane.kubeconfig) as client:
        views = Views(client, timing=TIMING)
        with ThreadPoolExecutor(1) as executor:
            search = SearchThread(Options(), executor)
            controller = QuotaController(
                QuotaConfiguration(), search, client, views, SYSTEM_CLOCK, reports or Reports()
            )
            term = Term(number, SYSTEM_CLOCK, holder=f"holder-{number}")
            tasks = [asyncio.create_task(each) for each in (views.run(), controller.lead(term))]
            try:
                yield controller
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


def workload(namespace: str, name: str, cpus: int, priority: int) -> Json:
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": cpus}}}
    pods = {"name": "main", "count": 1, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"queueName": "lq", "priority": priority, "podSets": [pods]},
    }


def remove(client: Client, kind: str, body: Json) -> None:
    """Whatever keeps it: nobody leads any longer."""
    meta = body["metadata"]
    where = meta["name"], *([meta["namespace"]] if "namespace" in meta else [])
    client.delete(KUEUE, kind, *where)
    if meta.get("finalizers"):
        client.patch(KUEUE, kind, meta["name"], {"metadata": {"finalizers": []}}, meta.get("namespace"))


async def until(find: Callable[[], Any], holds: Callable[[Any], object], what: str) -> Any:
    seen: Any = None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not holds(seen := await asyncio.to_thread(find)):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"{what}: {seen}")
    return seen


async def until_true(client: Client, namespace: str, name: str, type_: str) -> Json:
    """The Workload, once the condition is True."""
    found: Json = await until(
        lambda: client.get(KUEUE, "Workload", name, namespace),
        lambda body: (condition(body, type_) or {}).get("status") == "True",
        f"{name} is not {type_}",
    )
    return found


def create(client: Client, *bodies: Json) -> None:
    for body in bodies:
        client.create(body)

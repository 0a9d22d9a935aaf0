"""A process with Off after one with Enforce."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import Any, cast

import pytest

from api.holds import Holds
from api.published import HOLDS, PLANNING_MODE
from cli.common.configuration import Configuration
from cli.serve.election import Election
from cli.serve.leaving import HeldError, Leaving
from cli.serve.notes import notes
from cli.serve.process import _Services
from controllers.account.controller import AccountController
from controllers.gangs.configuration import PlanningConfiguration
from controllers.gangs.controller import GangController
from controllers.gangs.lifecycle.modes import Mode
from extender.configuration import ExtenderConfiguration
from kube.client import ApiClient
from kube.lease import LeaseLock, LeaseTimes
from runtime.mirror.views import Views
from runtime.terms.term import Term
from tests.kit.stage import Api

LEASES = "/apis/coordination.k8s.io/v1/leases"


def lease(**annotations: str) -> dict[str, Any]:
    named = {{"mode": PLANNING_MODE, "holds": HOLDS}[name]: value for name, value in annotations.items()}
    return {"metadata": {"name": "reprieve", "namespace": "ns", "annotations": named}, "spec": {}}


def process(mode: Mode, *leases: dict[str, Any]) -> tuple[Leaving, Configuration, Api]:
    api = Api()
    api.of(LEASES)
    api.put(LEASES, *leases)
    extender = ExtenderConfiguration(plain_http=True, bind_address="127.0.0.1")
    configuration = Configuration(planning=PlanningConfiguration(mode=mode), extender=extender)
    leaving = Leaving(configuration)
    said = notes(configuration, None, None, holding=leaving.holding)
    client = cast(ApiClient, api)
    leaving.lock = LeaseLock(client, "ns", "reprieve", "me", LeaseTimes(), api.clock, notes=said)
    return leaving, configuration, api


@pytest.mark.parametrize(
    ("mode", "leases", "expected"),
    [
        ("Off", [], False),
        ("Off", [lease()], False),  # an installation makes it, and nobody has held it yet
        ("Off", [lease(mode="Enforce")], True),
        ("Off", [lease(mode="Observe", holds='{"gates":1}')], True),
        ("Off", [lease(mode="Observe", holds="")], False),
        ("Observe", [lease(mode="Enforce")], False),  # it has the mirror anyway
    ],
)
async def test_off_has_a_mirror_only_if_something_may_be_held(
    mode: Mode, leases: list[dict[str, Any]], expected: bool
) -> None:
    leaving, configuration, api = process(mode, *leases)
    assert await leaving.is_needed() == expected
    async with AsyncExitStack() as stack:
        client = cast(ApiClient, api)
        made = _Services(configuration, client, Views(client, clock=api.clock), api.clock, stack)
        made.add_nodes_plane(leaving.lock, None, leaving, releases=expected)
        kinds = [type(each) for each in made.controllers]
        account = [AccountController] if mode == "Observe" else []
        assert kinds == [*([GangController] if expected or mode == "Observe" else [Leaving]), *account]


async def test_the_first_write_of_the_lease_says_that_something_may_be_held() -> None:
    """There is no moment at which the Lease says Observe, and the list is not made."""
    leaving, _, api = process("Observe", lease(mode="Enforce"))
    assert leaving.lock is not None
    await leaving.lock.look(1.0)
    assert await leaving.lock.take(1.0) is not None
    said = api.of(LEASES)["reprieve"]["metadata"]["annotations"]
    assert (said[PLANNING_MODE], said[HOLDS]) == ("Observe", '{"unknown":true}')
    assert Election(leaving.lock).enforces
    leaving.holding.follow(Holds)
    held = await leaving.lock.take(1.0)
    assert held is not None
    assert api.of(LEASES)["reprieve"]["metadata"]["annotations"][HOLDS] == ""
    assert Election(leaving.lock).enforces is False


async def test_a_process_without_a_mirror_starts_anew_if_it_has_to_release() -> None:
    leaving, _, api = process("Off", lease(mode="Observe", holds=""))
    assert not await leaving.is_needed()
    (task,) = leaving.tasks().values()
    running = asyncio.ensure_future(task)
    leads = asyncio.ensure_future(leaving.lead(Term(1, api.clock, holder="me")))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not running.done(), "nothing is held"
    leads.cancel()
    api.put(LEASES, lease(mode="Enforce"))
    assert leaving.lock is not None
    await leaving.lock.look(1.0)
    leads = asyncio.ensure_future(leaving.lead(Term(2, api.clock, holder="me")))
    with pytest.raises(HeldError):
        await asyncio.wait_for(running, 5.0)
    leads.cancel()
    with suppress(asyncio.CancelledError):
        await leads

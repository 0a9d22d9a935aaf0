"""Who leads, as a process sees it that wants no term."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest
from prometheus_client import REGISTRY

from kube.client import ApiClient
from kube.errors import ApiError
from kube.lease import ADDRESS, LeaseLock
from runtime.terms import election
from runtime.terms.election import LeaseTerms
from runtime.terms.term import EternalTerms
from tests.kit.clock import ManualClock
from tests.kit.lease import TIMES, Server
from tests.kit.waiting import beside, until


class Away(Server):
    """An API server that is away at first."""

    away = True

    async def request(self, *arguments: str, **options: object) -> bytes:
        if self.away:
            raise ApiError(0, "Unreachable", "it is away")
        return await super().request(*arguments, **options)  # type: ignore[arg-type]  # as they came


async def test_a_process_that_ends_keeps_up_with_who_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(election, "LOOK_SECONDS", 0.01)
    clock = ManualClock()
    server = Away(clock)
    client = cast(ApiClient, server)
    ends = LeaseLock(client, "ns", "reprieve", "ends", TIMES, clock)
    async with beside(LeaseTerms(ends, clock).follow()):
        await asyncio.sleep(0.05)
        assert _leader(ends) == ""
        server.away = False
        next_ = LeaseLock(client, "ns", "reprieve", "next", TIMES, clock, "10.0.0.7:9443")
        await next_.look(5.0)
        assert await next_.take(5.0) is not None
        await until(lambda: _leader(ends) != "")
        assert _leader(ends) == "10.0.0.7:9443"


async def test_each_write_of_the_lease_has_the_notes_of_that_moment() -> None:
    clock = ManualClock()
    server = Server(clock)
    client, said = cast(ApiClient, server), {"calls": "0"}
    lock = LeaseLock(client, "ns", "reprieve", "a", TIMES, clock, "10.0.0.7:9443", notes=lambda: said)
    await lock.look(5.0)
    held = await lock.take(5.0)
    assert held is not None
    assert server.stored is not None
    assert server.stored["metadata"]["annotations"] == {ADDRESS: "10.0.0.7:9443", "calls": "0"}
    said["calls"] = "1"
    await lock.renew(held, 5.0)
    assert server.stored["metadata"]["annotations"]["calls"] == "1"


async def test_the_metric_says_who_leads_and_by_which_lease() -> None:
    def leading(lease: str) -> float | None:
        return REGISTRY.get_sample_value("reprieve_leading", {"lease": lease})

    clock = ManualClock()
    lock = LeaseLock(cast(ApiClient, Server(clock)), "ns", "metric", "a", TIMES, clock)
    terms = LeaseTerms(lock, clock)
    assert leading("metric") == 0
    async with terms.term():
        assert leading("metric") == 1
    assert leading("metric") == 0
    async with EternalTerms(clock).term():
        assert leading("") == 1
    assert leading("") == 0


async def test_a_process_whose_term_is_over_does_not_say_that_it_leads() -> None:
    """What acted in the term may still take its time to end."""
    clock = ManualClock()
    lock = LeaseLock(cast(ApiClient, Server(clock)), "ns", "over", "a", TIMES, clock)
    async with LeaseTerms(lock, clock).term() as term:
        term.end()
        await until(lambda: REGISTRY.get_sample_value("reprieve_leading", {"lease": "over"}) == 0)


def _leader(lock: LeaseLock) -> str:
    return lock.holder.address if lock.holder is not None else ""

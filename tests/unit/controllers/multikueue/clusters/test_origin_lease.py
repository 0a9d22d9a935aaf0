"""The Lease that says which manager an origin belongs to."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.names import is_subdomain
from controllers.multikueue.clusters import origin_lease
from controllers.multikueue.clusters.origin_lease import TIMES, OriginInUseError, OriginLease, lease_name
from controllers.multikueue.clusters.reach import AWAY_SECONDS
from kube.client import ApiClient
from kube.errors import ApiError
from kube.lease import Observed
from kube.sender import FencedError
from runtime.terms.term import Term
from tests.kit.clock import ManualClock
from tests.kit.lease import Fault, Server
from tests.kit.waiting import beside, until


def lease(
    server: Server, manager: str, observed: Observed | None = None, term: Term | None = None
) -> OriginLease:
    clock = server.clock
    return OriginLease(
        cast(ApiClient, server), "multikueue", manager, term or Term(1, clock), clock, observed
    )


@pytest.fixture
def server() -> Server:
    return Server(ManualClock(), None)


def holder(server: Server) -> Any:
    return server.stored and server.stored["spec"]["holderIdentity"]


async def test_it_is_taken_at_once_also_by_another_process_of_the_manager(server: Server) -> None:
    await lease(server, "a").take()
    assert holder(server) == "a"
    await lease(server, "a").take()
    assert server.version == 2


async def test_a_second_manager_is_stopped(server: Server) -> None:
    """Until the first one has been silent for as long as the Lease lasts, or gives it back."""
    first, observed = lease(server, "a"), Observed(TIMES)
    await first.take()
    for _ in range(3):
        with pytest.raises(OriginInUseError, match="kube-system a "):
            await lease(server, "b", observed).take()
        server.clock.advance(TIMES.duration / 3 + 0.1)
    await lease(server, "b", observed).take()
    assert holder(server) == "b"
    with pytest.raises(OriginInUseError):
        await first.take()


@pytest.mark.parametrize("name", ["a secret", "x" * 3000, "a\nbeta: lost"])
async def test_a_holder_that_is_no_uid_is_not_shown(server: Server, name: str) -> None:
    await lease(server, name).take()
    with pytest.raises(OriginInUseError, match="kube-system of another name uses the origin") as caught:
        await lease(server, "b").take()
    assert name not in str(caught.value)


async def test_what_is_given_back_is_free(server: Server) -> None:
    first = lease(server, "a")
    await first.take()
    await first.release()
    await lease(server, "b").take()
    assert holder(server) == "b"
    await first.release()
    assert holder(server) == "b"


async def test_who_lost_it_while_it_did_not_look_stops(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin_lease, "TIMES", TIMES.__class__(retry_period=0.001))
    first = lease(server, "a")
    await first.take()
    server.stored = None
    await lease(server, "b").take()
    with pytest.raises(OriginInUseError):
        await first.keep(lambda: None, lambda: None)


async def test_each_answer_to_a_renewal_is_a_word_and_a_failure_is_none(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origin_lease, "TIMES", TIMES.__class__(retry_period=0.001))
    first, words = lease(server, "a"), list[int]()
    await first.take()
    server.faults = [Fault(lost=True)] * 3
    missed = list[int]()
    heard = lambda: words.append(len(server.faults))  # noqa: E731 - it has no name of its own
    async with beside(first.keep(heard, lambda: missed.append(len(server.faults)))):
        await until(lambda: len(words) >= 2)
    assert set(words) == {0}
    assert missed == [2, 1, 0]


async def test_a_slow_cluster_gives_a_word_before_it_counts_as_away(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each answer takes five seconds. Nor does a request that is lost for good make it away: the next one comes in
    time."""
    monkeypatch.setattr(origin_lease, "TIMES", TIMES.__class__(retry_period=0.001))
    first, words = lease(server, "a"), list[float]()
    await first.take()
    server.faults = [Fault(after=5.0), Fault(lost=True), Fault(after=1.0)]
    began = server.clock.monotonic()
    async with beside(first.keep(lambda: words.append(server.clock.monotonic() - began), lambda: None)):
        await until(lambda: len(words) >= 2)
    assert words[0] + TIMES.retry_period < AWAY_SECONDS
    assert words[1] - words[0] + TIMES.retry_period < AWAY_SECONDS


async def test_nothing_is_written_after_the_term(server: Server) -> None:
    term = Term(1, server.clock)
    held = lease(server, "a", term=term)
    await held.take()
    term.end()
    with pytest.raises(FencedError):
        await held.take()
    with pytest.raises(ApiError):
        await held.release()
    assert server.version == 1


@given(st.from_regex(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)", fullmatch=True))
def test_each_origin_has_a_name_that_objects_can_have(origin: str) -> None:
    assert is_subdomain(lease_name(origin))
    assert lease_name(origin) != lease_name(f"{origin}a"[:63]) or len(origin) == 63


def test_origins_that_differ_in_case_have_different_names() -> None:
    names = [lease_name(each) for each in ("team", "Team", "TEAM", "te_am", "te-am", "te.am")]
    assert len(set(names)) == len(names)
    assert names[0] == "multikueue-team"

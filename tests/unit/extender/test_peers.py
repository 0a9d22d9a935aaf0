"""How a replica passes calls on to the one that leads: once, in time, and not again and again where nobody answers."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import orjson
import pytest
from aiohttp import web

from controllers.gangs.answering import Hold
from extender.configuration import ExtenderConfiguration, PeersConfiguration, TLSConfiguration
from extender.peers import PASSED_ON_HEADER, REST_SECONDS, TURNED_DOWN_PATH, Breaker, Peers
from extender.server import extender_app
from extender.tls import ExtenderTLS
from extender.verbs import Verbs
from extender.wire import Verb
from hack.controlplane.pki import Authority
from runtime.failpoints import failpoint
from serving.listeners import serving
from tests.kit.clock import ManualClock
from tests.kit.verbs import StillWorld, pod
from tests.kit.waiting import beside, until

LOOPBACK = "127.0.0.1"
FILTER = orjson.dumps({"Pod": pod(), "NodeNames": ["n1"]})
QUICK = PeersConfiguration(filter_seconds=0.2, preempt_seconds=0.2)


class Said:
    """Notices that wait to be sent."""

    def __init__(self) -> None:
        self.waits: list[bytes] = []

    def take(self) -> bytes | None:
        return self.waits.pop() if self.waits else None

    def put_back(self, notice: bytes) -> None:
        self.waits.append(notice)


class Replica:
    """A process that passes calls on to the address that it takes for the leader's."""

    def __init__(self, answer: Hold | None, clock: ManualClock | None = None) -> None:
        self.leader = ""
        self.leads = self.is_blind = False
        self.said, self.told_of = Said(), list[bytes]()
        self.clock = clock or ManualClock()
        self.peers = Peers(QUICK, lambda: self.leader, self.said, self.clock, None)
        self.world = StillWorld(answer)

    async def pass_on(self, verb: Verb, body: bytes) -> bytes | None:
        return await self.peers.pass_on(verb, body)

    def told(self, notice: bytes) -> bool:
        self.told_of.append(notice)
        return self.leads

    @asynccontextmanager
    async def serves(self) -> AsyncIterator[str]:
        """Its address."""
        configuration = ExtenderConfiguration(bind_address=LOOPBACK, port=0, plain_http=True)
        verbs = Verbs(self.world)
        app = extender_app(verbs, configuration, failpoint, self)
        async with self.peers.connected(), serving(app, configuration) as port:
            yield f"{LOOPBACK}:{port}"


@asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """The address of a server that takes connections and says nothing."""
    ended = asyncio.Event()

    async def accept(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await ended.wait()
        writer.close()

    server = await asyncio.start_server(accept, LOOPBACK, 0)
    try:
        yield f"{LOOPBACK}:{server.sockets[0].getsockname()[1]}"
    finally:
        ended.set()
        server.close()


def nowhere() -> str:
    """An address at which nobody listens."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return f"{LOOPBACK}:{probe.getsockname()[1]}"


async def nodes(address: str) -> list[str]:
    """What the scheduler is answered there."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"http://{address}/v1/filter", data=FILTER) as answer,
    ):
        assert answer.status == 200
        names: list[str] = orjson.loads(await answer.read())["NodeNames"]
        return names


async def test_the_leader_answers_through_another_replica() -> None:
    leader, standby = Replica(None), Replica(Hold("reprieve: wait"))
    async with leader.serves() as there, standby.serves() as here:
        assert await nodes(here) == []
        standby.leader = there
        assert await nodes(here) == ["n1"]
        assert standby.world.told == ["held p"], "only the first call was its own"


async def test_a_call_is_passed_on_once() -> None:
    """Each of two takes the other one for the leader."""
    one, other = Replica(Hold("reprieve: one")), Replica(Hold("reprieve: other"))
    async with one.serves() as here, other.serves() as there:
        one.leader, other.leader = there, here
        assert await nodes(here) == []
        assert (one.world.told, other.world.told) == ([], ["held p"])


@pytest.mark.parametrize("is_blind", [True, False])
async def test_a_replica_that_does_not_know_what_others_did_answers_once_on_a_connection(
    is_blind: bool,
) -> None:
    """So the scheduler connects anew, maybe to another replica. An answer that was passed on changes nothing."""
    leader, standby = Replica(None), Replica(None)
    standby.is_blind = is_blind
    async with leader.serves() as there, standby.serves() as here, aiohttp.ClientSession() as session:
        for standby.leader, closes in (("", is_blind), (there, False)):
            async with session.post(f"http://{here}/v1/filter", data=FILTER) as answer:
                assert answer.status == 200
                assert (answer.headers.get("Connection") == "close") is closes


@pytest.mark.parametrize("how", ["silent", "nowhere", "broken"])
async def test_a_leader_that_does_not_answer_is_left_alone_for_a_while(how: str) -> None:
    standby = Replica(None)
    async with silent() as mute, standby.serves() as here:
        standby.leader = {"silent": mute, "nowhere": nowhere(), "broken": "not an address"}[how]
        asked = []
        inner = standby.peers._post

        async def post(address: str, path: str, body: bytes) -> tuple[int, bytes]:
            asked.append(address)
            return await inner(address, path, body)

        standby.peers._post = post  # type: ignore[method-assign]
        for _ in range(3):
            assert await nodes(here) == ["n1"], "its own answer"
        assert len(asked) == 1
        standby.clock.advance(REST_SECONDS)
        for _ in range(3):
            assert await nodes(here) == ["n1"]
        assert len(asked) == 2


async def test_a_loop_that_refuses_a_descriptor_is_a_leader_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """uvloop raises RuntimeError. No part of the process ends for it."""

    async def connect(*_: object, **__: object) -> socket.socket:
        raise RuntimeError("File descriptor 99999 is used by transport <TCPTransport closed=False>")

    standby = Replica(None)
    standby.leader, notice = nowhere(), b"notice"
    standby.said.put_back(notice)
    async with standby.peers.connected():
        monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", connect)
        await standby.peers._tell()
    assert standby.said.waits == [notice]


def test_another_leader_is_asked_at_once() -> None:
    clock = ManualClock()
    breaker = Breaker(clock)
    assert breaker.allows("a")
    breaker.failed("a")
    assert not breaker.allows("a")
    assert breaker.allows("b")
    breaker.failed("a")
    assert breaker.allows("b"), "a late failure of the former one"


def test_after_a_rest_one_call_tries_and_its_success_lets_all_pass() -> None:
    clock = ManualClock()
    breaker = Breaker(clock)
    assert breaker.allows("a")
    breaker.failed("a")
    clock.advance(REST_SECONDS)
    assert [breaker.allows("a"), breaker.allows("a")] == [True, False]
    breaker.answered("a")
    assert [breaker.allows("a"), breaker.allows("a")] == [True, True]


async def test_a_refusal_is_no_failure_of_the_leader() -> None:
    """What is no request gets the same 400 from both."""
    leader, standby = Replica(None), Replica(None)
    async with leader.serves() as there, standby.serves() as here, aiohttp.ClientSession() as session:
        standby.leader = there
        async with session.post(f"http://{here}/v1/filter", data=b"[]") as answer:
            assert answer.status == 400
        assert standby.peers._breaker.allows(there)
        assert standby.peers._breaker.allows(there)


async def test_a_kept_connection_that_has_ended_costs_no_call() -> None:
    """The first leader's process is replaced at the same address."""
    standby = Replica(Hold("reprieve: wait"))

    async def answer(request: web.Request) -> web.Response:
        assert PASSED_ON_HEADER in request.headers
        return web.json_response({"NodeNames": ["n1"]})

    app = web.Application()
    app.router.add_post("/v1/filter", answer)
    async with standby.serves() as here:
        for _ in range(2):
            runner = web.AppRunner(app)
            await runner.setup()
            port = int(standby.leader.rpartition(":")[2] or 0)
            site = web.TCPSite(runner, LOOPBACK, port, reuse_address=True)
            await site.start()
            standby.leader = f"{LOOPBACK}:{runner.addresses[0][1]}"
            assert await nodes(here) == ["n1"]
            await runner.cleanup()
            app = web.Application()
            app.router.add_post("/v1/filter", answer)


async def test_the_leader_is_told_until_it_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("extender.peers.NOTICE_SECONDS", 0.01)
    leader, standby = Replica(None), Replica(None)
    standby.said.waits.append(b"{}")
    async with leader.serves() as there, standby.serves(), beside(standby.peers.tell()):
        standby.leader = there
        await until(lambda: len(leader.told_of) > 1)
        await until(lambda: bool(standby.said.waits))  # it is taken for the time of a call
        leader.leads = True
        await until(lambda: not standby.said.waits)
    assert set(leader.told_of) == {b"{}"}


async def test_at_the_end_the_leader_is_told_once_more() -> None:
    leader, standby = Replica(None), Replica(None)
    leader.leads = True
    async with leader.serves() as there:
        async with standby.serves():
            standby.leader = there
            standby.said.waits.append(b"{}")
        assert leader.told_of == [b"{}"]


async def test_looking_for_somebody_to_tell_of_keeps_no_call_from_the_leader() -> None:
    leader, standby = Replica(None), Replica(Hold("reprieve: wait"))
    async with leader.serves() as there, standby.serves() as here:
        standby.leader = there
        standby.peers._breaker.allows(there)
        standby.peers._breaker.failed(there)
        await standby.peers._tell()
        standby.clock.advance(REST_SECONDS)
        await standby.peers._tell()
        assert await nodes(here) == ["n1"]


async def test_a_replica_that_does_not_lead_takes_no_notice() -> None:
    replica = Replica(None)
    async with (
        replica.serves() as address,
        aiohttp.ClientSession() as session,
        session.post(f"http://{address}{TURNED_DOWN_PATH}", data=b"{}") as answer,
    ):
        assert answer.status == 409, "it does not lead"


# ---- TLS


def pair(folder: Path, *, as_replica: bool) -> TLSConfiguration:
    authority = Authority(folder, "extender")
    make: Callable[..., object] = authority.replica if as_replica else authority.server
    make("tls", ["reprieve.example"])
    return TLSConfiguration(
        cert_file=str(folder / "tls.crt"),
        key_file=str(folder / "tls.key"),
        client_ca_file=str(authority.pair.certificate),
    )


@pytest.mark.parametrize(
    ("as_replica", "name", "answers"),
    [
        pytest.param(True, "reprieve.example", True, id="both usages"),
        pytest.param(False, "reprieve.example", False, id="no client's certificate"),
        pytest.param(True, "other.example", False, id="another name"),
    ],
)
async def test_replicas_show_each_other_their_certificates(
    tmp_path: Path, as_replica: bool, name: str, answers: bool
) -> None:
    configuration = ExtenderConfiguration(
        bind_address=LOOPBACK, port=0, tls=pair(tmp_path, as_replica=as_replica)
    )
    assert configuration.tls is not None
    tls = ExtenderTLS(configuration.tls)
    await tls.load()
    context: ssl.SSLContext = tls.as_client
    assert tls.as_client is context, "kept connections need the same one"
    app = extender_app(Verbs(StillWorld()), configuration, failpoint)
    async with serving(app, configuration, tls.context) as port:
        settings = PeersConfiguration(server_name=name, filter_seconds=5)
        peers = Peers(settings, lambda: f"{LOOPBACK}:{port}", Said(), ManualClock(), lambda: tls.as_client)
        async with peers.connected():
            assert (await peers.pass_on("filter", FILTER) is not None) is answers

"""The listeners: who gets in, and what a request may cost."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import hypothesis.strategies as st
import orjson
import pytest
from hypothesis import given, settings
from prometheus_client import REGISTRY

from extender.configuration import ExtenderConfiguration, TLSConfiguration
from extender.echo import Echo
from extender.peers import PASSED_ON_HEADER
from extender.server import Answers, extender_app
from extender.tls import ExtenderTLS
from extender.verbs import Verbs
from hack.controlplane.pki import Authority
from runtime.failpoints import failpoint
from serving.listeners import serving
from serving.ops import ops_app
from serving.sections import OpsConfiguration
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.examples import examples
from tests.kit.verbs import StillWorld, pod
from tests.kit.waiting import until

LOOPBACK = "127.0.0.1"
FILTER = orjson.dumps({"Pod": pod(), "NodeNames": ["n1"]})
PREEMPT = orjson.dumps({"Pod": pod(), "NodeNameToMetaVictims": {}})


@asynccontextmanager
async def listening(
    tls: TLSConfiguration | None = None, answers: Answers | None = None, **limits: float
) -> AsyncIterator[str]:
    """The server's URL; certificates are looked after as in a process."""
    configuration = ExtenderConfiguration(
        bind_address=LOOPBACK,
        port=0,
        tls=tls,
        plain_http=tls is None,
        **limits,  # type: ignore[arg-type]  # limits are numbers
    )
    app = extender_app(answers or Verbs(StillWorld()), configuration, failpoint)
    ours = ExtenderTLS(tls) if tls else None
    if ours is not None:
        await ours.load()
    tasks = [asyncio.create_task(task) for task in ours.tasks().values()] if ours else []
    try:
        async with serving(app, configuration, ours.context if ours else None) as port:
            yield f"{'https' if tls else 'http'}://{LOOPBACK}:{port}/v1"
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def post(url: str, body: bytes, **options: object) -> tuple[int, bytes]:
    async with aiohttp.ClientSession() as session, session.post(url, data=body, **options) as answer:  # type: ignore[arg-type] # options are aiohttp's
        return answer.status, await answer.read()


async def test_both_verbs_answer() -> None:
    async with listening() as url:
        status, body = await post(f"{url}/filter", FILTER)
        assert (status, orjson.loads(body)["NodeNames"]) == (200, ["n1"])
        status, body = await post(f"{url}/preempt", PREEMPT)
        assert (status, orjson.loads(body)) == (200, {"NodeNameToMetaVictims": {}})


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"pod": {}, "nodenames": []}',
        b'{"Pod": null, "NodeNames": ["n1"]}',
        b'{"Pod": {"metadata": {"name": "p"}, "spec": {}}, "NodeNames": "n1"}' + b"x",
        b"[" * 100_000,
        b'{"Pod": NaN}',
        b'{"Pod": {"metadata": {"name": "\xff"}}}',
    ],
)
@pytest.mark.parametrize("verb", ["filter", "preempt"])
async def test_what_is_no_request_is_refused_and_never_answered(verb: str, body: bytes) -> None:
    async with listening() as url:
        status, text = await post(f"{url}/{verb}", body)
        assert status == 400
        assert text.startswith(verb.encode())


async def test_what_is_left_to_the_scheduler_comes_back_whatever_the_pod_is() -> None:
    async with listening(answers=Echo()) as url:
        status, body = await post(f"{url}/filter", b'{"Pod": null, "NodeNames": ["n1" , "n2"]}')
        assert (status, body.split(b',"Failed')[0]) == (200, b'{"Nodes":null,"NodeNames":["n1" , "n2"]')
        assert (await post(f"{url}/preempt", b"[]"))[0] == 400


async def test_calls_of_schedulers_are_counted_and_those_of_replicas_are_not() -> None:
    def counted() -> float:
        return REGISTRY.get_sample_value("reprieve_extender_calls_total", {"verb": "filter"}) or 0.0

    async with listening() as url:
        before = counted()
        await post(f"{url}/filter", FILTER)
        await post(f"{url}/filter", FILTER, headers={PASSED_ON_HEADER: "1"})
        assert counted() == before + 1


async def test_a_body_that_is_too_large_is_refused() -> None:
    async with listening(max_body_bytes=1000) as url:
        assert (await post(f"{url}/filter", b" " * 1001))[0] == 413


async def test_a_compressed_body_is_refused() -> None:
    async with listening() as url:
        status, _ = await post(f"{url}/filter", gzip.compress(FILTER), headers={"Content-Encoding": "gzip"})
        assert status == 415


async def test_a_body_that_does_not_come_is_refused() -> None:
    async with listening(read_timeout_seconds=0.2) as url:

        async def slowly() -> AsyncIterator[bytes]:
            yield FILTER[:10]
            await asyncio.sleep(30)

        assert (await post(f"{url}/filter", slowly()))[0] == 408  # type: ignore[arg-type] # a body may come in parts


async def test_more_requests_than_slots_are_refused_at_once() -> None:
    async with listening(max_concurrent_requests=1, read_timeout_seconds=30) as url:
        release = asyncio.Event()

        async def held() -> AsyncIterator[bytes]:
            yield FILTER[:10]
            await release.wait()
            yield FILTER[10:]

        first = asyncio.create_task(post(f"{url}/filter", held()))  # type: ignore[arg-type] # a body may come in parts
        status = 200
        while status == 200:
            status, _ = await post(f"{url}/filter", FILTER)
        assert status == 503
        release.set()
        assert (await first)[0] == 200


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[TLSConfiguration, Path, Path, Path]:
    """What the server has, and its CA, and two client pairs in one file each: of its CA, of another."""
    folder = tmp_path_factory.mktemp("pki")
    ours, theirs = Authority(folder / "ours", "ours"), Authority(folder / "theirs", "theirs")
    server, client = ours.server("server", [LOOPBACK]), ours.client("scheduler", "scheduler", ())
    stranger = theirs.client("stranger", "stranger", ())
    tls = TLSConfiguration(
        cert_file=str(server.certificate), key_file=str(server.key), client_ca_file=str(ours.pair.certificate)
    )
    pairs = []
    for name, pair in (("client", client), ("stranger", stranger)):
        pairs.append(folder / f"{name}.pem")
        pairs[-1].write_bytes(pair.certificate.read_bytes() + pair.key.read_bytes())
    return tls, ours.pair.certificate, pairs[0], pairs[1]


async def test_only_a_certificate_of_the_client_ca_gets_in(
    certificates: tuple[TLSConfiguration, Path, Path, Path],
) -> None:
    tls, authority, client, stranger = certificates
    async with listening(tls) as url:
        context = ssl.create_default_context(cafile=authority)
        context.load_cert_chain(client)
        assert (await post(f"{url}/filter", FILTER, ssl=context))[0] == 200
        for pair in (None, stranger):
            context = ssl.create_default_context(cafile=authority)
            if pair is not None:
                context.load_cert_chain(pair)
            with pytest.raises(aiohttp.ClientError):
                await post(f"{url}/filter", FILTER, ssl=context)


class Files:
    """What the server reads, written by a test; all of one CA until it is replaced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cert, self.key, self.ca = (folder / name for name in ("tls.crt", "tls.key", "ca.crt"))
        self.authorities = [Authority(folder / name, name) for name in ("old", "new")]
        self.configuration = TLSConfiguration(
            cert_file=str(self.cert),
            key_file=str(self.key),
            client_ca_file=str(self.ca),
            poll_seconds=0.01,
        )

    def serve(self, which: int) -> None:
        """A certificate of that CA is put into the files, as a Secret's volume would be changed."""
        pair = self.authorities[which].server("server", [LOOPBACK])
        self.cert.write_bytes(pair.certificate.read_bytes())
        self.key.write_bytes(pair.key.read_bytes())

    def accept(self, which: int) -> None:
        """Only clients of that CA."""
        self.ca.write_bytes(self.authorities[which].pair.certificate.read_bytes())

    def spoil(self, which: str) -> str:
        """One of the files is nonsense; returns its name."""
        path: Path = getattr(self, which)
        path.write_text("nothing")
        return path.name

    def remove(self, which: str) -> str:
        """One of the files is gone; returns its name."""
        path: Path = getattr(self, which)
        path.unlink()
        return path.name

    def client(self, server: int, client: int) -> ssl.SSLContext:
        """A client that trusts the one CA, and has a certificate of the other."""
        context = ssl.create_default_context(cafile=self.authorities[server].pair.certificate)
        pair = self.authorities[client].client("scheduler", "scheduler")
        context.load_cert_chain(pair.certificate, pair.key)
        return context


async def answers(url: str, context: ssl.SSLContext) -> bool:
    """Whether a new connection is let in."""
    try:
        return (await post(f"{url}/filter", FILTER, ssl=context))[0] == 200
    except aiohttp.ClientError:
        return False


async def becomes(expected: bool, url: str, context: ssl.SSLContext) -> None:
    """Wait until a new connection is let in, or no longer."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await answers(url, context) != expected:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.02)


def faults() -> float:
    return REGISTRY.get_sample_value("reprieve_extender_certificate_faults_total") or 0.0


async def test_certificates_are_replaced_while_the_scheduler_calls(tmp_path: Path) -> None:
    files = Files(tmp_path)
    files.serve(0)
    files.accept(0)
    before = files.client(server=0, client=0)
    async with listening(files.configuration) as url, aiohttp.ClientSession() as session:

        async def on_the_old_connection() -> int:
            async with session.post(f"{url}/filter", data=FILTER, ssl=before) as answer:
                await answer.read()
                return answer.status

        assert await on_the_old_connection() == 200
        files.serve(1)
        await becomes(True, url, files.client(server=1, client=0))
        assert not await answers(url, before)
        files.accept(1)
        await becomes(True, url, files.client(server=1, client=1))
        assert not await answers(url, files.client(server=1, client=0))
        assert await on_the_old_connection() == 200


@pytest.mark.parametrize(
    "broken", ["key of another pair", "no certificate", "missing", "no CA", "CA missing"]
)
async def test_broken_files_leave_what_is_shown_and_are_counted(tmp_path: Path, broken: str) -> None:
    files = Files(tmp_path)
    files.serve(0)
    files.accept(0)
    good = files.client(server=0, client=0)
    async with listening(files.configuration) as url:
        count = faults()
        match broken:
            case "key of another pair":
                files.key.write_bytes(files.authorities[1].pair.key.read_bytes())
            case "no certificate":
                files.cert.write_text("nothing")
            case "missing":
                files.cert.unlink()
            case "no CA":
                files.ca.write_text("nothing")
            case _:
                files.ca.unlink()
        await until(lambda: faults() > count)
        assert await answers(url, good)
        files.serve(1)
        files.accept(0)
        await becomes(True, url, files.client(server=1, client=0))


@pytest.mark.parametrize("missing", ["cert", "key", "ca"])
async def test_without_its_files_it_does_not_start(tmp_path: Path, missing: str) -> None:
    files = Files(tmp_path)
    files.serve(0)
    files.accept(0)
    for damage in (files.spoil, files.remove):
        name = damage(missing)
        with pytest.raises(OSError, match=name):
            await ExtenderTLS(files.configuration).load()


async def test_readiness_names_what_is_wrong() -> None:
    faults: dict[str, str | None] = {"synced": "not yet", "plans": None}
    app = ops_app({name: lambda name=name: faults[name] for name in faults})  # type: ignore[misc] # a default of a lambda has no type
    async with (
        serving(app, OpsConfiguration(bind_address=LOOPBACK, port=0)) as port,
        aiohttp.ClientSession(f"http://{LOOPBACK}:{port}") as session,
    ):
        async with session.get("/readyz") as answer:
            assert answer.status == 503
            assert "[-]synced not yet" in await answer.text()
        faults["synced"] = None
        async with session.get("/readyz") as answer:
            assert answer.status == 200
        async with session.get("/livez") as answer:
            assert answer.status == 200
        faults["plans"] = "gone"
        async with session.get("/metrics") as answer:
            lines = (await answer.text()).splitlines()
        assert 'reprieve_healthcheck{name="synced"} 1.0' in lines
        assert 'reprieve_healthcheck{name="plans"} 0.0' in lines


@given(
    body=st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["Pod", "NodeNames", "metadata", "spec", "status", "containers", "UID"]),
                inner,
                max_size=4,
            )
        ),
        max_leaves=12,
    ).map(
        lambda value: orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_DATETIME) if _is_json(value) else b"x"
    )
)
@settings(max_examples=examples(500), deadline=None)
def test_no_body_is_our_fault(body: bytes) -> None:
    """Whatever comes: 200 or 400, never 500."""

    async def ask() -> None:
        async with listening() as url:
            for verb in ("filter", "preempt"):
                assert (await post(f"{url}/{verb}", body))[0] in (200, 400)

    asyncio.run(ask())


def _is_json(value: object) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True

"""The listener: who gets in, and what a request may cost."""

from __future__ import annotations

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from hack.controlplane.pki import Authority
from serving.certificates.live_context import LiveContext
from serving.listeners import serving
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.webhooks.reviews import review
from tests.unit.webhooks.support import BAD, JSON, LOOPBACK, post, queue, reviewer
from webhooks.configuration import WebhooksConfiguration
from webhooks.registrations import REGISTRATIONS
from webhooks.server import review_app

GOOD = orjson.dumps(review(queue(), "ClusterQueue"))
PATH = "/validate/clusterqueue"


@asynccontextmanager
async def listening(tls: ssl.SSLContext | None = None, **settings: Any) -> AsyncIterator[str]:
    configuration = WebhooksConfiguration(bind_address=LOOPBACK, port=0, **settings)
    async with serving(review_app(reviewer(), configuration), configuration, tls) as port:
        yield f"{'https' if tls else 'http'}://{LOOPBACK}:{port}"


async def test_every_kind_is_answered_at_its_paths() -> None:
    async with listening() as url:
        for each in REGISTRATIONS:
            body = orjson.dumps(review({"metadata": {}}, each.kind))
            paths = {"validate": each.validating, "mutate": each.mutating}
            for purpose, rules in paths.items():
                status, text = await post(f"{url}/{purpose}/{each.kind.lower()}", body)
                assert status == (200 if rules else 404)
                assert not rules or orjson.loads(text)["response"]["uid"] == "u-1"


async def test_a_refusal_of_the_object_is_an_answer_and_no_error() -> None:
    async with listening() as url:
        status, text = await post(url + PATH, orjson.dumps(review(BAD, "ClusterQueue")))
        assert (status, orjson.loads(text)["response"]["allowed"]) == (200, False)


@pytest.mark.parametrize("body", [b"", b"null", b"[" * 100_000, b'{"kind": "AdmissionReview"}', b"\xff\xfe"])
async def test_what_is_no_review_is_refused(body: bytes) -> None:
    async with listening() as url:
        assert (await post(url + PATH, body))[0] == 400


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_other_methods_are_refused(method: str) -> None:
    async with (
        listening() as url,
        aiohttp.ClientSession(url) as session,
        session.request(method, PATH) as answer,
    ):
        assert answer.status == 405


@pytest.mark.parametrize("content_type", ["text/plain", "application/yaml", "application/x-protobuf"])
async def test_only_json_is_read(content_type: str) -> None:
    async with listening() as url:
        assert (await post(url + PATH, GOOD, headers={"Content-Type": content_type}))[0] == 415
        assert (await post(url + PATH, GOOD, headers={"Content-Type": "application/json; charset=utf-8"}))[
            0
        ] == 200


async def test_a_compressed_body_is_refused() -> None:
    async with listening() as url:
        headers = JSON | {"Content-Encoding": "gzip"}
        assert (await post(url + PATH, gzip.compress(GOOD), headers=headers))[0] == 415


async def test_a_body_that_is_too_large_is_refused_whether_or_not_it_says_so() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 100

    async with listening(max_body_bytes=1000) as url:
        assert (await post(url + PATH, b" " * 1001))[0] == 413
        assert (await post(url + PATH, chunks()))[0] == 413


async def test_a_body_that_does_not_come_is_refused() -> None:
    async def slowly() -> AsyncIterator[bytes]:
        yield GOOD[:10]
        await asyncio.sleep(30)

    async with listening(read_timeout_seconds=0.2) as url:
        assert (await post(url + PATH, slowly()))[0] == 408


@pytest.mark.parametrize("tail", [b"zz\r\n", b"5\r\nabcdefgh\r\n", b"-1\r\n", b"5" * 10_000], ids=range(4))
async def test_a_body_that_is_no_body_is_refused(tail: bytes) -> None:
    async with listening(read_timeout_seconds=0.2) as url:
        status = await raw(url, b"Transfer-Encoding: chunked\r\n\r\n", tail)
        assert status in (400, 408)


async def test_a_connection_that_breaks_in_a_body_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async with listening() as url:
        assert await raw(url, b"Content-Length: 10\r\n\r\n", b"{", end=True) is None
        assert (await post(url + PATH, GOOD))[0] == 200
    assert caplog.records == []


async def raw(url: str, headers: bytes, tail: bytes, *, end: bool = False) -> int | None:
    """The status of a request that no client library would make; None without an answer."""
    reader, writer = await asyncio.open_connection(LOOPBACK, int(url.rpartition(":")[2]))
    try:
        writer.write(
            f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n".encode() + headers
        )
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(tail)
        if end:
            writer.write_eof()
        line = await asyncio.wait_for(reader.readline(), PATIENCE_SECONDS)
    finally:
        writer.close()
    return int(line.split()[1]) if line else None


async def test_more_requests_than_slots_are_refused_at_once() -> None:
    release = asyncio.Event()

    async def held() -> AsyncIterator[bytes]:
        yield GOOD[:10]
        await release.wait()
        yield GOOD[10:]

    async with listening(max_concurrent_requests=1, read_timeout_seconds=30) as url:
        first = asyncio.create_task(post(url + PATH, held()))
        status = 200
        while status == 200:
            status, _ = await post(url + PATH, GOOD)
        assert status == 503
        release.set()
        assert (await first)[0] == 200
        assert (await post(url + PATH, GOOD))[0] == 200


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("pki"), "ours")


async def test_only_the_names_of_the_configuration_get_in(authority: Authority, tmp_path: Path) -> None:
    server = authority.server("server", [LOOPBACK])
    live = LiveContext(str(authority.pair.certificate))
    live.use(server.certificate.read_bytes() + server.key.read_bytes())
    async with listening(
        live.context, client_ca_file=str(authority.pair.certificate), client_names=["kube-apiserver"]
    ) as url:
        statuses = {}
        for name in ("kube-apiserver", "somebody"):
            pair = authority.client(name, name)
            client = ssl.create_default_context(cafile=authority.pair.certificate)
            client.load_cert_chain(pair.certificate, pair.key)
            statuses[name], _ = await post(url + PATH, GOOD, ssl=client)
        assert statuses == {"kube-apiserver": 200, "somebody": 403}
        nobody = ssl.create_default_context(cafile=authority.pair.certificate)
        with pytest.raises(aiohttp.ClientError):
            await post(url + PATH, GOOD, ssl=nobody)


async def test_connections_outlive_the_certificate_they_began_with(
    authority: Authority, tmp_path: Path
) -> None:
    other = Authority(tmp_path, "other")
    live = LiveContext()
    pairs = [each.server("server", [LOOPBACK]) for each in (authority, other)]
    contexts = [ssl.create_default_context(cafile=each.pair.certificate) for each in (authority, other)]
    live.use(pairs[0].certificate.read_bytes() + pairs[0].key.read_bytes())
    async with listening(live.context) as url, aiohttp.ClientSession(headers=JSON) as session:
        async with session.post(url + PATH, data=GOOD, ssl=contexts[0]) as answer:
            assert answer.status == 200
        live.use(pairs[1].certificate.read_bytes() + pairs[1].key.read_bytes())
        async with session.post(url + PATH, data=GOOD, ssl=contexts[0]) as answer:
            assert answer.status == 200  # on the connection that is there
        assert (await post(url + PATH, GOOD, ssl=contexts[1]))[0] == 200
        with pytest.raises(aiohttp.ClientError):
            await post(url + PATH, GOOD, ssl=contexts[0])

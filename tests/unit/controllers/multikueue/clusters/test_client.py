"""The client of a worker cluster: what it sends, where it goes, and what it says of answers."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path

import pytest
from aiohttp import web
from cryptography.hazmat.primitives import serialization

from api.clock import SYSTEM_CLOCK
from controllers.multikueue.clusters import client as client_module
from controllers.multikueue.clusters.addresses import AddressError, AddressGuard
from controllers.multikueue.clusters.client import MOST_REQUESTS, NO_DRY_RUN, Line, WorkerClient, opened
from controllers.multikueue.clusters.kubeconfigs import Access, KubeconfigError, parse
from controllers.multikueue.clusters.tls import context_of
from hack.controlplane.pki import Authority
from kube.errors import ApiError, LargeAnswerError
from tests.kit.multikueue_kubeconfigs import CERTIFICATE, KEY, encoded
from tests.kit.waiting import until
from tests.kit.worker_api import WorkerApi, worker_api

LOOPBACK = ["127.0.0.0/8"]
PATH = "/apis/batch/v1/jobs"


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[WorkerApi]:
    async with worker_api(tmp_path / "pki") as api:
        yield api


@asynccontextmanager
async def connected(
    access: Access, allowed: list[str] = LOOPBACK
) -> AsyncIterator[tuple[Line, WorkerClient]]:
    async with opened(access, AddressGuard(allowed), SYSTEM_CLOCK) as line:
        yield line, WorkerClient(line, "w")
    await asyncio.sleep(0.05)  # TLS connections close a little later


async def failure(client: WorkerClient) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await client.request("GET", PATH, seconds=5)
    assert caught.value.__cause__ is None
    return caught.value


async def test_a_new_token_is_used_in_place(api: WorkerApi) -> None:
    async with connected(parse(api.kubeconfig())) as (line, client):
        await client.request("GET", PATH)
        api.tokens = {"new"}
        error = await failure(client)
        assert (error.status, error.reason, error.message) == (401, "Unauthorized", "HTTP 401 Unauthorized")
        line.use_token("new")
        await client.request("GET", PATH)


@pytest.mark.parametrize("allowed", [[], ["10.0.0.0/8", "::1/128"]])
async def test_loopback_is_refused_in_our_words(api: WorkerApi, allowed: list[str]) -> None:
    async with connected(parse(api.kubeconfig()), allowed) as (_, client):
        error = await failure(client)
    assert (error.status, error.message) == (
        0,
        "the server's address is loopback, and multikueue.allowedNetworks has no such",
    )
    assert api.requests == []


async def test_a_former_refusal_of_an_address_is_not_said_again() -> None:
    """A name may have had another address before."""
    guard = AddressGuard(LOOPBACK)
    with pytest.raises(AddressError):
        guard.check("169.254.169.254")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    access = Access(f"https://127.0.0.1:{port}", token="t")
    async with opened(access, guard, SYSTEM_CLOCK) as line:
        assert (await failure(WorkerClient(line, "w"))).message == "no connection to the server"


@pytest.mark.parametrize(
    ("code", "body"),
    [
        (403, '{"kind": "Status", "reason": "Forbidden", "message": "stolen", "code": 403}'),
        (500, "stolen"),
        (404, '{"reason": "sto<len>", "message": "stolen"}'),
        (299 + 500, "stolen"),
    ],
)
async def test_no_answer_is_ever_shown(api: WorkerApi, code: int, body: str) -> None:
    """Whoever may write a kubeconfig must not read with it what only the manager can reach."""
    api.refuse = lambda _: web.Response(status=code, text=body, reason="stolen")
    async with connected(parse(api.kubeconfig())) as (_, client):
        error = await failure(client)
    assert error.status == code
    assert error.message.startswith(f"HTTP {code}")
    assert "sto" not in str(error)


@pytest.mark.parametrize("code", [400, 403])
async def test_a_webhook_that_takes_no_dry_run_is_told_from_a_refusal(api: WorkerApi, code: int) -> None:
    """The text of the answer is not shown here either."""
    text = 'admission webhook \\"stolen\\" does not support dry run'
    body = f'{{"kind": "Status", "reason": "BadRequest", "message": "{text}", "code": {code}}}'
    api.refuse = lambda _: web.Response(status=code, text=body)
    async with connected(parse(api.kubeconfig())) as (_, client):
        error = await failure(client)
    assert (NO_DRY_RUN in error.message) == (code == 400)
    assert "stolen" not in str(error)


async def test_no_redirect_is_followed_and_no_cookie_is_kept(api: WorkerApi) -> None:
    seen: list[str | None] = []

    def refuse(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Cookie"))
        response = web.Response(status=302, headers={"Location": f"https://127.0.0.1:{api.port}/stolen"})
        response.set_cookie("a", "b")
        return response

    api.refuse = refuse
    async with connected(parse(api.kubeconfig())) as (_, client):
        for _ in range(2):
            assert (await failure(client)).message == "HTTP 302 Found"
    assert seen == [None, None]


async def test_the_proxy_of_the_environment_is_not_used(
    api: WorkerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with connected(parse(api.kubeconfig())) as (_, client):
        await client.request("GET", PATH)


async def test_a_server_that_is_not_trusted_gets_no_token(api: WorkerApi, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "other").pair.certificate
    cluster = WorkerApi(other)
    cluster.port = api.port
    async with connected(parse(cluster.kubeconfig())) as (_, client):
        assert (await failure(client)).message == "the server's certificate is not trusted"
    assert api.requests == []


async def test_what_is_no_http_is_not_shown() -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-stolen\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    access = Access(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", token="t")
    async with server, connected(access) as (_, client):
        assert (await failure(client)).message == "the TLS handshake failed"


async def test_only_so_many_requests_are_in_flight(api: WorkerApi) -> None:
    """11297: others wait, and the wait counts for the limit of a request."""
    api.open.clear()
    async with connected(parse(api.kubeconfig())) as (line, client):
        tasks = [asyncio.create_task(client.request("GET", PATH)) for _ in range(3 * MOST_REQUESTS)]
        await until(lambda: len(api.requests) == MOST_REQUESTS)
        with pytest.raises(ApiError, match="wait for an answer"):
            await client.request("GET", PATH, seconds=0.05)
        beside = WorkerClient(line, "w")
        urgent = asyncio.create_task(beside.request("GET", PATH))
        await until(lambda: len(api.requests) == MOST_REQUESTS + 1)
        await until(lambda: not line.is_prompt)
        api.open.set()
        await asyncio.gather(urgent, *tasks)
    assert len(api.requests) == 3 * MOST_REQUESTS + 1


# ---- what is too large


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that a test can exceed."""
    monkeypatch.setattr(client_module, "MOST_BYTES", 2 << 20)
    monkeypatch.setattr(client_module, "MOST_LISTED", 4 << 20)


async def poured(request: web.Request, *, code: int = 200, lines: bool = False) -> web.StreamResponse:
    """An answer without end, which is small on its way."""
    response = web.StreamResponse(status=code)
    response.enable_compression(web.ContentCoding.gzip)
    await response.prepare(request)
    with suppress(ConnectionError):
        while True:
            await response.write(b"x" * (1 << 16) + (b"\n" if lines else b""))
    return response


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("query", "most"), [(None, 2), ({"limit": "500"}, 4)])
async def test_an_answer_without_end_is_cut(api: WorkerApi, query: dict[str, str] | None, most: int) -> None:
    api.pour = poured
    async with connected(parse(api.kubeconfig())) as (line, client):
        with pytest.raises(LargeAnswerError) as caught:
            await client.request("GET", PATH, query=query)
    assert caught.value.message == f"an answer has more than {most} MiB"
    assert not caught.value.is_retriable
    assert bool(line.excess) is (query is None)  # whoever lists judges the list


@pytest.mark.usefixtures("small")
async def test_an_error_without_end_is_an_error(api: WorkerApi) -> None:
    api.pour = partial(poured, code=403)
    async with connected(parse(api.kubeconfig())) as (line, client):
        error = await failure(client)
    assert (error.status, error.message, line.excess) == (403, "HTTP 403 Forbidden", "")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("lines", [False, True])
async def test_a_line_without_end_is_cut(api: WorkerApi, lines: bool) -> None:
    """Many short lines are a watch, however long it is."""
    api.pour, size = partial(poured, lines=lines), 0
    async with connected(parse(api.kubeconfig())) as (_, client):
        with (
            pytest.raises(LargeAnswerError, match="a line of a watch has more than 2 MiB")
            if not lines
            else nullcontext()
        ):
            async with client.stream(PATH, query={"watch": "true"}, read_seconds=5) as content:
                async for piece in content.iter_any():
                    size += len(piece)
                    if size > 8 << 20:
                        break
    assert (size > 8 << 20) is lines


# ---- TLS


async def test_a_client_certificate_is_shown_and_nothing_is_written(
    api: WorkerApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair = Authority(tmp_path / "pki", "worker").client("manager", "manager")
    seen: list[object] = []

    def refuse(request: web.Request) -> None:
        assert request.transport is not None
        seen.append(request.transport.get_extra_info("peercert")["subject"])

    api.refuse = refuse
    empty = tmp_path / "empty"
    empty.mkdir(mode=0o500)
    monkeypatch.setenv("TMPDIR", str(empty))
    monkeypatch.chdir(empty)
    user = {
        "client-certificate-data": encoded(pair.certificate.read_bytes()),
        "client-key-data": encoded(pair.key.read_bytes()),
    }
    async with connected(parse(api.kubeconfig(**user))) as (_, client):
        await client.request("GET", PATH)
    assert "manager" in str(seen)


@pytest.mark.parametrize(
    "access",
    [
        Access("https://a", certificate=CERTIFICATE, key=CERTIFICATE),
        Access("https://a", certificate=KEY, key=KEY),
        Access("https://a", certificate=b"-----BEGIN nothing", key=KEY),
        Access("https://a", authorities="-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"),
    ],
)
def test_certificates_that_cannot_be_used_are_refused(access: Access) -> None:
    with pytest.raises(KubeconfigError, match=r"not .*PEM") as caught:
        context_of(access)
    assert caught.value.reason == "BadKubeConfig"


def test_an_encrypted_key_asks_nobody_for_a_password() -> None:
    key = serialization.load_pem_private_key(KEY, None)
    encryption = serialization.BestAvailableEncryption(b"password")
    encrypted = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    with pytest.raises(KubeconfigError):
        context_of(Access("https://a", certificate=CERTIFICATE, key=encrypted))


def test_servers_are_verified(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "worker").pair.certificate.read_text()
    context = context_of(Access("https://a", authorities=authority))
    assert context.check_hostname
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) == 1
    assert len(context_of(Access("https://a")).get_ca_certs()) != 1

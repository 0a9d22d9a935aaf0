"""Requests: time-outs, credentials, and errors of every make."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from api.backoff import Backoff
from kube.client import ApiClient, environment_proxy
from kube.errors import ApiError
from kube.retry import Retry
from tests.kit.scripted import Script, faulty_server, status


class Once(Script):
    """The same answer always."""

    def __init__(self, answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> None:
        super().__init__()
        self._answer = answer

    async def answer(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request)


async def failure(script: Script, seconds: float = 5.0) -> ApiError:
    async with faulty_server(script) as client:
        with pytest.raises(ApiError) as caught:
            await client.request("GET", "/api/v1/pods", seconds=seconds)
    return caught.value


async def test_the_servers_own_words_are_kept() -> None:
    error = await failure(Once(Script.json(status(409, "AlreadyExists"), code=409)))
    assert (error.status, error.reason, error.message) == (409, "AlreadyExists", "told so")
    assert not error.is_retriable


async def test_retry_after_comes_from_the_header_or_the_body() -> None:
    answer = Script.json(status(429, "TooManyRequests"), code=429, headers={"Retry-After": "3"})
    assert (await failure(Once(answer))).retry_after == 3.0
    body = {**status(504, "Timeout"), "details": {"retryAfterSeconds": 2}}
    assert (await failure(Once(Script.json(body, code=504)))).retry_after == 2.0


async def test_a_proxys_answer_is_an_error_too() -> None:
    error = await failure(Once(Script.text("<h1>Bad Gateway</h1>", code=502)))
    assert error.status == 502
    assert "Bad Gateway" in str(error)
    assert error.is_retriable


async def test_a_descriptor_that_the_loop_still_has_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """uvloop raises RuntimeError if it takes the last transport with the descriptor for open. It may do so for ever."""
    tried: list[int] = []

    async def connect(*_: object, **__: object) -> socket.socket:
        with socket.socket() as made:
            tried.append(made.fileno())
        raise RuntimeError(f"File descriptor {tried[-1]} is used by transport <TCPTransport closed=False>")

    monkeypatch.setattr("aiohttp.connector.aiohappyeyeballs.start_connection", connect)
    async with faulty_server(Script()) as client:
        for _ in range(3):
            with pytest.raises(ApiError) as caught:
                await client.request("GET", "/api/v1/pods")
            assert (caught.value.status, caught.value.reason) == (0, "RuntimeError")
            assert caught.value.is_retriable
    assert len(set(tried)) == 3
    for each in tried:
        os.close(each)


async def test_what_a_caller_raises_is_not_the_servers_error() -> None:
    async with faulty_server(Once(Script.json({}))) as client:
        with pytest.raises(RuntimeError, match="mine"):
            async with client.stream("/api/v1/pods", query={}, read_seconds=5.0):
                raise RuntimeError("mine")


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    script = Script()

    async def hang(request: web.Request) -> web.StreamResponse:
        await script.stop.wait()
        return web.Response()

    script.answer = hang  # type: ignore[method-assign] # this one server only hangs
    error = await failure(script, seconds=0.05)
    assert error.status == 0
    assert error.is_retriable


@pytest.mark.parametrize("has_begun", [False, True])
async def test_who_cancels_a_request_when_its_time_is_over_cancels_it(
    monkeypatch: pytest.MonkeyPatch, has_begun: bool
) -> None:
    """The end of a term cancels the writes of the term. Each of them has a limit: the end of the term."""
    script, asked = Script(), asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        if has_begun:
            await response.prepare(request)
        asked.set()
        await script.stop.wait()
        return response

    loop = asyncio.get_running_loop()
    seconds, real = 30.0, loop.time
    async with faulty_server(Once(hang)) as client:
        request = asyncio.create_task(client.request("GET", "/api/v1/pods", seconds=seconds))
        await asked.wait()
        await asyncio.sleep(0.05 if has_begun else 0)  # the headers arrive
        loop.call_later(seconds + 5, request.cancel)  # one pass of the loop has both if it is late
        monkeypatch.setattr(loop, "time", lambda: real() + seconds + 10)
        (result,) = await asyncio.gather(request, return_exceptions=True)
        monkeypatch.undo()
        script.stop.set()
    assert isinstance(result, asyncio.CancelledError)


async def test_credentials_are_read_again_when_they_are_refused() -> None:
    tokens = iter(["old", "new"])
    token = next(tokens)
    reloads = 0

    async def check(request: web.Request) -> web.StreamResponse:
        if request.headers["Authorization"] != "Bearer new":
            return web.json_response(status(401, "Unauthorized"), status=401)
        return web.json_response({"fine": True})

    async def credentials(headers: dict[str, str]) -> None:
        headers["Authorization"] = f"Bearer {token}"

    async def reload() -> None:
        nonlocal token, reloads
        reloads += 1
        token = next(tokens, token)

    async with faulty_server(Once(check)) as plain, aiohttp.ClientSession() as session:
        client = ApiClient(session, plain.server, credentials=credentials, reload=reload)
        with pytest.raises(ApiError, match="401"):
            await client.request("POST", "/api", body=b"{}")
        assert json.loads(await client.request("GET", "/api")) == {"fine": True}
        token = "revoked"
        for _ in range(3):
            with pytest.raises(ApiError, match="401"):
                await client.request("GET", "/api")
    assert reloads == 1


async def test_reads_that_are_refused_together_are_repeated_with_what_one_of_them_reads() -> None:
    token, reloads, asked = "old", 0, 0

    async def check(request: web.Request) -> web.StreamResponse:
        nonlocal asked
        asked += 1
        if request.headers["Authorization"] != "Bearer new":
            return web.json_response(status(401, "Unauthorized"), status=401)
        return web.json_response({"fine": True})

    async def credentials(headers: dict[str, str]) -> None:
        headers["Authorization"] = f"Bearer {token}"

    async def reload() -> None:
        nonlocal token, reloads
        reloads += 1
        await asyncio.sleep(0.05)
        token = "new"

    async with faulty_server(Once(check)) as plain, aiohttp.ClientSession() as session:
        client = ApiClient(session, plain.server, credentials=credentials, reload=reload)
        answers = await asyncio.gather(*(client.request("GET", "/api") for _ in range(4)))
    assert [json.loads(each) for each in answers] == [{"fine": True}] * 4
    assert (reloads, asked) == (1, 8)


@pytest.mark.parametrize("netrc", ["", "machine 127.0.0.1 login somebody password else"])
async def test_a_kubeconfig_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netrc: str) -> None:
    """The client ignores a password for the same host in ~/.netrc."""
    (tmp_path / "netrc").write_text(netrc)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    seen: list[str] = []

    async def look(request: web.Request) -> web.StreamResponse:
        seen.append(request.headers.get("Authorization", ""))
        return web.json_response({})

    async with faulty_server(Once(look)) as plain:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(
            json.dumps(
                {
                    "current-context": "c",
                    "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                    "clusters": [{"name": "k", "cluster": {"server": plain.server}}],
                    "users": [{"name": "u", "user": {"token": "secret"}}],
                }
            )
        )
        async with ApiClient.connect(kubeconfig) as client:
            await client.request("GET", "/version")
    assert seen == ["Bearer secret"]


@pytest.mark.parametrize(
    ("server", "proxy"),
    [
        ("https://api.example:6443", "http://proxy.example:3128"),
        ("https://10.0.0.1", None),
        ("http://api.example", None),
    ],
)
def test_the_proxy_of_the_environment_is_used(
    monkeypatch: pytest.MonkeyPatch, server: str, proxy: str | None
) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "10.0.0.1")
    assert environment_proxy(server) == proxy


@pytest.mark.parametrize("content", [None, "{}", "clusters: 3", ": ["])
async def test_an_unusable_kubeconfig_is_an_error(tmp_path: Path, content: str | None) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    if content is not None:
        kubeconfig.write_text(content)
    with pytest.raises(ApiError, match="Configuration"):
        async with ApiClient.connect(kubeconfig):
            raise AssertionError("connected to nothing")


def test_waits_double_up_to_the_last_and_respect_the_server() -> None:
    retry = Retry(Backoff(1.0, 4.0))
    waits = [retry.failed() for _ in range(6)]
    for wait, middle in zip(waits, [1, 2, 4, 4, 4, 4], strict=True):
        assert 0.5 * middle <= wait <= 1.5 * middle
    assert retry.failed(ApiError(429, "TooManyRequests", "", 20.0)) == 20.0
    assert retry.failed(ApiError(429, "TooManyRequests", "", 10_000.0)) == 60.0
    retry.succeeded()
    assert retry.failed() <= 1.5

"""What an attacker tries over a socket: from another page, with secrets of others, or to keep others out."""

from __future__ import annotations

import asyncio
import io
import logging
import re
import threading
from contextlib import suppress
from typing import Any, TypeVar

import pytest
import structlog
from prometheus_client import generate_latest

import web.views.waiting
from answers.reading.page_objects import PageObjects
from answers.waiting import waiting
from tests.kit.clock import PATIENCE_SECONDS, ManualClock
from tests.unit.web.page_stage import HOST, Api, Page, cluster_page, files_page
from web.configuration import PageConfiguration
from web.sources.files import Files

T = TypeVar("T")

TOKEN = "header.payload.signature-of-anna"
SECRET = re.compile(r"reprieve-[\w-]{22}")


async def raw(port: int, request: bytes) -> bytes:
    """Whatever comes back, until the other side closes."""
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(request)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def status_of(answer: bytes) -> int:
    return int(answer.split()[1])


async def test_rebinding_a_name_opens_nothing() -> None:
    """The browser takes us for evil.example, whose address has become 127.0.0.1."""
    async with files_page() as page:
        secret = await page.log_in(code=page.code)
        for path in ("/", "/static/app-1.js", "/api/v1/session", "/api/v1/openapi.json"):
            for host in ("evil.example", f"evil.example:{page.port}", "127.0.0.1.evil.example"):
                answer = await raw(
                    page.port,
                    f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {secret}\r\n"
                    f"Sec-Fetch-Site: same-origin\r\nConnection: close\r\n\r\n".encode(),
                )
                assert status_of(answer) == 403
                assert b"<title>" not in answer


async def test_other_pages_can_neither_log_in_nor_read() -> None:
    other = {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"}
    async with files_page() as page:
        for headers in ({"Origin": other["Origin"]}, {"Sec-Fetch-Site": "cross-site"}, other):
            status, _, answered = await page.ask(
                "session", method="POST", json={"code": page.code}, headers=headers
            )
            assert status == 403
            assert not [name for name in answered if name.lower().startswith("access-control-")]
        secret = await page.log_in(code=page.code)
        assert (await page.ask("waiting", secret, headers=other))[0] == 403
        assert (await page.ask("session", secret, "DELETE", headers=other))[0] == 403
        preflight = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
        _, _, answered = await page.ask("session", method="OPTIONS", headers=preflight)
        assert not [name for name in answered if name.lower().startswith("access-control-")]


async def test_a_form_of_another_page_cannot_log_in() -> None:
    async with files_page() as page:
        for body in ({"data": '{"code": "x"}'}, {"data": {"code": page.code}}):
            headers = {"Content-Type": "text/plain"} if isinstance(body["data"], str) else {}
            assert (await page.ask("session", method="POST", headers=headers, **body))[0] == 415
        await page.log_in(code=page.code)


async def test_a_code_that_was_used_is_of_no_use() -> None:
    async with files_page() as page:
        await page.log_in(code=page.code)
        status, body, _ = await page.ask("session", method="POST", json={"code": page.code})
    assert (status, body["reason"]) == (401, "Unauthorized")


async def test_of_many_who_use_a_code_at_once_one_gets_in() -> None:
    async with files_page() as page:
        tries = [page.ask("session", method="POST", json={"code": page.code}) for _ in range(8)]
        found = [status for status, _, _ in await asyncio.gather(*tries)]
    assert sorted(found) == [201] + [401] * 7


async def test_a_session_of_another_process_is_none() -> None:
    api = Api()
    api.add(TOKEN, "anna")
    async with files_page() as one, files_page() as other, cluster_page(api) as cluster:
        secret = await one.log_in(code=one.code)
        assert (await one.ask("session", secret))[0] == 200
        for page in (other, cluster):
            status, body, _ = await page.ask("session", secret)
            assert (status, body["reason"]) == (401, "Unauthorized")
    assert secret not in api.seen, "a session is never sent to the API server"


async def test_a_token_is_of_no_use_where_codes_are_and_the_other_way_round() -> None:
    api = Api()
    api.add(TOKEN, "anna")
    async with files_page() as files, cluster_page(api) as cluster:
        assert (await files.ask("session", method="POST", json={"token": TOKEN}))[0] == 401
        assert (await files.ask("session", TOKEN))[0] == 401
        assert (await cluster.ask("session", method="POST", json={"code": files.code}))[0] == 401
        both = {"code": files.code, "token": TOKEN}
        assert (await files.ask("session", method="POST", json=both))[0] == 401
        assert (await files.ask("session", method="POST", json={"code": files.code}))[0] == 201


@pytest.mark.parametrize("what", ["code", "token"])
async def test_a_thousand_guesses_are_ten_a_second(what: str) -> None:
    api, clock = Api(), ManualClock()
    make = files_page(clock=clock) if what == "code" else cluster_page(api, clock=clock)
    async with make as page:
        found = list[int]()
        for begin in range(0, 1000, 50):
            guesses = [{what: f"guess-{begin + each}"} for each in range(50)]
            asked = [page.ask("session", method="POST", json=guess) for guess in guesses]
            answers = await asyncio.gather(*asked)
            found += [status for status, _, _ in answers]
            assert all(headers["Retry-After"] == "1" for status, _, headers in answers if status == 429)
        assert (found.count(401), found.count(429)) == (10, 990)
        assert len(api.seen) == (10 if what == "token" else 0)
        clock.advance(1)
        if what == "code":
            await page.log_in(code=page.code)


async def test_guessed_tokens_in_headers_are_attempts_to_log_in() -> None:
    api = Api()
    async with cluster_page(api, clock=ManualClock()) as page:
        found = [(await page.ask("session", f"guess-{each}"))[0] for each in range(100)]
        sessions = [(await page.ask("session", f"reprieve-guess{each}"))[0] for each in range(100)]
    assert (found.count(401), found.count(429)) == (10, 90)
    assert sessions == [401] * 100
    assert len(api.seen) == 10


@pytest.mark.parametrize(
    "line",
    [
        b"GET /api/v1/session HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer SECRET\x00\r\n\r\n",
        b"GET /api/v1/session HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer SECRET\r\n folded\r\n\r\n",
        b"GET /?token=SECRET HTTP/1.1\r\nHost: localhost\r\nBad Header: SECRET\r\n\r\n",
        b"SECRET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /SECRET HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"SECRET" * 4000 + b"\r\n\r\n",
        b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 6\r\n"
        b"Connection: close\r\n\r\nSECRET",
        b"POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b'Content-Length: 19\r\nConnection: close\r\n\r\n{"token": ["SECRET"]',
    ],
)
async def test_requests_that_cannot_be_read_leave_no_secret(
    line: bytes, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with structlog.testing.capture_logs() as logs:
        async with cluster_page(Api()) as page:
            request = line.replace(b"SECRET", b"hidden-1234")
            reader, writer = await asyncio.open_connection(HOST, page.port)
            writer.write(request)
            writer.write_eof()
            async with asyncio.timeout(PATIENCE_SECONDS):
                with suppress(ConnectionError):
                    await reader.read()
            writer.close()
    said = capfd.readouterr()
    told = f"{logs} {caplog.text} {said.out} {said.err} {generate_latest().decode()}"
    assert "hidden-1234" not in told


async def test_no_secret_is_in_logs_metrics_errors_and_addresses(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """A whole visit: log in, read, faults, log out, a token that is revoked."""
    caplog.set_level(logging.DEBUG)
    api, answers, clock = Api(), list[str](), ManualClock()
    api.add(TOKEN, "anna", "list pods")
    with structlog.testing.capture_logs() as logs:
        async with cluster_page(api, clock=clock) as page:
            secret = await page.log_in(token=TOKEN)
            for path in ("session", "waiting", "why/pod/a/b", "search?q=a", "events", "nothing", f"{secret}"):
                status, body, headers = await page.ask(path, secret)
                answers.append(f"{status} {body} {dict(headers)}")
            monkeypatch.setattr(page.source, "about", broken)  # a fault of ours
            answers.append(str(await page.ask("why/pod/a/b", secret)))
            del api.tokens[TOKEN]
            clock.advance(30)
            for used in (secret, TOKEN, "Bearer"):
                answers.append(str(await page.ask("session", used)))
            answers.append(str(await page.ask("session", method="POST", json={"token": TOKEN})))
    said = capfd.readouterr()
    told = f"{logs} {caplog.text} {said.out} {said.err} {generate_latest().decode()} {answers}"
    assert "a request failed" in told
    assert TOKEN not in told
    assert secret not in told
    assert SECRET.search(told) is None


async def broken(namespace: str, ask: object) -> object:
    raise RuntimeError(f"{TOKEN} in the message of an error")


async def test_those_who_do_not_read_cost_nobody_their_answers() -> None:
    settings = PageConfiguration(port=0, read_timeout_seconds=0.3)
    async with files_page(settings=settings) as page:
        secret = await page.log_in(code=page.code)
        slow = [await stream_unread(page, secret) for _ in range(16)]
        for number in range(20):
            page.source.show(f"w{number}")
            await asyncio.sleep(0)
            assert (await page.ask("session", secret))[0] in (200, 429)
        for _, writer in slow:
            writer.close()


async def test_who_asks_for_many_lists_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread makes all lists, and other namespaces in the address make another list."""
    begun, release = threading.Event(), threading.Event()

    def slow(*given: Any) -> object:
        begun.set()
        release.wait(PATIENCE_SECONDS)
        return waiting(*given)

    monkeypatch.setattr(web.views.waiting, "waiting", slow)
    api, token = Api(), f"{TOKEN}.anna"
    for name in ("anna", "otto"):
        api.add(f"{TOKEN}.{name}", name)
    async with cluster_page(api, files=nothing()) as page:
        same = [asyncio.create_task(page.ask("waiting", token)) for _ in range(4)]
        await asyncio.to_thread(begun.wait, PATIENCE_SECONDS)
        many = [asyncio.create_task(page.ask(f"waiting?namespace=n{each}", token)) for each in range(11)]
        refused = await first(many, 8)
        other = asyncio.create_task(page.ask("waiting?namespace=n", f"{TOKEN}.otto"))
        release.set()
        assert (await other)[0] == 200
        assert [status for status, _, _ in refused] == [429] * 8
        assert all(headers["Retry-After"] == "1" for _, _, headers in refused)
        assert [(await each)[0] for each in same] == [200] * 4, "they wait for one list"
        assert sorted([(await each)[0] for each in many]) == [200] * 3 + [429] * 8


async def first(tasks: list[asyncio.Task[T]], count: int) -> list[T]:
    """Of the tasks that end first."""
    found = list[T]()
    async with asyncio.timeout(PATIENCE_SECONDS):
        for each in asyncio.as_completed(tasks):
            found.append(await each)
            if len(found) == count:
                break
    return found


def nothing() -> Files:
    """A cluster of nothing."""
    objects = PageObjects(0)
    objects.add_file(b'{"apiVersion": "v1", "kind": "List", "items": []}', "nothing")
    return Files(objects)


async def stream_unread(page: Page, secret: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A stream whose client reads nothing."""
    reader, writer = await asyncio.open_connection(HOST, page.port, limit=1)
    writer.write(
        f"GET /api/v1/events?topics=waiting HTTP/1.1\r\nHost: {HOST}\r\nAuthorization: Bearer {secret}\r\n\r\n".encode()
    )
    await writer.drain()
    return reader, writer


async def test_a_thousand_connections_that_stay_leave_no_descriptor_and_others_come_after_them() -> None:
    settings = PageConfiguration(port=0, max_connections=300, read_timeout_seconds=0.5)
    async with files_page(settings=settings) as page:
        secret = await page.log_in(code=page.code)
        opened = [await asyncio.open_connection(HOST, page.port) for _ in range(1000)]
        for _, writer in opened:
            with suppress(ConnectionError):
                writer.write(b"GET /api/v1/session HTTP/1.1\r\nHost: x")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                with suppress(OSError, ValueError):
                    if (await page.ask("session", secret))[0] == 200:
                        break
                await asyncio.sleep(0.05)
        for _, writer in opened:
            writer.close()


@pytest.mark.parametrize("size", [65_537, 10_000_000])
async def test_a_large_body_is_not_read(size: int) -> None:
    async with files_page() as page:
        large, headers = io.BytesIO(b"x" * size), {"Content-Type": "application/json"}
        status, body, _ = await page.ask("session", method="POST", data=large, headers=headers)
    assert (status, body["reason"]) == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize(
    "path",
    [
        "/../etc/passwd",
        "/static/../service.py",
        "/static/%2e%2e%2fservice.py",
        "/static/",
        "//static/app-1.js",
    ],
)
async def test_no_path_leaves_the_folder(path: str) -> None:
    async with files_page() as page:
        answer = await raw(
            page.port, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
    assert status_of(answer) == 404

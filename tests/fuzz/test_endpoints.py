"""Whatever comes in at the endpoints: a clear answer, never a 500 and never none, in bounded memory."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import os
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import Any, Final

import aiohttp
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from tests.fuzz.bodies import bodies
from tests.fuzz.listener import HOST, ListenerProcess, listener
from tests.fuzz.openapi import document
from tests.fuzz.reviewing import PATHS, answer_of, seeds
from tests.kit.examples import examples
from webhooks.configuration import WebhooksConfiguration

CHECKS: Final = [not_a_server_error, status_code_conformance, response_schema_conformance]
HANGS_SECONDS: Final = 30.0
"""Nobody waits that long; the listener waits one second for a body."""
REFUSALS: Final = {400, 404, 405, 408, 413, 415, 417}
"""No server's fault, and each says what is wrong."""
MEMORY_MIB: Final = 1024
"""What the deployment's container may use."""

EXAMPLES: Final = settings(
    max_examples=int(os.environ.get("REPRIEVE_FUZZ_EXAMPLES", examples(200))),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

METHODS: Final = (
    "POST", "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "post", "\x7f", "", "P" * 9000,
)  # fmt: skip
TARGETS: Final = (
    *PATHS,
    *("/", "", "*", "//", "/validate/", "/validate/%2e%2e", "/validate/pod?timeout=-1", "/\xff"),
)
HEADERS: Final = (
    ("Content-Type", "application/json"), ("Content-Type", "text/plain"), ("Content-Type", ""),
    ("Content-Type", "application/json; charset=nothing"),
    ("Content-Type", "multipart/form-data; boundary="), ("Content-Encoding", "gzip"),
    ("Content-Encoding", "identity"), ("Content-Encoding", "br, gzip"), ("Transfer-Encoding", "chunked"),
    ("Transfer-Encoding", "gzip"), ("Transfer-Encoding", "x"), ("Content-Length", "0"),
    ("Content-Length", "-1"), ("Content-Length", "9" * 30), ("Content-Length", "1e3"),
    ("Expect", "100-continue"), ("Expect", "nothing"), ("Upgrade", "websocket"), ("Connection", "close"),
    ("Connection", "upgrade"), ("Host", ""), ("X", "y" * 9000), ("\x00", "\x00"), ("", ""), ("A", "b\r\n c"),
)  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[ListenerProcess]:
    """A listener, for all of it: what one request spoils the next ones find."""
    with listener() as process:
        yield process
        assert process.peak_mib() < MEMORY_MIB


def posted(connection: http.client.HTTPConnection, path: str, body: bytes) -> tuple[int, bytes]:
    """The answer to a request as API servers make it, on a connection that is kept."""
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, response.read()


@pytest.fixture(scope="module")
def connection(server: ListenerProcess) -> Iterator[http.client.HTTPConnection]:
    """A connection, which is made again when the listener has closed it."""
    with closing(http.client.HTTPConnection(HOST, server.port, timeout=HANGS_SECONDS)) as connection:
        yield connection


@EXAMPLES
@given(asked=bodies)
def test_every_body_is_answered_or_refused(
    connection: http.client.HTTPConnection, asked: tuple[str, bytes]
) -> None:
    status, text = posted(connection, *asked)
    assert status in (200, 400), text[:500]
    if status == 200:
        answer_of(text)
    else:
        assert 0 < len(text) < 1000


@EXAMPLES
@given(
    method=st.sampled_from(METHODS),
    target=st.sampled_from(TARGETS) | st.text(max_size=20),
    version=st.sampled_from(["HTTP/1.1", "HTTP/1.0", "HTTP/2", "HTTP/9.9", "", "\x00"]),
    headers=st.lists(st.integers(0, len(HEADERS) - 1).map(HEADERS.__getitem__), max_size=5),
    body=st.sampled_from(
        [b"", b"{}", b"0\r\n\r\n", b"ffffffffffffffffff\r\n", b"-1\r\n", b"3\r\n{}}\r\n0\r\n\r\n"]
    )
    | st.binary(max_size=100),
)
def test_what_is_hardly_http_is_refused(
    server: ListenerProcess,
    method: str,
    target: str,
    version: str,
    headers: list[tuple[str, str]],
    body: bytes,
) -> None:
    lines = [f"{method} {target} {version}", *(f"{name}: {value}" for name, value in headers), "", ""]
    status = first_status(server, "\r\n".join(lines).encode("utf-8", "replace") + body)
    assert status is None or status in REFUSALS
    assert answers_still(server)


def first_status(server: ListenerProcess, request: bytes) -> int | None:
    """Of the answer to these bytes, after which nothing more is sent; None if the connection is closed without."""
    with socket.create_connection((HOST, server.port), timeout=HANGS_SECONDS) as connection:
        with suppress(OSError):  # refused before all of it was sent
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionError):
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
            return int(answer.split(b" ", 2)[1]) if answer else None
    return None


def answers_still(server: ListenerProcess) -> bool:
    """Whether a review still gets its answer."""
    path, review = seeds()[0]
    with closing(http.client.HTTPConnection(HOST, server.port, timeout=HANGS_SECONDS)) as connection:
        status, text = posted(connection, path, json.dumps(review).encode())
    return status == 200 and bool(answer_of(text))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_reviews_made_from_the_schemas_are_answered(
    server: ListenerProcess, path: str, mode: GenerationMode
) -> None:
    operation = schemathesis.openapi.from_dict(document())[path]["POST"]

    @settings(EXAMPLES, max_examples=max(1, EXAMPLES.max_examples // 20))
    @given(case=operation.as_strategy(generation_mode=mode))
    def answered(case: Any) -> None:
        case.call_and_validate(
            base_url=server.url,
            checks=CHECKS,
            timeout=HANGS_SECONDS,
        )

    answered()


async def test_the_largest_bodies_all_at_once_do_not_fill_the_memory() -> None:
    """One of as many values as fit, and then as many as are let in, and more that are turned away."""
    limits = WebhooksConfiguration()
    path, review = seeds()[0]
    head, tail = json.dumps(review | {"request": review["request"] | {"oldObject": {"x": [0]}}}).split("[0]")
    room = limits.max_body_bytes - len(head) - len(tail) - len("[{}]")
    values = f"{head}[{'{},' * (room // 3)}{{}}]{tail}".encode()
    space = b" " * limits.max_body_bytes

    async def post(session: aiohttp.ClientSession, body: bytes) -> int:
        headers = {"Content-Type": "application/json"}
        async with session.post(path, data=io.BytesIO(body), headers=headers) as answer:
            await answer.read()
            return answer.status

    with listener() as process:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(process.url, connector=connector) as session:
            assert await post(session, values) == 200
            many = limits.max_concurrent_requests + 8
            statuses = await asyncio.gather(*(post(session, space) for _ in range(many)))
        assert set(statuses) <= {400, 408, 503}
        assert process.peak_mib() < MEMORY_MIB

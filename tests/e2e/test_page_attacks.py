"""Attacks on the process of the page: by whoever reaches its port. Others get their answers, and no secret gets out."""

from __future__ import annotations

import json
import os
import resource
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import Final

import pytest

from hack.controlplane.plane import ControlPlane
from tests.e2e.served_page import OF_ALL, Page, serving
from tests.e2e.support import wait_for
from tests.kit.often import SELDOM

CONNECTIONS: Final = 1000
GUESSES: Final = 10_000
UNREAD: Final = 4096
"""Bytes of a receive buffer: the answer of a map is larger."""


@pytest.fixture(scope="module")
def page(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One process for all attacks."""
    meta = {"name": "page-attacked"}
    control_plane.client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
    folder = tmp_path_factory.mktemp("page")
    with serving(control_plane, meta["name"], folder, readTimeoutSeconds=1) as served:
        yield served
    control_plane.client.delete("v1", "Namespace", meta["name"])


@pytest.fixture
def administrator(page: Page) -> str:
    """The session of somebody who may list everything, once there is something to see."""
    secret = page.log_in(page.reader("admin", OF_ALL, everywhere=True))
    wait_for(lambda: page.ask("waiting", secret)[0] == 200)
    return secret


@contextmanager
def many_files() -> Iterator[None]:
    """This process may open enough connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * CONNECTIONS)), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def descriptors(page: Page) -> int:
    """How many files and connections the process has open."""
    assert page.process is not None
    return len(os.listdir(f"/proc/{page.process.pid}/fd"))


def answers(page: Page, secret: str) -> bool:
    """Whether somebody who is logged in gets an answer."""
    with suppress(OSError):
        return page.send("GET", "session", secret).status == 200
    return False


@SELDOM
@pytest.mark.parametrize("sent", ["nothing", "a part", "without reading"])
def test_a_thousand_connections_keep_nobody_out(page: Page, administrator: str, sent: str) -> None:
    """They stay and say nothing, or half of a request; or they ask again and again, and read no answer."""
    before = descriptors(page)
    whole = ("GET /api/v1/openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20).encode()
    text = {"nothing": b"", "a part": b"GET / HTTP/1.1\r\nHost: 127", "without reading": whole}[sent]
    with many_files(), ExitStack() as stack:
        for _ in range(CONNECTIONS):
            each = stack.enter_context(socket.socket())
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, UNREAD)
            with suppress(OSError):
                each.connect(("127.0.0.1", page.port))
                each.setblocking(False)
                each.send(text)
        wait_for(lambda: answers(page, administrator), what="nobody gets an answer any longer")
        assert page.process is not None
        assert page.process.poll() is None
    wait_for(lambda: descriptors(page) <= before + 2, what=lambda: descriptors(page))


@SELDOM
def test_ten_thousand_guesses_find_nothing_and_keep_nobody_out(page: Page, administrator: str) -> None:
    """By login, by header, and for sessions. Whoever is logged in stays so."""

    def guess(number: int) -> int:
        if number % 3 == 0:
            body = json.dumps({"token": f"a.guess.{number}"}).encode()
            return page.send("POST", "session", body=body).status
        secret = f"reprieve-{number:022}" if number % 3 == 1 else f"a.guess.{number}"
        return page.send("GET", "waiting", secret).status

    with ThreadPoolExecutor(8) as pool:
        found = Counter(pool.map(guess, range(GUESSES)))
    assert found.keys() <= {401, 429}
    assert found[401] >= GUESSES // 3, "each guess for a session is refused at once"
    assert answers(page, administrator)


def test_no_secret_is_in_the_log_or_in_metrics(page: Page, administrator: str) -> None:
    """A token and a session that work, and requests that cannot be read."""
    token = page.reader("other", OF_ALL, everywhere=True)
    session = page.log_in(token)
    for path in ("waiting", f"search?q={session[-8:]}", "why/pod/default/nothing", f"nothing/{session}"):
        for secret in (token, session):
            page.send("GET", path, secret)
    page.send("POST", "session", session, b'{"token": ["' + token.encode() + b'"]')
    page.send("POST", "what-if", session, token.encode(), "application/yaml")
    for line in (
        f"GET /{session} HTTP/9.9",
        f"{token} / HTTP/1.1",
        f"GET / HTTP/1.1\r\n{session}: {token}\x00",
    ):
        with socket.create_connection(("127.0.0.1", page.port)) as raw:
            raw.sendall(f"{line}\r\nHost: 127.0.0.1\r\n\r\n".encode())
            with suppress(OSError):
                raw.recv(65536)
    page.send("DELETE", "session", session)
    assert page.send("GET", "session", session).status == 401
    told = page.log + page.metrics
    assert "reprieve_page_requests_total" in told
    for secret in (token, session, administrator):
        assert secret not in told
        assert secret[-16:] not in told


@SELDOM
def test_the_session_of_another_process_is_none(page: Page, administrator: str) -> None:
    page.stop()
    page.start()
    assert page.send("GET", "session", administrator).status == 401

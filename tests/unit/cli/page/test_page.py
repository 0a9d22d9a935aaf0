"""The command: it serves files until it is asked to end, and prints addresses whose codes work once."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from answers.reading.documents import DEFAULT_NAMESPACE
from cli.common.cluster import Connection
from cli.common.sources import Sources
from cli.main import reprieve
from cli.page import command
from cli.page.opening import Opening
from cli.page.reading import place_of
from cli.page.running import HELP
from tests.kit.bare_page import program
from tests.kit.pages import ROOT
from web.statics import Static

EXAMPLE: Final = "examples/training-cluster.yaml"
NOW: Final = "2026-03-01T12:00:00Z"
ADDRESS: Final = re.compile(r"(?P<base>http://127\.0\.0\.1:\d+)/#code=(?P<code>[\w-]{22})\n")
RUN: Final = program("cli.page", "command")


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`reprieve page` with pipes."""
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "page", "--no-open", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def address(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Where it listens, and a code."""
    assert process.stdout is not None
    line = process.stdout.readline()
    found = ADDRESS.fullmatch(line)
    assert found is not None, (line, process.stderr)
    return found["base"], found["code"]


def ask(base: str, path: str, secret: str = "", body: Any = None) -> Any:
    """The JSON of an answer."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {secret}"} if secret else {})
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(f"{base}/api/v1/{path}", data, headers)  # noqa: S310 - it is http
    with urllib.request.urlopen(request) as answer:  # noqa: S310 - as above
        return json.load(answer)


def test_it_serves_files_and_answers_as_why_does() -> None:
    with running("-f", EXAMPLE, "--now", NOW) as process:
        base, code = address(process)
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == f"{HELP}\n"
        secret = ask(base, "session", body={"code": code})["session"]
        about = ask(base, "session", secret)
        assert (about["cluster"], about["live"]) == ("training-cluster.yaml", False)
        assert about["command"] == f"-f {EXAMPLE} --now {NOW}"
        rows = ask(base, "waiting", secret)["groups"]
        assert [row["name"] for row in rows] == ["llama-train"]
        answer = ask(base, "why/podgroup/research/llama-train", secret)
        printed = CliRunner().invoke(
            reprieve,
            ["why", "podgroup", "research/llama-train", *about["command"].split(), "-o", "json"],
        )
        assert json.loads(printed.stdout) == answer
        process.stdin.write("\n")
        process.stdin.flush()
        base, other = address(process)
        assert other != code
        assert ask(base, "session", body={"code": other})["session"] != secret
        process.stdin.close()
        process.stdin = None
        assert ask(base, "session", secret)["live"] is False, "it goes on without standard input"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        assert (process.returncode, out, err) == (0, "", "")


def test_sigterm_ends_it_with_0_also_while_a_stream_is_open() -> None:
    with running("-f", EXAMPLE) as process:
        base, code = address(process)
        secret = ask(base, "session", body={"code": code})["session"]
        port = int(base.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as stream:
            head = "GET /api/v1/events?topics=waiting HTTP/1.1\r\nHost: localhost\r\n"
            stream.sendall(f"{head}Authorization: Bearer {secret}\r\n\r\n".encode())
            assert b"200 OK" in stream.recv(4096)
            process.send_signal(signal.SIGTERM)
            _, err = process.communicate()
    assert (process.returncode, err) == (0, "")


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "read_statics", lambda: {"index.html": Static(b"", "text/html")})


def test_without_a_build_it_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise FileNotFoundError("the page is not built: run `make web` in the checkout")

    monkeypatch.setattr(command, "read_statics", missing)
    result = CliRunner().invoke(reprieve, ["page", "-f", str(ROOT / EXAMPLE)])
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: the page is not built: run `make web` in the checkout\n",
    )


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["-f", "none.yaml"], 2, "none.yaml: No such file"),
        (["-f", str(ROOT / EXAMPLE), "--now", "today"], 2, "--now"),
        (["--now", NOW], 2, "a live cluster is followed"),
        (["--kubeconfig", "none"], 2, "none: no such file"),
        (["--port", "70000"], 2, "port"),
    ],
)
def test_bad_input_is_named(arguments: list[str], status: int, said: str) -> None:
    result = CliRunner().invoke(reprieve, ["page", "--no-open", *arguments])
    assert result.exit_code == status
    assert said in result.stderr


@pytest.mark.usefixtures("built")
def test_a_port_that_is_taken_ends_it_with_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(
            reprieve, ["page", "--no-open", "--port", str(port), "-f", str(ROOT / EXAMPLE)]
        )
    assert result.exit_code == 1
    assert "address already in use" in result.stderr


@pytest.mark.parametrize(
    ("sources", "cluster", "options"),
    [
        (Sources(("a b.yaml",), (), Connection("x")), "a b.yaml", "-f 'a b.yaml'"),
        (
            Sources(("x/a", "b", "c", "d"), ("o",), Connection("x")),
            "a, b, c and 2 more",
            "-f x/a -f b -f c -f d --overlay o",
        ),
        (
            Sources((), (), Connection("~/.kube/config", "it's", "otto", ("g", "h"))),
            "it's",
            "--context 'it'\"'\"'s' --as otto --as-group g --as-group h",
        ),
        (Sources((), (), Connection("/none", "c")), "c", "--kubeconfig /none --context c"),
    ],
)
def test_how_the_place_is_named_and_read_again(sources: Sources, cluster: str, options: str) -> None:
    place = place_of(sources, None, None)
    assert (place.cluster, place.command, place.reads) == (cluster, options, options)
    timed = place_of(sources, NOW, "Off")
    assert timed.reads == f"{options} --now {NOW}"
    assert timed.command == f"{options} --now {NOW} --groups-by-owner Off"
    assert DEFAULT_NAMESPACE not in place.command


def test_a_browser_gets_a_file_that_only_its_user_may_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    opened: list[str] = []
    code_address = "http://127.0.0.1:1/#code=a&b"

    def browse(url: str) -> bool:
        opened.append(url)
        return True

    with Opening(browse) as opening:
        opening.open(code_address)
        (url,) = opened
        file = Path(urllib.request.url2pathname(url.removeprefix("file://")))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        assert "url=http://127.0.0.1:1/#code=a&amp;b" in file.read_text()
        assert "code" not in url
    assert not file.exists()


def test_without_a_screen_no_browser_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with Opening(lambda url: pytest.fail(url)) as opening:
        opening.open("http://127.0.0.1:1/#code=a")

"""What happens if standard output cannot be written. Each run is a process: it is the end of one that is tested."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[4]
REPRIEVE = [sys.executable, "-c", "from cli.main import main; main()"]
QUEUE = ["queue", "-f", "examples/quota-teams.yaml"]


def run(arguments: list[str], out: int | None, **more: str) -> tuple[int, str]:
    """(exit status, standard error). `out` None: standard output is closed."""
    script = 'exec "$@"' if out is not None else 'exec "$@" >&-'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *REPRIEVE, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **more},
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments", [QUEUE, [*QUEUE, "-o", "json"], ["--help"], ["serve", "--print-config"]]
)
def test_a_full_disk(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        status, error = run(arguments, full.fileno())
    assert (status, error) == (2, "Error: standard output: No space left on device\n")


def test_a_pipe_that_nobody_reads() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        assert run(QUEUE, write) == (2, "Error: standard output: Broken pipe\n")
    finally:
        os.close(write)


def test_a_closed_output() -> None:
    assert run(QUEUE, None) == (2, "Error: standard output: Bad file descriptor\n")


def test_an_error_is_said_though_there_is_no_output() -> None:
    assert run(["queue", "-f", "nothing.yaml"], None) == (
        2,
        "Error: nothing.yaml: No such file or directory\n",
    )


@pytest.mark.parametrize("name", ["FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE"])
def test_colours_are_for_terminals(tmp_path: Path, name: str) -> None:
    path = tmp_path / "out"
    with path.open("wb") as out:
        assert run(QUEUE, out.fileno(), **{name: "1"}) == (0, "")
    assert b"organization" in path.read_bytes()
    assert b"\x1b" not in path.read_bytes()


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_an_encoding_that_lacks_characters(
    tmp_path: Path, encoding: str, output: str, read: Callable[[str], Any]
) -> None:
    name = "tr\u00e4in-\u65e5\u202e"
    file = tmp_path / "a.json"
    arguments = ["validate", "-f", str(file), "-o", output]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": []}}
    file.write_text(json.dumps(pod))
    done = subprocess.run(
        [*REPRIEVE, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert done.stderr == b""
    assert read(done.stdout.decode(encoding))["objects"][0]["name"] == name


def test_a_text_in_an_encoding_that_lacks_characters() -> None:
    done = subprocess.run(
        [*REPRIEVE, "who-evicted", "a/\u65e5\x1b", "-f", "examples/questions/evicted.yaml"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.stdout.startswith(b"No plan evicts a/\\u65e5\\x1b\n")

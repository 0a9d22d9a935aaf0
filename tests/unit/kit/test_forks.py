"""A forked process is like one of the real command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hack.controlplane.processes import Process, wait_until
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.forks.client import CAN_FORK, REAL, Forked, commands, start
from tests.kit.pages import ROOT

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="nothing is forked on this system")

PYTHON = {**os.environ, "PYTHONPATH": str(ROOT)}
OWNER = """
import os, sys, time
from pathlib import Path
from tests.kit.forks.client import start
with Path(os.devnull).open("wb") as log:
    print(start(["reprieve", "validate", "-f", sys.argv[1]], log, os.environ).pid, flush=True)
time.sleep(600)
"""
"""Starts a process that waits for the content of its file, and lives on."""


def shell(folder: Path, line: str, **environment: str) -> tuple[int, str, str]:
    variables = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", **environment}
    done = subprocess.run(
        ["bash", "-c", line], env=variables, cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "reprieve serve",
        "cat examples/quota-monopoly.yaml | reprieve validate -f -",
        "cd examples && reprieve why nothing -f quota-monopoly.yaml",
        "reprieve serve --print-config > /dev/full",
    ],
)
def test_a_command_line_does_what_it_does_with_the_real_command(line: str) -> None:
    assert shell(commands(), line) == shell(REAL.parent, line)


def forked(log: Path, *arguments: str, environment: Mapping[str, str] = os.environ) -> tuple[int, str]:
    with log.open("wb") as file:
        process = start([str(REAL), *arguments], file, environment)
    return process.wait(PATIENCE_SECONDS), log.read_text()


def test_it_has_the_environment_that_it_was_given(tmp_path: Path) -> None:
    code, text = forked(tmp_path / "log", "serve", environment={"REPRIEVE_FAILPOINTS": "nonsense"})
    assert code == 1
    assert "REPRIEVE_FAILPOINTS: expected name=action" in text
    assert forked(tmp_path / "log", "--version")[0] == 0


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[Forked]:
    """A process that waits for the content of its file."""
    os.mkfifo(tmp_path / "file")
    with (tmp_path / "log").open("wb") as log:
        process = start([str(REAL), "validate", "-f", str(tmp_path / "file")], log, os.environ)
    yield process
    process.kill()
    process.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_and_the_return_code_says_which(waiting: Forked, number: int) -> None:
    assert waiting.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(0.01)
    waiting.send_signal(number)
    assert waiting.wait(PATIENCE_SECONDS) == -number
    assert waiting.poll() == waiting.returncode == -number
    waiting.kill()  # it is no error that it has ended


def test_it_has_a_session_of_its_own(waiting: Forked) -> None:
    assert os.getsid(waiting.pid) == waiting.pid


def test_a_process_of_a_plane_can_be_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "file")
    command = [str(REAL), "validate", "-f", str(tmp_path / "file")]
    process = Process("reprieve", command, tmp_path / "log", starter=start)
    process.start()
    pid = process.pid
    process.pause()
    process.stop()
    assert not runs(pid)
    process.start()
    (tmp_path / "file").write_text("{}")
    assert process.wait(PATIENCE_SECONDS) == 2, process.tail()


def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "file")
    command = [sys.executable, "-c", OWNER, str(tmp_path / "file")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, env=PYTHON) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        os.kill(pid, 0)
        owner.kill()
    wait_until(lambda: not runs(pid), PATIENCE_SECONDS, lambda: f"{pid} lives on")


def runs(pid: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

"""What a command shows on a terminal while it works, and how an interrupt ends it. Each run is a process."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from api.progress import Count, going_through

ROOT = Path(__file__).parents[4]
QUEUE = ["queue", "-f", "examples/quota-teams.yaml"]
DIFF = ["diff", "examples/another-node.yaml", "-f", "examples/training-cluster.yaml"]
SLOW = """
import signal, sys, time
from answers.reading.documents import Reader
from cli.common import progress
from cli.main import main

# Processes that a shell starts in the background ignore interrupts, and so do their children.
signal.signal(signal.SIGINT, signal.default_int_handler)
progress.WAIT_SECONDS, progress.PER_SECOND = {wait}, 50
take, said, lines = Reader.take, progress._said, []

def slowly(reader, *arguments):
    # The third object waits for the line with the second one.
    take(reader, *arguments)
    if reader.count._done == 2:
        {then}

def noted(*what):
    lines.append(what)
    return said(*what)

Reader.take, progress._said = slowly, noted
main()
"""
UNTIL_SHOWN = "while sum(done > 0 for _, done, _ in lines) < 10: time.sleep(0.01)"
"""A line is made a few times each time it is drawn, so an earlier one has been drawn by then."""
INTERRUPTED = (
    f"{UNTIL_SHOWN}\n        print('INTERRUPT', file=sys.__stderr__, flush=True)\n        time.sleep(60)"
)


def terminal(arguments: list[str], script: str, out: int | None = None) -> tuple[int, str, str]:
    """(status, standard output, standard error). Standard error is a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=slave,
    ) as process:
        os.close(slave)
        error = b""
        while more := _read(master):
            error += more
            if b"INTERRUPT" in error:
                process.send_signal(signal.SIGINT)
                error = error.replace(b"INTERRUPT", b"")
        assert process.stdout is not None
        output = process.stdout.read()
        os.close(master)
    return process.returncode, output.decode(), error.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # nobody has it open any longer
        return b""


def test_long_work_is_shown_on_a_terminal() -> None:
    status, output, error = terminal(QUEUE, SLOW.format(wait=0.01, then=UNTIL_SHOWN))
    assert status == 0
    assert "reading objects: " in error
    # The line is taken away in the end: the cursor is at its begin, and it is cleared.
    assert error.rstrip().endswith("\x1b[2K")
    assert (
        output
        == subprocess.run(
            [sys.executable, "-c", "from cli.main import main; main()", *QUEUE],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )


def test_a_quick_command_shows_nothing() -> None:
    assert terminal(QUEUE, SLOW.format(wait=1000, then="pass"))[::2] == (0, "")


def test_nothing_is_shown_elsewhere() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SLOW.format(wait=0.01, then="time.sleep(0.1)"), *QUEUE],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "FORCE_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


@pytest.mark.parametrize("arguments", [QUEUE, DIFF])
def test_an_interrupt_ends_with_one_line(arguments: list[str]) -> None:
    script = SLOW.format(wait=0.01, then=INTERRUPTED)
    status, output, error = terminal(arguments, script)
    assert (status, output) == (130, "")
    assert error.endswith("\rInterrupted.\r\n")
    assert "Traceback" not in error


def test_things_are_counted() -> None:
    told: list[tuple[str, int, int]] = []

    def tell(what: str, done: int = 0, total: int = 0) -> None:
        told.append((what, done, total))

    count = Count("reading", tell)
    count.expect(3)
    count.step()
    count.expect(-1)
    count.step()
    assert list(going_through(["a", "b"], "asking", tell)) == ["a", "b"]
    assert told == [("reading", 1, 3), ("reading", 2, 2), ("asking", 1, 2), ("asking", 2, 2)]

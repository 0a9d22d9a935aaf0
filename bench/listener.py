"""Runs a listener of the bench in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

__all__ = ["Listener", "listening", "running"]


class Listener(NamedTuple):
    """Where a listener can be reached."""

    port: int
    pid: int


@contextmanager
def running(module: str, *arguments: str, stderr: int | None = None) -> Iterator[subprocess.Popen[str]]:
    """Runs the module while the context lasts. It ends when its input ends."""
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    ) as process:
        assert process.stdin is not None
        try:
            yield process
        finally:
            process.stdin.close()


@contextmanager
def listening(module: str, *arguments: str) -> Iterator[Listener]:
    """Runs the module while the context lasts. It writes its port to its output, and ends when its input ends."""
    with running(module, *arguments, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        yield Listener(int(process.stdout.readline()), process.pid)

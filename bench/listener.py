"""Runs a listener of the bench in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

__all__ = ["Listener", "listening"]


class Listener(NamedTuple):
    """Where a listener can be reached."""

    port: int
    pid: int


@contextmanager
def listening(module: str, *arguments: str) -> Iterator[Listener]:
    """Runs the module while the context lasts. It writes its port to its output, and ends when its input ends."""
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Listener(int(process.stdout.readline()), process.pid)
        finally:
            process.stdin.close()

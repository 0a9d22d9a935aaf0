"""The listener of the webhooks in a process of its own, so that its memory is its own; it prints its port.

    python -m tests.fuzz.listener

It shares nothing with a cluster: what other objects say is fixed, and there is no TLS before the HTTP that is tried.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from serving.listeners import serving
from tests.fuzz.reviewing import reviewer
from webhooks.configuration import WebhooksConfiguration
from webhooks.server import review_app

__all__ = ["HOST", "ListenerProcess", "listener"]

HOST: Final = "127.0.0.1"
ROOT: Final = Path(__file__).resolve().parents[2]
READ_SECONDS: Final = 60.0
"""Longer than a busy machine keeps a client from sending the rest of a body."""


@dataclass(frozen=True)
class ListenerProcess:
    """A listener that runs."""

    process: subprocess.Popen[str]
    port: int

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self.port}"

    def peak_mib(self) -> float:
        """The most memory that was ever resident."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"^VmHWM:\s+(\d+) kB$", text, re.MULTILINE)
        assert found is not None
        return int(found[1]) / 1024


@contextmanager
def listener() -> Iterator[ListenerProcess]:
    """Start one; it must still be there at the end, and have logged no fault of its own."""
    command = [sys.executable, "-m", "tests.fuzz.listener"]
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            yield ListenerProcess(process, int(process.stdout.readline()))
            assert process.poll() is None, "the listener is gone"
        finally:
            process.kill()
        log.seek(0)
        said = log.read()
        # Refused HTTP has a traceback in the log as well; these are aiohttp's and asyncio's words for our own faults.
        assert not re.search("[Uu]nhandled|never retrieved", said), said[-4000:]


async def _serve() -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    configuration = WebhooksConfiguration(bind_address=HOST, port=0, read_timeout_seconds=READ_SECONDS)
    async with serving(review_app(reviewer(configuration.max_depth), configuration), configuration) as port:
        print(port, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve())

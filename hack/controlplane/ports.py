"""Free loopback ports. No other plane on this machine takes them before a server listens on them."""

from __future__ import annotations

import fcntl
import os
import random
import socket
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["Ports"]

RANGE: Final = range(20000, 32000)
"""Below the range for outgoing connections, so that a port stays free while its server restarts."""


class Ports:
    """Hands out ports. Each is locked against other processes of this user until `release`, or until this process
    ends."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.gettempdir()) / f"reprieve-ports-{os.getuid()}"
        self._locks: list[int] = []

    def take(self) -> int:
        """A free port on 127.0.0.1. Raises OSError if there is none."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        for port in random.sample(RANGE, len(RANGE)):
            lock = self._lock(port)
            if lock is None:
                continue
            if _is_free(port):
                self._locks.append(lock)
                return port
            os.close(lock)
        raise OSError(f"no free port on 127.0.0.1 in {RANGE}")

    def release(self) -> None:
        """Unlock all ports."""
        while self._locks:
            os.close(self._locks.pop())

    def _lock(self, port: int) -> int | None:
        lock = os.open(self._folder / str(port), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        return lock


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True

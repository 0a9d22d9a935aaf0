"""Starts forked processes of `reprieve`, and waits for them."""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import IO, Final

from hack.controlplane.plane import Options
from hack.controlplane.processes import Process
from tests.kit.forks.server import SIZE

__all__ = ["REAL", "Forked", "commands", "forking", "start"]

CAN_FORK: Final = sys.platform == "linux"
"""Elsewhere nothing would end the processes with the tests."""
ROOT: Final = Path(__file__).parents[3]
REAL: Final = Path(sys.executable).with_name("reprieve")
"""The command itself."""
SOCKET: Final = "socket"
START_SECONDS: Final = 60.0
LOST: Final = -signal.SIGKILL
"""The return code of a process whose keeper was killed: it ends with that."""


class Forked:
    """One process. It can be used like subprocess.Popen."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self.pid = int.from_bytes(connection.recv(SIZE, socket.MSG_WAITALL), "little")
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The return code, or None while it runs."""
        with self._lock:
            if self.returncode is None and select.select([self._connection], [], [], 0)[0]:
                self._read()
            return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """The return code, once it has ended. subprocess.TimeoutExpired after `timeout` seconds."""
        with self._lock:
            if self.returncode is None:
                if not select.select([self._connection], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired("reprieve", timeout or 0.0)
                self._read()
            assert self.returncode is not None
            return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _read(self) -> None:
        status = self._connection.recv(SIZE, socket.MSG_WAITALL)
        self.returncode = os.waitstatus_to_exitcode(int.from_bytes(status, "little")) if status else LOST
        self._connection.close()


def start(command: Sequence[str], log: IO[bytes], environment: Mapping[str, str]) -> Forked:
    """Fork a process that does what `command`, `reprieve` with its arguments, would do. It writes to the log."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(str(_server() / SOCKET))
    asked = {"arguments": list(command), "environment": dict(environment), "folder": str(Path.cwd())}
    with Path(os.devnull).open("rb") as nothing:
        files = [nothing.fileno(), log.fileno(), log.fileno()]
        socket.send_fds(connection, [json.dumps(asked).encode()], files)
    connection.shutdown(socket.SHUT_WR)
    return Forked(connection)


def forking(options: Options) -> Options:
    """The options of a plane whose processes of reprieve are forked, where that can be. An explicit
    `reprieve_command` runs as it is."""
    return replace(options, reprieve_starter=start) if CAN_FORK else options


def commands() -> Path:
    """A folder for PATH. The `reprieve` in it has the server fork the process, and ends as that does."""
    return _server() if CAN_FORK else REAL.parent


@cache
def _server() -> Path:
    """The folder of the server of this process. It ends with the thread that asks for it first: the main thread."""
    folder = Path(tempfile.mkdtemp(prefix="reprieve-forks-"))
    command = [sys.executable, "-m", "tests.kit.forks.server", str(folder / SOCKET)]
    server = Process("forks", command, folder / "log", {"PYTHONPATH": str(ROOT)})
    server.start()
    atexit.register(_end, server, folder)
    server.wait_healthy((folder / SOCKET).is_socket, START_SECONDS)
    program = folder / "reprieve"
    program.write_text(f"#!{sys.executable} -IS\n{Path(__file__).with_name('command.py').read_text()}")
    program.chmod(0o700)
    return folder


def _end(server: Process, folder: Path) -> None:
    server.kill()
    shutil.rmtree(folder)

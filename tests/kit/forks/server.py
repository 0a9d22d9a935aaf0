"""The server: `python -m tests.kit.forks.server SOCKET`. It has no threads and no event loop, so it may be forked.

A request is one connection: JSON with `arguments`, `environment` and `folder`, and standard input, output and error as
file descriptors. The answer is the pid, and later the status of waitpid(2), each a number of 4 bytes.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NoReturn

from cli.main import COMMANDS, main
from runtime import failpoints

__all__ = ["SIZE", "serve"]

SIZE: Final = 4
"""Bytes of each number of an answer."""
CHUNK: Final = 1 << 16
BACKLOG: Final = 64
PR_SET_PDEATHSIG: Final = 1
STANDARD: Final = (0, 1, 2)


def serve(path: str) -> None:
    """Listen at this path for ever. It returns in each child that it forks, which is set up as was asked for."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"{path}.new")
    listener.listen(BACKLOG)
    Path(f"{path}.new").rename(path)  # who finds it can connect
    signal.signal(signal.SIGCHLD, lambda *_: _reap())
    while True:
        connection, _ = listener.accept()
        asked, files = _request(connection)
        if _fork() == 0:
            listener.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if (child := _fork()) == 0:
                _take(files, connection)
                _become(asked)
                return
            _close(files)
            _keep(child, connection)
        connection.close()
        _close(files)


def _request(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    text, files, _, _ = socket.recv_fds(connection, CHUNK, len(STANDARD))
    while more := connection.recv(CHUNK):
        text += more
    return json.loads(text), files


def _fork() -> int:
    """The pid of the child; 0 in the child, which the kernel kills when this process ends."""
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)  # it ended before the request
    return child


def _reap() -> None:
    """Take the status of the keepers that have ended. So the CPU time of all that was forked counts as the server's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _keep(child: int, connection: socket.socket) -> NoReturn:
    """Tell the status of the child, and end. Only its parent learns that, and the server must not wait."""
    _, status = os.waitpid(child, 0)
    with suppress(OSError):  # who asked may have ended
        connection.sendall(status.to_bytes(SIZE, "little"))
    os._exit(0)


def _close(files: list[int]) -> None:
    for each in files:
        os.close(each)


def _take(files: list[int], connection: socket.socket) -> None:
    """Have a session of one's own and the files, and tell the pid."""
    os.setsid()
    for mine, given in zip(STANDARD, files, strict=True):
        os.dup2(given, mine)
    _close(files)
    with connection:
        connection.sendall(os.getpid().to_bytes(SIZE, "little"))


def _become(asked: dict[str, Any]) -> None:
    """Have the folder, the environment and the arguments that were asked for."""
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = asked["arguments"]
    # It was read when the module was imported.
    failpoints.configure(failpoints.parse(os.environ.get(failpoints.ENVIRONMENT, "")))


if __name__ == "__main__":
    for name, _ in COMMANDS.values():
        import_module(name)
    gc.freeze()
    serve(sys.argv[1])
    main()

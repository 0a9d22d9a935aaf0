"""Starts processes, waits until they are healthy, and ends them by pid."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, Protocol, Self

__all__ = [
    "Process",
    "ProcessFailedError",
    "Record",
    "Started",
    "Starter",
    "stop_recorded",
    "wait_until",
    "write_records",
]

LAUNCHER: Final = Path(__file__).with_name("launch.py")
POLL_SECONDS: Final = 0.03
POLL_SECONDS_MOST: Final = 0.1
POLL_GROWTH: Final = 1.1
TAIL_LINES: Final = 25
STOP_SECONDS: Final = 10.0


class ProcessFailedError(Exception):
    """A process ended by itself, or was not healthy in time. The message has the end of its log."""


class Started(Protocol):
    """A process that has started. subprocess.Popen is one."""

    @property
    def pid(self) -> int: ...

    returncode: int | None

    def poll(self) -> int | None:
        """The return code, or None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """The return code, once it has ended. Raises subprocess.TimeoutExpired."""

    def send_signal(self, number: int, /) -> None:
        """Send a signal, unless it has ended."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""


Starter = Callable[[Sequence[str], IO[bytes], Mapping[str, str]], Started]
"""Starts a command with a log and an environment. It ends with the thread that starts it."""


@dataclass
class Process:
    """A program with a log file.

    The kernel kills it when the thread that started it ends, unless it is `detached`. Start it from the main thread.
    """

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    detached: bool = False
    starter: Starter | None = None
    """What starts it in place of this class."""
    _popen: Started | None = field(default=None, init=False, repr=False)

    @property
    def pid(self) -> int:
        """The process id. Raises ProcessFailedError if it is not running."""
        if self._popen is None:
            raise ProcessFailedError(f"{self.name} is not running")
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._popen is not None and self._popen.poll() is None

    def start(self) -> None:
        """Start it. The log is appended to."""
        if self.running:
            raise ProcessFailedError(f"{self.name} is running already")
        start = self.starter or self._start
        with self.log.open("ab") as log:
            self._popen = start(self.command, log, os.environ | dict(self.environment))

    def _start(
        self, command: Sequence[str], log: IO[bytes], environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        if not self.detached:
            command = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *command]
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment,
            # Ctrl-C at the terminal must not reach it. The owner stops the processes in the right order.
            start_new_session=True,
        )

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Send SIGTERM, and then SIGKILL if that does not help. It is no error if the process has ended."""
        if self._popen is None:
            return
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGCONT)  # a paused process does not react to SIGTERM
            self._popen.terminate()
            try:
                self._popen.wait(seconds)
            except subprocess.TimeoutExpired:
                self._popen.kill()
        self._popen.wait()
        self._popen = None

    def kill(self) -> None:
        """Send SIGKILL and wait for the end."""
        if self._popen is not None:
            self._popen.kill()
            self._popen.wait()
            self._popen = None

    def pause(self) -> None:
        """Send SIGSTOP, and wait until every thread has stopped. The connections of the process stay open."""
        os.kill(self.pid, signal.SIGSTOP)
        tasks = Path(f"/proc/{self.pid}/task")
        if tasks.is_dir():  # Linux: on a busy machine a thread may go on for a while
            wait_until(
                lambda: all(map(_is_stopped, tasks.iterdir())), STOP_SECONDS, lambda: f"{self.name} goes on"
            )

    def resume(self) -> None:
        """Send SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def wait(self, seconds: float) -> int:
        """Wait until the process ends by itself, and return the exit code. Raises
        ProcessFailedError after `seconds`."""
        if self._popen is None:
            raise ProcessFailedError(f"{self.name} is not running")
        try:
            code = self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            raise ProcessFailedError(f"{self.name} is still running after {seconds} s") from None
        self._popen = None
        return code

    def tail(self) -> str:
        """The last lines of its log."""
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-TAIL_LINES:])

    def wait_healthy(self, check: Callable[[], bool], seconds: float) -> None:
        """Wait until the check passes. Raises ProcessFailedError, with the end of the log, after `seconds`."""
        wait_until(
            lambda: self._checked(check), seconds, lambda: f"{self.name} is not healthy:\n{self.tail()}"
        )

    def _checked(self, check: Callable[[], bool]) -> bool:
        if not self.running:
            code = self._popen.returncode if self._popen else None
            raise ProcessFailedError(f"{self.name} ended with code {code}:\n{self.tail()}")
        return check()


def _is_stopped(task: Path) -> bool:
    """Whether the thread has stopped, or is gone (proc(5), field 3 of `stat`)."""
    try:
        stat = (task / "stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "T"


def wait_until(check: Callable[[], bool], seconds: float, complaint: Callable[[], str]) -> None:
    """Poll until the check passes, less and less often: most checks ask a server. Raises ProcessFailedError with the
    complaint after `seconds`."""
    deadline = time.monotonic() + seconds
    pause = POLL_SECONDS
    while not check():
        if time.monotonic() > deadline:
            raise ProcessFailedError(f"{complaint()}\n(waited {seconds} s)")
        time.sleep(pause)
        pause = min(pause * POLL_GROWTH, POLL_SECONDS_MOST)


@dataclass(frozen=True)
class Record:
    """A process as written down. Its start time is needed because another process may have its pid by now."""

    name: str
    pid: int
    started: str

    @classmethod
    def of(cls, process: Process) -> Self:
        return cls(process.name, process.pid, _start_time(process.pid))


def write_records(path: Path, processes: Sequence[Process]) -> None:
    """Write down the running processes, in the order in which they were started."""
    records = [vars(Record.of(process)) for process in processes if process.running]
    path.write_text(json.dumps(records, indent=1))


def stop_recorded(path: Path) -> list[str]:
    """End the processes that were written down, in reverse order. Returns the names of those that ran."""
    records = [Record(**entry) for entry in json.loads(path.read_text())]
    ended = []
    for record in reversed(records):
        if _is_running(record):
            _end(record)
            ended.append(record.name)
    path.unlink()
    return ended


def _end(record: Record) -> None:
    os.kill(record.pid, signal.SIGCONT)
    os.kill(record.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while _is_running(record):
        if time.monotonic() > deadline:
            os.kill(record.pid, signal.SIGKILL)
            deadline += STOP_SECONDS
        time.sleep(POLL_SECONDS)


def _is_running(record: Record) -> bool:
    return bool(record.started) and _start_time(record.pid) == record.started


def _start_time(pid: int) -> str:
    """The start time of a process in the kernel's units; "" if it does not run."""
    try:
        # The command name in parentheses may contain anything. The fields from the third on follow it.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    state, started = fields[0], fields[19]
    return "" if state == "Z" else started

"""Processes that are started, watched until healthy, and ended by pid."""

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
from typing import Final, Self

__all__ = ["Process", "ProcessFailedError", "Record", "stop_recorded", "wait_until", "write_records"]

LAUNCHER: Final = Path(__file__).with_name("launch.py")
POLL_SECONDS: Final = 0.01
TAIL_LINES: Final = 25
STOP_SECONDS: Final = 10.0


class ProcessFailedError(Exception):
    """A process ended by itself, or did not become healthy in time; the message has the end of its log."""


@dataclass
class Process:
    """A program with a log file.

    It is killed by the kernel when the thread that started it ends, unless `detached`. Start it from the main thread.
    """

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    detached: bool = False
    _popen: subprocess.Popen[bytes] | None = field(default=None, init=False, repr=False)

    @property
    def pid(self) -> int:
        """Of the running process."""
        if self._popen is None:
            raise ProcessFailedError(f"{self.name} is not running")
        return self._popen.pid

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._popen is not None and self._popen.poll() is None

    def start(self) -> None:
        """Start it; the log is appended to."""
        if self.running:
            raise ProcessFailedError(f"{self.name} is running already")
        command = list(self.command)
        if not self.detached:
            command = [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *command]
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | dict(self.environment),
                # A Ctrl-C at the terminal is the owner's to handle, in the right order.
                start_new_session=True,
            )

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """SIGTERM, and SIGKILL when that does not help. A process that has ended is fine."""
        if self._popen is None:
            return
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGCONT)  # a paused process would not see the other one
            self._popen.terminate()
            try:
                self._popen.wait(seconds)
            except subprocess.TimeoutExpired:
                self._popen.kill()
        self._popen.wait()
        self._popen = None

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        if self._popen is not None:
            self._popen.kill()
            self._popen.wait()
            self._popen = None

    def pause(self) -> None:
        """SIGSTOP: it hangs, with its connections open."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def wait(self, seconds: float) -> int:
        """The exit code of a process that ends by itself. Raises ProcessFailedError when it does not."""
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
        """Until the check passes. Raises ProcessFailedError, with the log's end, when it does not."""
        wait_until(
            lambda: self._checked(check), seconds, lambda: f"{self.name} is not healthy:\n{self.tail()}"
        )

    def _checked(self, check: Callable[[], bool]) -> bool:
        if not self.running:
            code = self._popen.returncode if self._popen else None
            raise ProcessFailedError(f"{self.name} ended with code {code}:\n{self.tail()}")
        return check()


def wait_until(check: Callable[[], bool], seconds: float, complaint: Callable[[], str]) -> None:
    """Poll until the check passes; raises ProcessFailedError with the complaint after the given time."""
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise ProcessFailedError(f"{complaint()}\n(waited {seconds} s)")
        time.sleep(POLL_SECONDS)


@dataclass(frozen=True)
class Record:
    """A process as written down: the pid alone could be someone else's by now."""

    name: str
    pid: int
    started: str

    @classmethod
    def of(cls, process: Process) -> Self:
        return cls(process.name, process.pid, _start_time(process.pid))


def write_records(path: Path, processes: Sequence[Process]) -> None:
    """Write down what runs, in the order in which it was started."""
    records = [vars(Record.of(process)) for process in processes if process.running]
    path.write_text(json.dumps(records, indent=1))


def stop_recorded(path: Path) -> list[str]:
    """End the processes that were written down, last started first; returns the names of those that ran."""
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
    """When a process started, as the kernel counts; empty for one that does not run (any more)."""
    try:
        # Fields from the third on follow the command name in parentheses, which may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    state, started = fields[0], fields[19]
    return "" if state == "Z" else started

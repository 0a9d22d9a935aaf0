"""The processes of `bench.page`: a line to them, a line from them."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from bench.listener import listening, running
from bench.page_apiserver import CHANGES
from bench.page_process import Used
from bench.page_readers import Heard
from bench.page_world import Size

__all__ = ["Child", "Page", "Stub", "cpu_of", "page", "printed", "readers", "stub"]

T = TypeVar("T")

HOST: Final = "127.0.0.1"
LIMIT_SECONDS: Final = 600.0
KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
current-context: bench
contexts: [{{name: bench, context: {{cluster: bench, user: bench}}}}]
clusters: [{{name: bench, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: bench, user: {{token: administrator-0}}}}]
"""


@dataclass(frozen=True, slots=True)
class Stub:
    """What stands in place of the API server."""

    port: int
    kubeconfig: Path

    def change(self, pods: int, times: int = 1, seconds: float = 0.0) -> list[tuple[float, float]]:
        """Move a number of pods at once, several times. Returns when: monotonic seconds, and seconds since 1970."""
        path = f"{CHANGES}?pods={pods}&times={times}&seconds={seconds}"
        connection = http.client.HTTPConnection(HOST, self.port, timeout=LIMIT_SECONDS)
        connection.request("POST", path)
        return msgspec.json.decode(connection.getresponse().read(), type=list[tuple[float, float]])


@contextmanager
def stub(size: Size, folder: Path) -> Iterator[Stub]:
    """An API server with a cluster of this size, and the kubeconfig for it."""
    with listening("bench.page_apiserver", str(size.nodes), str(size.pods)) as listener:
        kubeconfig = folder / "kubeconfig.yaml"
        kubeconfig.write_text(KUBECONFIG.format(port=listener.port))
        yield Stub(listener.port, kubeconfig)


class Child:
    """A process that answers each line with a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def line(self) -> str:
        """The next one. Raises RuntimeError if the process has ended."""
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise RuntimeError(f"a process of the bench ended with {self._process.wait()}")
        return line

    def ask(self, type_: type[T]) -> T:
        """What it answers to a line."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self.line(), type=type_)


@dataclass(frozen=True, slots=True)
class Page:
    """The page, or a mirror alone."""

    child: Child
    port: int
    listed: float
    """Seconds from its start until everything was listed."""

    def used(self) -> Used:
        """Since the last time."""
        return self.child.ask(Used)


@contextmanager
def _child(module: str, *arguments: str) -> Iterator[Child]:
    """Runs the module while the context lasts."""
    with running(module, *arguments) as process:
        yield Child(process)


@contextmanager
def page(what: str, kubeconfig: Path) -> Iterator[Page]:
    """`page`, or `mirror`. Everything has been listed."""
    with _child("bench.page_process", what, str(kubeconfig)) as child:
        listed = float(child.line())
        yield Page(child, child.ask(Used).port, listed)


@contextmanager
def readers(port: int, streams: int, silent: int) -> Iterator[Child]:
    """Streams that are open. The silent ones are not read."""
    with _child("bench.page_readers", str(port), str(streams), str(silent)) as child:
        child.line()
        child.ask(Heard)
        yield child


@contextmanager
def printed(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[tuple[str, float, int]]:
    """The first line that a command prints, the seconds until then, and its PID. It runs while the context lasts."""
    began = time.monotonic()
    with subprocess.Popen(
        command, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            yield line, time.monotonic() - began, process.pid
        finally:
            process.send_signal(signal.SIGINT)
            process.stdout.read()


def cpu_of(pid: int) -> float:
    """The CPU seconds of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

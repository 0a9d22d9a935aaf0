"""Says who keeps the event loop from polling: `python -m bench.lag FILE serve ...` is `reprieve serve ...`, and writes
the file when it ends.

All that the loop runs between two polls is a turn. For each turn that is longer than LATE_SECONDS it is noted which
tasks ran, and for how long. What is left are callbacks without a task, such as what reads from the network, and the
poll.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import defaultdict
from collections.abc import Coroutine, Generator
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, cast

from kube import lane

__all__ = ["LATE_SECONDS", "REST", "Held", "main", "read"]

LATE_SECONDS: Final = 0.002
REST: Final = "callbacks and the poll"


@dataclass(slots=True)
class Held:
    """What one kind of task did in the turns that were too long."""

    turns: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    """Seconds of the processor. In the others, it had to wait for a core or for the interpreter."""
    longest: float = 0.0

    def add(self, seconds: float, cpu: float) -> None:
        """Another turn."""
        self.turns += 1
        self.seconds += seconds
        self.cpu += cpu
        self.longest = max(self.longest, seconds)


class _Time(NamedTuple):
    seconds: float = 0.0
    cpu: float = 0.0

    @classmethod
    def now(cls) -> _Time:
        return cls(time.perf_counter(), time.thread_time())

    def __add__(self, other: Any) -> _Time:
        return _Time(self.seconds + other.seconds, self.cpu + other.cpu)

    def __sub__(self, other: _Time) -> _Time:
        return _Time(self.seconds - other.seconds, self.cpu - other.cpu)


@dataclass(slots=True)
class _Turns:
    """Those of one loop."""

    number: int = 0
    held: defaultdict[str, Held] = field(default_factory=lambda: defaultdict(Held))
    _ran: defaultdict[str, _Time] = field(default_factory=lambda: defaultdict(_Time))
    _began: _Time = field(default_factory=_Time)

    def ran(self, name: str, began: _Time) -> None:
        """A task has run since then."""
        if not self._ran:
            self._began = began
            asyncio.get_running_loop().call_soon(self._end)  # it is called after the next poll
        self._ran[name] += _Time.now() - began

    def _end(self) -> None:
        rest, ran = _Time.now() - self._began, self._ran
        self._ran = defaultdict(_Time)
        self.number += 1
        if rest.seconds < LATE_SECONDS:
            return
        for name, each in ran.items():
            self.held[name].add(each.seconds, each.cpu)
            rest -= each
        self.held[REST].add(rest.seconds, rest.cpu)


class _Timed(Coroutine[Any, Any, Any]):
    """A coroutine whose steps are noted."""

    def __init__(self, inner: Coroutine[Any, Any, Any], turns: _Turns) -> None:
        self._inner, self._turns = inner, turns
        self._name = cast("str", getattr(inner, "__qualname__", repr(inner)))

    def send(self, value: Any) -> Any:
        began = _Time.now()
        try:
            return self._inner.send(value)
        finally:
            self._turns.ran(self._name, began)

    def throw(self, *error: Any) -> Any:
        return self._inner.throw(*error)

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._inner.__await__()


def read(file: Path) -> tuple[int, dict[str, Held]]:
    """The number of all turns, and what held the long ones by the name of the coroutine."""
    number, held = json.loads(file.read_text())
    return number, {name: Held(*values) for name, values in held.items()}


def main(file: Path) -> None:
    """Run the command that is in `sys.argv`."""
    from cli import main as command  # noqa: PLC0415  # Where only `read` is called, it is not needed

    turns, make = _Turns(), lane.task_factory

    def noted(loop: asyncio.AbstractEventLoop, work: Any, **given: Any) -> asyncio.Task[Any]:
        return make(loop, _Timed(work, turns), **given)

    lane.task_factory = noted  # type: ignore[assignment]  # `given` has its `context`
    try:
        command.main()
    finally:
        held = {name: astuple(each) for name, each in turns.held.items()}
        file.write_text(json.dumps([turns.number, held]))


if __name__ == "__main__":
    name = sys.argv.pop(1)
    main(Path(name))

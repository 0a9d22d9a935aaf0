"""Shows how far a build is, and how long it will still take.

A terminal gets a bar. A pipe or a log gets a line every 20 seconds.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

__all__ = ["Lines", "Piece", "Work", "in_words", "shown"]

LINE_SECONDS: Final = 20.0
"""A log gets one line in this time."""
TICK_SECONDS: Final = 0.5
KNOWN_SHARE: Final = 0.02
"""There is no estimate before this share of the work is done: a rate needs more than the first packages."""
MINUTES_FROM: Final = 90.0
"""Longer times are given in minutes."""


@dataclass(frozen=True)
class Piece:
    """A package to compile, or a binary to link."""

    path: str
    version: str
    """The version of its module; "" if it has none. Another version of the same package is another piece."""
    weight: float
    """How long it takes, in any unit that is the same for all pieces."""
    linked: bool = False
    """Whether this is a binary. Go does not say when it begins to link."""


class Work:
    """What is compiled, and what is left. Several threads may use it."""

    def __init__(self, parallel: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`parallel` is how many packages are compiled at the same time. `clock` counts seconds."""
        self.doing = ""
        """What happens now, in words."""
        self.complete = False
        """Whether everything that will be compiled is known."""
        self._parallel = parallel
        self._clock = clock
        self._lock = threading.Lock()
        self._left: set[Piece] = set()
        self._done: set[Piece] = set()
        self._build: dict[str, Piece] = {}
        self._running: deque[Piece] = deque()
        self._seconds = 0.0
        self._since: float | None = None

    def expect(self, pieces: Iterable[Piece]) -> None:
        """Add pieces. Go compiles a piece once, however many binaries contain it."""
        with self._lock:
            self._left |= set(pieces) - self._done

    def forget(self, pieces: Iterable[Piece]) -> None:
        """Remove pieces that need not be compiled any more."""
        with self._lock:
            self._left -= set(pieces)

    @contextmanager
    def building(self, pieces: Iterable[Piece]) -> Iterator[None]:
        """Inside, one build compiles these pieces. Only this time counts for the rate."""
        with self._lock:
            self._build = {each.path: each for each in pieces}
            self._since = self._clock()
        try:
            yield
        finally:
            with self._lock:
                self._seconds, self._since = self._elapsed(), None
                self._finish(*self._build.values())
                self._running.clear()

    def started(self, path: str) -> None:
        """Go compiles this package now. When one ends is not said: it has ended when enough others have begun."""
        with self._lock:
            if path in self._build:
                self._running.append(self._build[path])
            while len(self._running) > self._parallel:
                self._finish(self._running.popleft())

    @property
    def counts(self) -> tuple[int, int]:
        """How many packages are compiled, and how many there are."""
        with self._lock:
            done, left = (sum(not each.linked for each in pieces) for pieces in (self._done, self._left))
        return done, done + left

    @property
    def share(self) -> float:
        """The share of the work that is done, from 0 to 1."""
        with self._lock:
            done, left = (sum(each.weight for each in pieces) for pieces in (self._done, self._left))
        return done / (done + left) if done else 0.0

    @property
    def seconds_left(self) -> float | None:
        """The estimate, if the rest goes at the rate so far. None if too little is known for one, and at the end, when
        nothing begins any more that would show the rate."""
        share = self.share
        if not self.complete or share < KNOWN_SHARE or self._only_links_are_left:
            return None
        with self._lock:
            return self._elapsed() * (1 - share) / share

    @property
    def _only_links_are_left(self) -> bool:
        with self._lock:
            return all(each.linked for each in self._left.difference(self._running))

    def _elapsed(self) -> float:
        return self._seconds + (self._clock() - self._since if self._since is not None else 0.0)

    def _finish(self, *pieces: Piece) -> None:
        self._done |= set(pieces)
        self._left -= self._done

    def __str__(self) -> str:
        done, of = self.counts
        left = self.seconds_left
        text = f"{self.doing}: {done} of {of} packages" if of else self.doing
        if left is not None:
            return f"{text}, about {in_words(left)} left"
        return f"{text}, then it is linked" if self.complete and of and self._only_links_are_left else text


def in_words(seconds: float) -> str:
    """A time that is not known exactly, rounded up: "7 min" or "40 s"."""
    if seconds > MINUTES_FROM:
        return f"{math.ceil(seconds / 60)} min"
    return f"{max(10, math.ceil(seconds / 10) * 10)} s"


class Shown(Protocol):
    """Shows work to a person."""

    def tick(self) -> None:
        """Time has passed, or something has changed."""


class Lines:
    """Prints a line at once, and then one every 20 seconds: for logs and pipes."""

    def __init__(self, console: Console, work: Work, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._work, self._clock = console, work, clock
        self._next = -math.inf

    def tick(self) -> None:
        """Print a line if it is time for one."""
        now = self._clock()
        if now >= self._next:
            self._next = now + LINE_SECONDS
            self._console.print(str(self._work), highlight=False, soft_wrap=True)


class Bar:
    """A bar for a terminal."""

    def __init__(self, progress: Progress, work: Work) -> None:
        self._progress, self._work = progress, work
        self._task = progress.add_task("", total=1.0)

    def tick(self) -> None:
        """Draw it anew."""
        self._progress.update(self._task, completed=self._work.share, description=str(self._work))


@contextmanager
def shown(console: Console, work: Work) -> Iterator[None]:
    """Inside, a thread shows the work on this console."""
    columns = (SpinnerColumn(), BarColumn(bar_width=12), TextColumn("{task.description}"))
    with Progress(
        *columns, console=console, disable=not console.is_terminal, refresh_per_second=2, transient=True
    ) as progress:
        display: Shown = Bar(progress, work) if console.is_terminal else Lines(console, work)
        over = threading.Event()

        def follow() -> None:
            while not over.wait(TICK_SECONDS):
                display.tick()

        thread = threading.Thread(target=follow, name="progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

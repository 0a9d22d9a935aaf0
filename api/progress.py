"""How far long work is, for whoever wants to show it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol, TypeVar

__all__ = ["Count", "Progress", "going_through", "silent"]

T = TypeVar("T")


class Progress(Protocol):
    """Takes what is done now. It is called often and from any thread, so it has to be quick."""

    def __call__(self, what: str, done: int = 0, total: int = 0) -> None:
        """`done` of `total` things are done. A total of 0, or one that is passed, is not known."""


def silent(what: str, done: int = 0, total: int = 0) -> None:
    """The progress that nobody looks at."""


def going_through(things: Collection[T], what: str, progress: Progress) -> Iterator[T]:
    """The things, one after the other. The number of each is reported before it is given."""
    for number, each in enumerate(things, start=1):
        progress(what, number, len(things))
        yield each


class Count:
    """Counts things whose number becomes known piece by piece."""

    def __init__(self, what: str, progress: Progress = silent) -> None:
        self.progress = progress
        self._what = what
        self._done = self._expected = 0

    def expect(self, more: int) -> None:
        """There are more than was known. A negative number takes some of them back."""
        self._expected += more

    def step(self) -> None:
        """One of them is done."""
        self._done += 1
        self.progress(self._what, self._done, self._expected)

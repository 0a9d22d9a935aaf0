"""What others listen to, each until the end of a block.

Views, stores and what planes exchange live as long as the process. What acts in a term listens to them, and no longer
when the term is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, ParamSpec

__all__ = ["Listenable"]

P = ParamSpec("P")


class Listenable(Generic[P]):
    """Base of what calls listeners with these arguments. Everything runs on the event loop."""

    def __init__(self) -> None:
        self._listeners: list[Callable[P, object]] = []

    @contextmanager
    def told(self, listener: Callable[P, object]) -> Iterator[None]:
        """Call `listener` each time, until the end of the block."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def _tell(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call them, in the order in which they came. One may end its block meanwhile."""
        for listener in list(self._listeners):
            listener(*args, **kwargs)

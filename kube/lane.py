"""One lane for all long work of an event loop.

A turn is what a loop does between two polls of the network. In each turn, all tasks of the lane together work for one
breath. So an answer of the extender or of the webhooks waits as long at each of its steps, however much others have to
do. See docs/decisions/0152.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from contextvars import Context, ContextVar, copy_context
from time import perf_counter
from typing import Any, Final
from weakref import WeakKeyDictionary

__all__ = ["BREATH_SECONDS", "Lane", "in_lane", "lane", "open_lane", "task_factory"]

BREATH_SECONDS: Final = 0.0005
"""How long work goes on in a turn, whoever does it."""
_IN_LANE: Final = ContextVar("_IN_LANE", default=False)
"""Whether tasks that are made here are tasks of the lane. A task hands it on to those that it makes."""


class _Turn(asyncio.Future[None]):
    """Done when it is the turn of who waits for it."""


class Lane:
    """That of one loop."""

    def __init__(self) -> None:
        self._waiting: deque[_Turn] = deque()
        self._ends = False
        self._counted = 0.0
        """When work was counted last."""
        self._worked = 0.0
        """Seconds in this turn."""

    def count(self, since: float) -> float:
        """Count the work since then, if it is not counted yet. Returns the seconds of all work in this turn."""
        now = perf_counter()
        self._worked += now - max(since, self._counted)
        self._counted = now
        self._end_later()
        return self._worked

    @property
    def is_full(self) -> bool:
        """Whether nobody should begin in this turn."""
        return self._worked >= BREATH_SECONDS

    def turn(self) -> _Turn:
        """Done when it is the turn of the caller alone, who then calls `begin`."""
        turn = _Turn(loop=asyncio.get_running_loop())
        self._waiting.append(turn)
        self._end_later()
        return turn

    def begin(self) -> None:
        """Who has waited for this turn works now."""
        self._worked = 0.0

    def _end_later(self) -> None:
        # What is called soon is called after the next poll.
        if not self._ends:
            self._ends = True
            asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # the task was not cancelled
                turn.set_result(None)
                self._worked = BREATH_SECONDS  # nobody begins before
                # It works in the next turn, if it is not cancelled meanwhile. That one ends, whether it does or not.
                loop = asyncio.get_running_loop()
                loop.call_soon(loop.call_soon, self._end)
                return
        self._ends, self._worked = False, 0.0


_LANES: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, Lane]] = WeakKeyDictionary()


def lane() -> Lane:
    """That of the running loop."""
    loop = asyncio.get_running_loop()
    found = _LANES.get(loop)
    if found is None:
        found = _LANES[loop] = Lane()
    return found


def open_lane() -> None:
    """From now on, each step of a task of the lane waits for its turn on the running loop."""
    asyncio.get_running_loop().set_task_factory(task_factory)


def in_lane() -> Context:
    """A context for `asyncio.create_task`: the task is one of the lane, and so are all that it makes."""
    context = copy_context()
    context.run(_IN_LANE.set, True)
    return context


def task_factory(
    loop: asyncio.AbstractEventLoop, work: Any, context: Context | None = None, **given: Any
) -> asyncio.Task[Any]:
    """What an open lane makes of a coroutine."""
    is_in_lane = _IN_LANE.get() if context is None else context.get(_IN_LANE, False)
    steps = _Steps(work) if is_in_lane and asyncio.iscoroutine(work) else work
    return asyncio.Task(steps, loop=loop, context=context, **given)


class _Steps(Coroutine[Any, Any, Any]):
    """A coroutine each of whose steps waits until the lane has room."""

    __slots__ = ("_inner", "_lane", "_waited")

    def __init__(self, inner: Coroutine[Any, Any, Any]) -> None:
        self._inner, self._lane, self._waited = inner, lane(), False

    def send(self, value: Any) -> Any:
        """Another step, or wait for a turn."""
        if self._waited:
            self._waited = False
            self._lane.begin()
        elif self._lane.is_full:
            self._waited = True
            return next(self._lane.turn().__await__())
        began = perf_counter()
        try:
            awaited = self._inner.send(value)
        finally:
            self._lane.count(began)
        self._waited = type(awaited) is _Turn
        return awaited

    def throw(self, *error: Any) -> Any:
        """A step that begins with an error, such as a cancellation, waits for nothing."""
        self._waited = False
        began = perf_counter()
        try:
            return self._inner.throw(*error)
        finally:
            self._lane.count(began)

    def close(self) -> None:
        self._inner.close()

    def __await__(self) -> Any:
        return self._inner.__await__()

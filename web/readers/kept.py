"""Answers of the API server that count for a while."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from api.clock import Clock
from kube.errors import ApiError
from web.readers.together import Together

__all__ = ["Kept"]

K = TypeVar("K")
V = TypeVar("V")

TRY_AGAIN_SECONDS: Final = 1.0
"""After a question without an answer, the next one comes this much later at the earliest."""
LONGER: Final = 2
"""How many times as long an answer counts if the API server does not give another one."""


class Kept(Generic[K, V]):
    """Answers by key. An answer counts from the moment of its question, for `seconds`, and twice as long while the API
    server gives no other one. Callers with the same key at the same time wait for one question."""

    def __init__(self, seconds: float, most: int, clock: Clock) -> None:
        """`most`: answers that are kept. The oldest ones give way."""
        self._seconds, self._most, self._clock = seconds, most, clock
        self._answers: dict[K, tuple[V, float]] = {}
        """The answer, and when it was asked for, the oldest first."""
        self._asking = Together[K, V]("asking the API server")
        self._failed = float("-inf")
        """When the API server last gave no answer."""

    def fresh(self, key: K, ahead: float = 0.0) -> V | None:
        """The answer, if it counts now, and will in `ahead` seconds; None if somebody has to ask."""
        known = self._answers.get(key)
        if known is None or self._clock.monotonic() - known[1] >= self._seconds - ahead:
            return None
        return known[0]

    def last(self, key: K) -> V | None:
        """The last answer, whether it counts or not; None if none is known."""
        known = self._answers.get(key)
        return known[0] if known is not None else None

    def asked(self, key: K) -> float:
        """When the answer was asked for, in monotonic seconds. Raises KeyError without an answer."""
        return self._answers[key][1]

    async def get(self, key: K, ask: Callable[[], Awaitable[V]], *, ahead: float = 0.0) -> V:
        """The answer. `ask` is called if no kept answer counts, or if it will not count any longer in `ahead` seconds.

        Raises the ApiError of `ask`. If the same question may get an answer later, only when no old answer counts.
        """
        if (answer := self.fresh(key, ahead)) is not None:
            return answer
        known, now = self._answers.get(key), self._clock.monotonic()
        if known is not None and now - self._failed < TRY_AGAIN_SECONDS and self._counts_still(known[1]):
            return known[0]
        try:
            return await self._asking.get(key, lambda: self._answer(key, ask))
        except ApiError as error:
            if not error.is_retriable:
                self._answers.pop(key, None)
                raise
            self._failed = self._clock.monotonic()
            if known is None or not self._counts_still(known[1]):
                raise
            return known[0]

    def forget(self, key: K) -> None:
        """The answer does not count any longer."""
        self._answers.pop(key, None)

    def _counts_still(self, asked: float) -> bool:
        """Whether an answer counts that was asked for then, while the API server gives no other one."""
        return self._clock.monotonic() - asked < LONGER * self._seconds

    async def _answer(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        since = self._clock.monotonic()
        answer = await ask()
        self._answers.pop(key, None)
        if len(self._answers) >= self._most:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = answer, since
        return answer

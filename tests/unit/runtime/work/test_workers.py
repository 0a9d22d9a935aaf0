"""Workers for a keyed queue."""

from __future__ import annotations

import pytest

from api.backoff import Backoff
from kube.errors import ApiError
from runtime.work.queue import KeyedQueue
from runtime.work.workers import serve
from tests.kit.clock import ManualClock
from tests.kit.waiting import beside, until


@pytest.mark.parametrize(("asked", "wait"), [(None, 1), (0.5, 1), (20, 20), (float("inf"), 60)])
async def test_a_key_waits_as_long_as_the_server_asks_within_a_minute(
    asked: float | None, wait: float
) -> None:
    queue: KeyedQueue[str] = KeyedQueue(backoff=Backoff(1, 8, jitter=0), clock=ManualClock())
    waits = list[float]()

    async def look(_: str) -> None:
        raise ApiError(429, "TooManyRequests", "", asked)

    queue.add("a")
    with_all = serve(queue, look, lambda _key, _error, seconds: waits.append(seconds), name="x", workers=1)
    async with beside(with_all):
        await until(lambda: waits)
    assert waits == [wait]

"""Workers for a keyed queue: one look at a time for each key, and another try after a failure."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import TypeVar

import structlog

from kube.errors import ApiError
from kube.retry import MOST_PATIENT_SECONDS
from runtime.work.queue import KeyedQueue

__all__ = ["serve"]

log = structlog.get_logger(__name__)

K = TypeVar("K", bound=Hashable)


async def serve(
    queue: KeyedQueue[K],
    look: Callable[[K], Awaitable[None]],
    failed: Callable[[K, ApiError, float], None],
    *,
    name: str,
    workers: int,
) -> None:
    """Look at each key that is due, until cancelled. `name`: of the tasks, and of a key in logs.

    `failed` gets each look that failed at the API server, and the seconds until the next one.
    """
    async with asyncio.TaskGroup() as tasks:
        for number in range(workers):
            tasks.create_task(_work(queue, look, failed, name), name=f"{name} {number}")


async def _work(
    queue: KeyedQueue[K],
    look: Callable[[K], Awaitable[None]],
    failed: Callable[[K, ApiError, float], None],
    name: str,
) -> None:
    while True:
        key = await queue.get()
        try:
            await look(key)
            queue.forget(key)
        except ApiError as error:
            asked = min(error.retry_after or 0.0, MOST_PATIENT_SECONDS)
            failed(key, error, queue.retry(key, asked))
        except Exception:
            log.exception("an object is passed over for now", what=name, object=key)
            queue.retry(key)
        finally:
            queue.done(key)

"""Splits a byte stream into lines, and can deliver the lines later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable
from typing import Final

__all__ = ["LineTooLongError", "delayed", "lines"]

MAX_LINE: Final = 8 << 20
"""Bytes. That is several times the size of the largest object that etcd accepts."""


class LineTooLongError(Exception):
    """A line is longer than the limit."""


async def lines(
    pieces: AsyncIterable[bytes], *, longest: int = MAX_LINE
) -> AsyncGenerator[list[bytes], None]:
    """The complete lines of each piece that arrives. A last line without an end is left out.

    Raises LineTooLongError. aiohttp's own `readline` has a lower limit, and real objects exceed it.
    """
    pending: list[bytes] = []
    size = 0
    async for piece in pieces:
        first, *rest = piece.split(b"\n")
        pending.append(first)
        size += len(first)
        if size > longest or any(len(line) > longest for line in rest):
            raise LineTooLongError(f"a line has more than {longest} bytes")
        if rest:
            complete = [b"".join(pending), *rest[:-1]]
            pending, size = [rest[-1]], len(rest[-1])
            yield [line for line in complete if line]


async def delayed(
    source: AsyncGenerator[list[bytes], None], seconds: float
) -> AsyncGenerator[list[bytes], None]:
    """The batches of `source` in the same order, each `seconds` after it came."""
    now = asyncio.get_running_loop().time
    queue: asyncio.Queue[tuple[float, list[bytes] | BaseException | None]] = asyncio.Queue()

    async def read() -> None:
        last: BaseException | None = None
        try:
            async for batch in source:
                queue.put_nowait((now() + seconds, batch))
        except Exception as error:
            last = error
        queue.put_nowait((now() + seconds, last))

    reader = asyncio.create_task(read())
    try:
        while True:
            due, batch = await queue.get()
            await asyncio.sleep(due - now())
            if isinstance(batch, BaseException):
                raise batch
            if batch is None:
                return
            yield batch
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)

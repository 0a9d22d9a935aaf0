"""A client in the process of the test, which leaves no connection behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from kube.client import ApiClient

__all__ = ["connected"]

CLOSING_SECONDS: Final = 0.25


@asynccontextmanager
async def connected(kubeconfig: str | Path | None) -> AsyncIterator[ApiClient]:
    """A client, until the end of the context.

    The connection of a watch that is cancelled closes a little later, because TLS waits for the other end. If the loop
    ended before, the garbage collector would find the transport in the middle of another test, and that one would fail.
    """
    async with ApiClient.connect(kubeconfig) as client:
        yield client
    await asyncio.sleep(CLOSING_SECONDS)

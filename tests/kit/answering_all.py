"""One API server for every kubeconfig that a command names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from kube.client import ApiClient

__all__ = ["answer_all"]


def answer_all(monkeypatch: pytest.MonkeyPatch, server: object) -> None:
    """Whoever connects gets this server, until the test ends. `server`: has the methods of ApiClient that are used."""

    @asynccontextmanager
    async def connect(_kubeconfig: str, **_: Any) -> AsyncIterator[ApiClient]:
        yield cast(ApiClient, server)

    monkeypatch.setattr(ApiClient, "connect", connect)

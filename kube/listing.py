"""Lists objects in pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from api.meta import List
from kube.client import ApiClient
from kube.errors import ApiError

__all__ = ["list_all", "read_page"]

T = TypeVar("T")

PAGE: Final = 500
"""Objects in one answer of the API server."""


async def list_all(
    client: ApiClient, path: str, kind: type[T], query: Mapping[str, str] | None = None
) -> list[T]:
    """All objects of the list at the URL path. Raises ApiError, also if an answer cannot be read."""
    found: list[T] = []
    token = ""
    while True:
        items, token = await read_page(client, path, kind, query, token)
        found += items
        if not token:
            return found


async def read_page(
    client: ApiClient, path: str, kind: type[T], query: Mapping[str, str] | None = None, token: str = ""
) -> tuple[list[T], str]:
    """One page, and the token of the next one; "" if it is the last. `token`: of this page.

    Raises ApiError, also if the answer cannot be read.
    """
    parameters = {**(query or {}), "limit": str(PAGE), **({"continue": token} if token else {})}
    body = await client.request("GET", path, query=parameters)
    try:
        page = msgspec.json.decode(body, type=List[kind])  # type: ignore[valid-type] # a run-time type
    except msgspec.DecodeError as error:
        raise ApiError(0, "InvalidAnswer", f"the answer cannot be read: {error}") from error
    return page.items, page.metadata.continue_

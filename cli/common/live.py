"""Reads the objects of a live cluster, as if they came from files. Nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Final

import msgspec

from api.meta import ListMeta, Struct
from cli.common.cluster import ClusterError, Connection, existing
from cli.common.documents import InputError, JsonDocument, Reader
from kube.client import ApiClient, ApiError
from kube.discovery import list_path, served

__all__ = ["read_cluster"]

PAGE: Final = 500
PAGE_SECONDS: Final = 60.0
AT_ONCE: Final = 8
"""Requests in flight."""
TRIES: Final = 3
"""So often a list begins again that took longer than the API server keeps its version."""


class _Page(Struct):
    metadata: ListMeta


def read_cluster(reader: Reader, connection: Connection) -> None:
    """Read all objects of the reader's kinds. A kind that the API server does not serve has none.

    Raises InputError for a wrong option or an object that cannot be used, and ClusterError.
    """
    if connection.groups and not connection.user:
        raise InputError("--as-group: needs --as")
    files = existing(connection.kubeconfig)
    try:
        pages = asyncio.run(_pages(files, connection, reader.kinds.keys()))
    except ApiError as error:
        raise ClusterError(_said(error)) from error
    for kind, bodies in pages:
        for body in bodies:
            reader.add(JsonDocument(body), f"cluster: {kind}")


async def _pages(
    files: str, connection: Connection, kinds: Collection[tuple[str, str]]
) -> list[tuple[str, list[bytes]]]:
    """The pages of the lists of each kind that is served, in the order of `kinds`."""
    async with ApiClient.connect(
        files, context=connection.context, user=connection.user, groups=connection.groups
    ) as client:
        versions = sorted({version for version, _ in kinds})
        found = dict(
            zip(versions, await asyncio.gather(*(served(client, each) for each in versions)), strict=True)
        )
        limit = asyncio.Semaphore(AT_ONCE)
        there = [(version, kind) for version, kind in kinds if kind in found[version]]
        lists = (_list(client, list_path(each, found[each][kind].plural), limit) for each, kind in there)
        return list(zip((kind for _, kind in there), await asyncio.gather(*lists), strict=True))


async def _list(client: ApiClient, path: str, limit: asyncio.Semaphore) -> list[bytes]:
    for _ in range(TRIES - 1):
        try:
            return await _list_once(client, path, limit)
        except ApiError as error:
            if error.status != 410:
                raise
    return await _list_once(client, path, limit)


async def _list_once(client: ApiClient, path: str, limit: asyncio.Semaphore) -> list[bytes]:
    pages: list[bytes] = []
    token = ""
    while True:
        query = {"limit": str(PAGE), **({"continue": token} if token else {})}
        async with limit:
            body = await client.request("GET", path, query=query, seconds=PAGE_SECONDS)
        try:
            token = msgspec.json.decode(body, type=_Page).metadata.continue_
        except msgspec.DecodeError as error:
            raise ApiError(0, "InvalidAnswer", f"{path}: the answer cannot be read: {error}") from error
        pages.append(body)
        if not token:
            return pages


def _said(error: ApiError) -> str:
    """What is wrong. The API server names the user, the verb, the resource and the namespace."""
    if error.status == 403:
        return f"a right is missing: {error.message}"
    return f"the cluster cannot be read: {error}"

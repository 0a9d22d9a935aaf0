"""Reads the objects of a live cluster, as if they came from files. Nothing is written."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

import msgspec

from api.meta import ListMeta, Struct
from cli.common.cluster import ClusterError, Connection, checked
from cli.common.documents import JsonDocument, Reader
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
    files = checked(connection)
    try:
        pages = asyncio.run(_pages(files, connection, reader))
    except ApiError as error:
        raise ClusterError(_said(error)) from error
    for (version, kind), bodies in pages:
        if isinstance(bodies, ApiError):
            if not reader.do_without((version, kind), _said(bodies)):
                raise ClusterError(_said(bodies)) from bodies
            continue
        for body in bodies:
            reader.add(JsonDocument(body), f"cluster: {kind}")


async def _pages(
    files: str, connection: Connection, reader: Reader
) -> list[tuple[tuple[str, str], list[bytes] | ApiError]]:
    """The pages of the lists of each kind that is served, in the order of the reader's kinds.

    An error in place of pages: a right is missing.
    """
    kinds = reader.kinds
    async with ApiClient.connect(
        files, context=connection.context, user=connection.user, groups=connection.groups
    ) as client:
        versions = sorted({version for version, _ in kinds})
        found = dict(
            zip(versions, await asyncio.gather(*(served(client, each) for each in versions)), strict=True)
        )
        limit = asyncio.Semaphore(AT_ONCE)
        there = [(version, kind) for version, kind in kinds if kind in found[version]]
        lists = (
            _allowed(
                client, list_path(each, found[each][kind].plural), reader.fields.get((each, kind), ""), limit
            )
            for each, kind in there
        )
        return list(zip(there, await asyncio.gather(*lists), strict=True))


async def _allowed(
    client: ApiClient, path: str, fields: str, limit: asyncio.Semaphore
) -> list[bytes] | ApiError:
    """The pages, or what the API server says of a right that is missing."""
    try:
        return await _list(client, path, fields, limit)
    except ApiError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return error


async def _list(client: ApiClient, path: str, fields: str, limit: asyncio.Semaphore) -> list[bytes]:
    for _ in range(TRIES - 1):
        try:
            return await _list_once(client, path, fields, limit)
        except ApiError as error:
            if error.status != 410:
                raise
    return await _list_once(client, path, fields, limit)


async def _list_once(client: ApiClient, path: str, fields: str, limit: asyncio.Semaphore) -> list[bytes]:
    pages: list[bytes] = []
    token = ""
    while True:
        query = {"limit": str(PAGE)}
        query |= {"continue": token} if token else {}
        query |= {"fieldSelector": fields} if fields else {}
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
    if error.status == HTTPStatus.FORBIDDEN:
        return f"a right is missing: {error.message}"
    return f"the cluster cannot be read: {error.message if error.reason == 'Configuration' else error}"

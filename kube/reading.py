"""Reads all objects of several kinds, page by page. Nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from http import HTTPStatus
from typing import Any, Final, Protocol

import msgspec

from api.meta import ListMeta, Struct
from kube.client import Getting, get_or_none
from kube.discovery import list_path, object_path, other_version, served
from kube.errors import ApiError

__all__ = ["Taking", "read_kinds", "why_unread"]

PAGE: Final = 500
PAGE_SECONDS: Final = 60.0
AT_ONCE: Final = 8
"""Requests in flight."""
TRIES: Final = 3
"""So often a page is asked for that comes later than the API server keeps the version of its list."""
WAITS: Final = 10
"""So often a request is made again because the API server says when to come back, as kubectl does. It says so when it
has too much to do, or when its cache lags behind its store after many writes (504, "Too large resource version")."""
LONGEST_WAIT_SECONDS: Final = 10.0
OTHER_VERSION: Final = "OtherVersion"
"""The reason of an error that is ours: the kind is there, in another version than is read."""


class Counting(Protocol):
    """Counts the objects that are known to be there."""

    def expect(self, number: int) -> None:
        """This number more, or fewer."""


class Taking(Protocol):
    """Takes what is read: a `Reader` of `answers`."""

    @property
    def kinds(self) -> Mapping[tuple[str, str], Any]:
        """By apiVersion and kind. Each has `one`, the only object that matters or None, and `newer`, newer versions of
        the kind."""

    @property
    def count(self) -> Counting:
        """The objects so far."""

    def selector(self, kind: tuple[str, str]) -> str:
        """The field selector of the kind."""

    def add_json(self, body: bytes, place: str) -> None:
        """Take an object, or a list."""


class _Page(Struct):
    metadata: ListMeta


async def read_kinds(
    client: Getting, reader: Taking, versioned: Collection[str] = ()
) -> dict[tuple[str, str], ApiError]:
    """Give the reader the objects of each kind that is served. Returns which kinds may not be read, in their order.

    Also a kind with only one object that matters, if that one cannot be read for another reason. `versioned`: the
    apiVersions whose absence is said if another version is there. Raises ApiError, and what the reader raises.
    """
    kinds, refused = reader.kinds, dict[tuple[str, str], ApiError]()
    ones = {key: kind.one for key, kind in kinds.items() if kind.one is not None}
    versions = sorted({version for version, _ in kinds.keys() - ones.keys()})
    found = dict(
        zip(versions, await asyncio.gather(*(served(client, each) for each in versions)), strict=True)
    )
    pages = _Pages(client, reader)

    async def read(version: str, kind: str) -> None:
        if any(kind in found[newer] for newer in kinds[version, kind].newer):
            return
        if kind not in found[version]:
            if version in versioned and (other := await other_version(client, version, kind)):
                said = f"the API server has {kind} of {other} only, and {version} is read"
                refused[version, kind] = ApiError(HTTPStatus.NOT_FOUND, OTHER_VERSION, said)
            return
        try:
            path = list_path(version, found[version][kind].plural)
            await pages.read(path, kind, reader.selector((version, kind)))
        except ApiError as error:
            if error.status != HTTPStatus.FORBIDDEN:
                raise
            refused[version, kind] = error

    async def read_one(version: str, kind: str, one: tuple[str, str, str]) -> None:
        try:
            await pages.read_one(object_path(version, *one), kind)
        except ApiError as error:
            refused[version, kind] = error

    lists = [asyncio.ensure_future(read(*key)) for key in kinds if key not in ones]
    lists += [asyncio.ensure_future(read_one(*key, one)) for key, one in ones.items()]
    try:
        await asyncio.gather(*lists)
    finally:
        for each in lists:
            each.cancel()
    return {kind: refused[kind] for kind in kinds if kind in refused}


class _Pages:
    """Reads lists page by page. A page is decoded in a thread while the API server makes the next one."""

    def __init__(self, client: Getting, reader: Taking) -> None:
        self._client, self._reader = client, reader
        self._limit = asyncio.Semaphore(AT_ONCE)
        self._turn = asyncio.Lock()
        """The reader takes one page at a time."""

    async def read(self, path: str, kind: str, fields: str) -> None:
        """Read all objects of the list. Raises ApiError and InputError."""
        taken: asyncio.Task[None] | None = None
        token: str | None = ""
        left = 0
        while token is not None:
            try:
                body, token, later = await self._page(path, fields, token)
            finally:
                if taken is not None:
                    await taken
            # The reader counts those of this page itself.
            self._reader.count.expect(later - left)
            left = later
            taken = asyncio.create_task(self._take(body, kind))
        if taken is not None:
            await taken

    async def read_one(self, path: str, kind: str) -> None:
        """Read the object at this path, if it is there. Raises ApiError and InputError."""
        async with self._limit:
            body = await get_or_none(self._client, path, seconds=PAGE_SECONDS)
        if body is not None:
            await self._take(body, kind)

    async def _take(self, body: bytes, kind: str) -> None:
        async with self._turn:
            await asyncio.to_thread(self._reader.add_json, body, f"cluster: {kind}")

    async def _page(self, path: str, fields: str, token: str) -> tuple[bytes, str | None, int]:
        """A page of the list, the token of the next one, and how many objects come later. The last page has no token.

        If the version of the list is too old, the API server has a token that continues it at the newest one. No object
        comes twice: the lists of two kinds are of different versions, too.
        """
        for _ in range(TRIES):
            query = {"limit": str(PAGE)}
            query |= {"continue": token} if token else {}
            query |= {"fieldSelector": fields} if fields else {}
            try:
                async with self._limit:
                    body = await _patiently(self._client, path, query)
                page = msgspec.json.decode(body, type=_Page).metadata
            except msgspec.DecodeError as error:
                raise ApiError(0, "InvalidAnswer", f"{path}: the answer cannot be read: {error}") from error
            except ApiError as error:
                if error.status != HTTPStatus.GONE or not error.continue_:
                    raise
                token = error.continue_
            else:
                return body, page.continue_ or None, page.remaining_item_count or 0
        raise ApiError(HTTPStatus.GONE, "Expired", f"{path}: each page took longer than its version is kept")


async def _patiently(client: Getting, path: str, query: Mapping[str, str]) -> bytes:
    """The answer to a GET. Waits as long as the API server asks for. Raises ApiError."""
    for _ in range(WAITS):
        try:
            return await client.request("GET", path, query=query, seconds=PAGE_SECONDS)
        except ApiError as error:
            if error.retry_after is None or not error.is_retriable:
                raise
            await asyncio.sleep(min(error.retry_after, LONGEST_WAIT_SECONDS))
    return await client.request("GET", path, query=query, seconds=PAGE_SECONDS)


def why_unread(error: ApiError) -> str:
    """Why a kind was not read. The API server names the user, the verb, the resource and the namespace."""
    if error.reason == OTHER_VERSION:
        return error.message
    if error.status == HTTPStatus.FORBIDDEN:
        return f"a right is missing: {error.message}"
    return f"the cluster cannot be read: {error.message if error.reason == 'Configuration' else error}"

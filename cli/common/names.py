"""Names of objects of a live cluster, for a shell that completes them. A cluster that does not answer has none."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Final

import msgspec

from answers.errors import InputError
from api.meta import Struct
from cli.common.cluster import Connection, existing
from kube.client import METADATA_LIST, ApiClient
from kube.errors import ApiError

__all__ = ["listed"]

ANSWER_SECONDS: Final = 2.0
"""Somebody waits for the shell. It gets what is known by then."""
MOST: Final = "500"
"""Objects of one kind."""


class _Meta(Struct):
    name: str = ""
    namespace: str = ""


class _Item(Struct):
    metadata: _Meta


class _Items(Struct):
    items: list[_Item] | None = None


def listed(connection: Connection, paths: Sequence[str]) -> list[tuple[str, str]]:
    """Namespace (empty without one) and name of the objects of these lists, at most 500 of each.

    Nothing of a list that is refused, not served, or not there in time. Nothing is raised or printed.
    """
    logging.disable()
    try:
        return asyncio.run(_listed(connection, paths))
    except (ApiError, InputError, TimeoutError):
        return []
    finally:
        logging.disable(logging.NOTSET)


async def _listed(connection: Connection, paths: Sequence[str]) -> list[tuple[str, str]]:
    files = existing(connection.kubeconfig)
    found = list[tuple[str, str]]()
    import_module("kubernetes_asyncio.config")  # it takes a part of a second, which is not the cluster's
    with suppress(TimeoutError):
        async with asyncio.timeout(ANSWER_SECONDS):
            async with ApiClient.connect(
                files, context=connection.context, user=connection.user, groups=connection.groups
            ) as client:
                for names in asyncio.as_completed([_names(client, path) for path in paths]):
                    found += await names
    return found


async def _names(client: ApiClient, path: str) -> list[tuple[str, str]]:
    try:
        body = await client.request(
            "GET", path, query={"limit": MOST}, accept=METADATA_LIST, seconds=ANSWER_SECONDS
        )
        items = msgspec.json.decode(body, type=_Items).items or ()
    except (ApiError, msgspec.DecodeError):
        return []
    return [(each.metadata.namespace, each.metadata.name) for each in items]

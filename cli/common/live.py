"""Reads the objects of a live cluster, as if they came from files. Nothing is written."""

from __future__ import annotations

import asyncio

from answers.reading.documents import Reader
from api.kueue import API_VERSION as QUOTA
from cli.common.cluster import ClusterError, Connection, checked
from kube.client import ApiClient
from kube.errors import ApiError
from kube.reading import read_kinds, why_unread

__all__ = ["read_cluster"]


def read_cluster(reader: Reader, connection: Connection) -> None:
    """Read all objects of the reader's kinds. A kind that the API server does not serve has none.

    Raises InputError for a wrong option or an object that cannot be used, and ClusterError.
    """
    files = checked(connection)
    try:
        refused = asyncio.run(_read(files, connection, reader))
    except ApiError as error:
        raise ClusterError(why_unread(error)) from error
    for kind, refusal in refused.items():
        if not reader.do_without(kind, why_unread(refusal)):
            raise ClusterError(why_unread(refusal)) from refusal


async def _read(files: str, connection: Connection, reader: Reader) -> dict[tuple[str, str], ApiError]:
    """See `read_kinds`."""
    async with ApiClient.connect(
        files, context=connection.context, user=connection.user, groups=connection.groups
    ) as client:
        return await read_kinds(client, reader, {QUOTA})

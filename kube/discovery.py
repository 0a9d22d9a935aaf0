"""What an API server serves."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from api.meta import Struct
from kube.client import Getting, get_or_none
from kube.errors import ApiError

__all__ = ["Served", "list_path", "object_path", "other_version", "served"]


class Served(NamedTuple):
    """A kind that the API server serves."""

    plural: str
    namespaced: bool


class _Resource(Struct):
    name: str
    kind: str
    namespaced: bool = False


class _Resources(Struct):
    resources: list[_Resource] | None = None


class _Version(Struct):
    group_version: str


class _Group(Struct):
    versions: list[_Version] | None = None


async def served(client: Getting, api_version: str) -> dict[str, Served]:
    """The kinds of this apiVersion, by name; none if nothing of it is served. Raises ApiError."""
    body = await get_or_none(client, _root(api_version))
    if body is None:
        return {}
    try:
        found = msgspec.json.decode(body, type=_Resources)
    except msgspec.DecodeError as error:
        raise ApiError(0, "InvalidAnswer", f"the answer cannot be read: {error}") from error
    whole = (each for each in found.resources or () if "/" not in each.name)
    return {each.kind: Served(each.name, each.namespaced) for each in whole}


async def other_version(client: Getting, api_version: str, kind: str) -> str:
    """Another apiVersion of the group that has the kind; "" if none has it. Raises ApiError."""
    group = api_version.partition("/")[0]
    body = await get_or_none(client, f"/apis/{group}")
    if body is None:
        return ""
    try:
        versions = msgspec.json.decode(body, type=_Group).versions or ()
    except msgspec.DecodeError as error:
        raise ApiError(0, "InvalidAnswer", f"the answer cannot be read: {error}") from error
    for each in versions:
        if each.group_version != api_version and kind in await served(client, each.group_version):
            return each.group_version
    return ""


def list_path(api_version: str, plural: str) -> str:
    """The URL path of all objects, in all namespaces."""
    return f"{_root(api_version)}/{plural}"


def object_path(api_version: str, plural: str, namespace: str, name: str) -> str:
    """The URL path of an object in a namespace."""
    return f"{_root(api_version)}/namespaces/{namespace}/{plural}/{name}"


def _root(api_version: str) -> str:
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"

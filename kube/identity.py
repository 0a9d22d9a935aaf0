"""Who somebody is for the API server (SelfSubjectReview)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from kube.client import REQUEST_SECONDS, ApiClient
from kube.errors import ApiError

__all__ = ["PATH", "User", "who"]

PATH: Final = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW: Final = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


class User(msgspec.Struct, frozen=True):
    """authentication/v1 UserInfo, without the UID: what rights are granted by. Equal users have the same rights."""

    name: str
    groups: frozenset[str] = frozenset()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """By key, in the order of the keys."""


class _UserInfo(msgspec.Struct):
    username: str = ""
    groups: Sequence[str] | None = None
    extra: Mapping[str, Sequence[str]] | None = None


class _Status(msgspec.Struct, rename="camel"):
    user_info: _UserInfo


class _Review(msgspec.Struct):
    status: _Status


async def who(client: ApiClient, *, seconds: float = REQUEST_SECONDS) -> User:
    """The user that the API server sees in the requests of this client. Raises ApiError."""
    body = await client.request("POST", PATH, body=msgspec.json.encode(REVIEW), seconds=seconds)
    try:
        found = msgspec.json.decode(body, type=_Review).status.user_info
    except msgspec.DecodeError as error:
        raise ApiError(0, "InvalidAnswer", f"the answer cannot be read: {error}") from error
    extra = sorted((key, tuple(values)) for key, values in (found.extra or {}).items())
    return User(found.username, frozenset(found.groups or ()), tuple(extra))

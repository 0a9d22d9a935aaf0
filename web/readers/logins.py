"""With which credentials somebody has logged in."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final, Protocol

from kube.access import Access, is_granted
from kube.client import ApiClient
from kube.errors import ApiError
from kube.identity import User, who
from web.readers.digests import Digests

__all__ = ["AsClient", "Everybody", "Login", "Logins", "Owner"]

ASK_SECONDS: Final = 5.0
GET_SECONDS: Final = 10.0
MOST_BYTES: Final = 64 << 20
MOST: Final = 4096
"""Logins by token. The oldest ones give way."""


class Login(Protocol):
    """Credentials. Two objects are two logins."""

    async def user(self) -> User:
        """Whose they are. Raises ApiError."""

    async def may(self, access: Access, namespace: str) -> bool:
        """Whether they grant the right, in all namespaces if `namespace` is empty. Raises ApiError."""

    async def get(self, path: str, query: Mapping[str, str]) -> bytes:
        """The body of a GET with them. Raises ApiError."""


class AsClient:
    """The API server is asked with the credentials of a client: a token of a user."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def user(self) -> User:
        """See `Login`."""
        return await who(self._client, seconds=ASK_SECONDS)

    async def may(self, access: Access, namespace: str) -> bool:
        """See `Login`."""
        return await is_granted(self._client, access, namespace, seconds=ASK_SECONDS)

    async def get(self, path: str, query: Mapping[str, str]) -> bytes:
        """See `Login`."""
        return await self._client.request("GET", path, query=query, seconds=GET_SECONDS, most=MOST_BYTES)


class Owner(AsClient):
    """Whoever runs the command, with the credentials of their own kubeconfig. Refused ones are read again."""

    async def user(self) -> User:
        """See `Login`."""
        try:
            return await super().user()
        except ApiError as error:
            if error.status != HTTPStatus.UNAUTHORIZED:
                raise
        return await super().user()


class Everybody:
    """Whoever may read the files of a command: there is nobody else to ask."""

    NAME: Final = "whoever has the files"

    async def user(self) -> User:
        """See `Login`."""
        return User(self.NAME)

    async def may(self, access: Access, namespace: str) -> bool:
        """See `Login`."""
        del access, namespace
        return True

    async def get(self, path: str, query: Mapping[str, str]) -> bytes:
        """There is no API server."""
        del query
        raise ApiError(HTTPStatus.NOT_FOUND, "NotFound", f"{path}: files stand still")


class Logins:
    """Logins by token. A token that comes again is the same login."""

    def __init__(self, client: ApiClient) -> None:
        """`client`: its session asks with the tokens of users."""
        self._client, self._digests = client, Digests()
        self._known: dict[bytes, Login] = {}

    def known(self, token: str) -> Login | None:
        """The login of a token that the API server has accepted; None if it has not."""
        return self._known.get(self._digests.of(token))

    def new(self, token: str) -> Login | None:
        """A login that nobody has accepted yet. None for what cannot be a token."""
        try:
            return AsClient(self._client.with_token(token))
        except ApiError as error:
            if error.status:
                return None
            raise

    def accept(self, token: str, login: Login) -> None:
        """The API server knows the token."""
        if len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        self._known[self._digests.of(token)] = login

    def forget(self, login: Login) -> None:
        """The API server does not know its token any longer."""
        for digest in [digest for digest, each in self._known.items() if each is login]:
            del self._known[digest]

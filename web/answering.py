"""Asks `answers` for a reader. It withholds nothing itself: the answers get what the reader may list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import msgspec

from answers.details import Details
from answers.errors import InputError, UnreadError
from answers.picture import Picture
from answers.waiting import waiting
from answers.why import WhyKind, why
from api.clock import Clock
from api.times import rfc3339_micro
from kube.errors import ApiError
from kube.identity import User
from web.errors import forbidden, not_found, unavailable
from web.limits import AtOnce, Rate
from web.questions import MOST_FOUND
from web.readers.authority import Authority
from web.readers.door import Reader
from web.readers.rights import Granted
from web.shared import Shared
from web.sources.source import Seen, Source
from web.turns import Turns
from web.versions import version_for
from web.wire import Found, FoundObject

__all__ = ["NOT_YET", "Answering"]

T = TypeVar("T")

NOT_YET: Final = "the cluster has not been read yet"
TRIES: Final = 3
"""So often an answer is made anew because rights have changed while it was made."""
WHY_PER_MINUTE: Final = 30
PARTS: Final = ("groups", "pods", "workloads")


@dataclass(frozen=True, slots=True)
class Asked:
    """Which list of what waits. Equal ones are made once."""

    version: str
    trouble: str
    granted: Granted
    namespaces: tuple[str, ...]


class Answering:
    """The answers of one source. One thread makes them: a picture is not for several."""

    def __init__(
        self, source: Source, authority: Authority, executor: Executor, clock: Clock, *, is_shared: bool
    ) -> None:
        """`executor` has one thread. `is_shared`: several people use the process, so each has limits of their own."""
        self.source, self._authority = source, authority
        self._turns = Turns(executor)
        self._lists = Shared[Asked, dict[str, Any]](executor, clock)
        self._own_turn = AtOnce[User]("questions", 1, 1.0)
        self._rate = Rate[User]("questions", WHY_PER_MINUTE, 60.0, clock)
        self._is_shared = is_shared
        self.is_ready = False
        """Whether all that may be read has been listed once."""

    async def granted(self, reader: Reader, namespaces: Collection[str]) -> Granted:
        """What the reader may list now. Raises Refused."""
        return await self._authority.granted(reader.login, reader.user, namespaces)

    async def why(
        self, reader: Reader, namespaces: Collection[str], kind: WhyKind, namespace: str, name: str
    ) -> bytes:
        """What `reprieve why -o json` says. Raises Refused: for a missing right before anybody looks for the object."""

        async def made(granted: Granted) -> dict[str, Any]:
            if right := granted.lacking(kind, namespace):
                raise forbidden(right)
            self._check_ready()
            return await self._why(reader, granted, kind, namespace, name)

        return msgspec.json.encode(await self._with_rights(reader, {*namespaces, namespace}, made))

    async def waiting(self, reader: Reader, namespaces: tuple[str, ...]) -> dict[str, Any]:
        """All that waits, of these namespaces if any are named. Raises Refused."""

        async def made(granted: Granted) -> dict[str, Any]:
            self._check_ready()
            return await self._waiting(granted, namespaces)

        return await self._with_rights(reader, namespaces, made)

    async def search(self, reader: Reader, namespaces: tuple[str, ...], text: str) -> Found:
        """What waits, with the text in its name or its namespace. Raises Refused."""
        answer = await self.waiting(reader, namespaces)
        rows = (row for part in PARTS for row in answer[part])
        named = [row for row in rows if text in f"{row['namespace']}/{row['name']}".lower()]
        found = [FoundObject(row["kind"], row["namespace"], row["name"]) for row in named[:MOST_FOUND]]
        return Found(found, len(named) > MOST_FOUND)

    async def _with_rights(
        self, reader: Reader, namespaces: Collection[str], make: Callable[[Granted], Awaitable[T]]
    ) -> T:
        """What `make` returns, once the rights are the same after it as before. Raises Refused."""
        granted = await self.granted(reader, namespaces)
        for _ in range(TRIES):
            answer = await make(granted)
            before, granted = granted, await self.granted(reader, namespaces)
            if granted == before:
                return answer
        raise unavailable("rights change all the time")

    def _check_ready(self) -> None:
        if not self.is_ready:
            raise unavailable(NOT_YET)

    async def _why(
        self, reader: Reader, granted: Granted, kind: WhyKind, namespace: str, name: str
    ) -> dict[str, Any]:
        with self._own_turn.hold(reader.user) if self._is_shared else nullcontext():
            if self._is_shared:
                self._rate.take(reader.user)
            try:
                about = await self.source.about(namespace, reader.login.get)
                return await self._turns.run(partial(_why, *about, kind, name, granted))
            except InputError as error:
                raise not_found(str(error)) from None
            except UnreadError as error:
                raise unavailable(str(error)) from None
            except ApiError as error:
                raise unavailable(f"the API server does not answer: {error.reason}") from None

    async def _waiting(self, granted: Granted, namespaces: tuple[str, ...]) -> dict[str, Any]:
        asked = Asked(self.source.version, self.source.trouble, granted, namespaces)
        try:
            return await self._lists.get(asked, self._list_of(asked))
        except (InputError, UnreadError) as error:
            raise unavailable(str(error)) from None

    def _list_of(self, asked: Asked) -> Callable[[], dict[str, Any]]:
        """Makes the list, of what is there now."""
        return partial(_waiting, self.source.picture(), self.source.now(), asked)


def _why(picture: Picture, details: Details, kind: WhyKind, name: str, granted: Granted) -> dict[str, Any]:
    return why(picture, details, kind, name, granted).plain()


def _waiting(seen: Seen, moment: int, asked: Asked) -> dict[str, Any]:
    found = waiting(seen.at(moment), seen.details, asked.granted, asked.namespaces or None)
    return {
        "version": version_for(asked.version, asked.granted),
        "moment": rfc3339_micro(moment / 1e6),
        "trouble": asked.trouble,
        **found.plain(),
    }

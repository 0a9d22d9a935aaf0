"""How all answers are made: with the reader's rights, one at a time, and when there is something to show.

It withholds nothing itself: `answers` gets what the reader may list.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Hashable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Final, TypeVar

from answers.errors import InputError, UnreadError
from api.clock import Clock
from kube.errors import ApiError
from kube.identity import User
from web.errors import unavailable
from web.limits import AtOnce, Rate
from web.readers.authority import Authority
from web.readers.door import Reader
from web.readers.rights import Granted
from web.shared import Shared
from web.sources.source import Source
from web.turns import Turns

__all__ = ["NOT_YET", "Answering"]

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

NOT_YET: Final = "the cluster has not been read yet"
TRIES: Final = 3
"""So often an answer is made anew because rights have changed while it was made."""
QUESTIONS_PER_MINUTE: Final = 30
MOST_LISTS: Final = 4
"""Different lists and maps that are made for one user at once: others come between them."""


class Answering:
    """What the views share. One thread makes their answers: a picture is not for several."""

    def __init__(
        self, source: Source, authority: Authority, executor: Executor, clock: Clock, *, is_shared: bool
    ) -> None:
        """`executor` has one thread. `is_shared`: several people use the process, so each has limits of their own."""
        self.source, self._authority = source, authority
        self._turns = Turns(executor)
        self._own_turn = AtOnce[User]("questions", 1, 1.0)
        self._lists = AtOnce[User]("lists", MOST_LISTS, 1.0)
        self._rate = Rate[User]("questions", QUESTIONS_PER_MINUTE, 60.0, clock)
        self._is_shared = is_shared
        self.is_ready = False
        """Whether all that may be read has been listed once."""

    async def granted(self, reader: Reader, namespaces: Collection[str]) -> Granted:
        """What the reader may list now. Raises Refused."""
        return await self._authority.granted(reader.login, reader.user, namespaces)

    async def with_rights(
        self, reader: Reader, namespaces: Collection[str], make: Callable[[Granted], Awaitable[T]]
    ) -> T:
        """What `make` returns, once the rights are the same after it as before.

        Raises Refused, also for errors of `make` that a reader can wait for.
        """
        granted = await self.granted(reader, namespaces)
        for _ in range(TRIES):
            answer = await _made(make, granted)
            before, granted = granted, await self.granted(reader, namespaces)
            if granted == before:
                return answer
        raise unavailable("rights change all the time")

    def check_ready(self) -> None:
        """Raises Refused before everything has been listed."""
        if not self.is_ready:
            raise unavailable(NOT_YET)

    @contextmanager
    def question(self, reader: Reader) -> Iterator[None]:
        """What costs a search: for each user one at a time, and at most 30 a minute. On a laptop nothing limits them.

        Raises Refused.
        """
        if not self._is_shared:
            yield
            return
        with self._own_turn.hold(reader.user):
            self._rate.take(reader.user)
            yield

    async def listed(self, reader: Reader, lists: Shared[K, V], key: K, make: Callable[[], V]) -> V:
        """The list of this key, which is made once for all who ask. Raises Refused if too many others are being made
        for the reader."""
        if not self._is_shared or lists.has(key):
            return await lists.get(key, make)
        with self._lists.hold(reader.user):
            return await lists.get(key, make)

    async def run(self, make: Callable[[], T]) -> T:
        """What `make` returns in the thread. Raises Refused if too many wait."""
        return await self._turns.run(make)


async def _made(make: Callable[[Granted], Awaitable[T]], granted: Granted) -> T:
    try:
        return await make(granted)
    except (InputError, UnreadError) as error:
        raise unavailable(str(error)) from None
    except ApiError as error:
        raise unavailable(f"the API server does not answer: {error.reason}") from None

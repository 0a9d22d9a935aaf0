"""Asks the API server who somebody is, and what they may list. Each answer counts for `page.recheckSeconds`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Final

from answers.names import EVERYWHERE, Listed
from api.clock import Clock
from kube.errors import ApiError
from kube.identity import User
from web.errors import Refused, forbidden, unauthorized, unavailable
from web.limits import Rate
from web.readers.kept import Kept
from web.readers.logins import Login
from web.readers.rights import CLUSTER_WIDE, NAMESPACED, Granted

__all__ = ["AHEAD", "Authority"]

Right = tuple[Listed, str]
"""What is listed, and a namespace or EVERYWHERE."""

AHEAD: Final = 0.25
"""Streams ask anew when this part of `page.recheckSeconds` is left: the answer comes before the old one ends."""
MOST_USERS: Final = 4096
MOST_RIGHTS: Final = 65536
AT_ONCE: Final = 16
"""Questions in flight."""
MOST_SETS: Final = 16
"""Of namespaces that are remembered for one user."""
MOST_QUESTIONS: Final = 400
"""About the rights of one user, in `page.recheckSeconds`. Who names 20 namespaces needs about 200."""


class Authority:
    """What the API server has said lately, about all readers."""

    def __init__(self, seconds: float, clock: Clock, refused: Callable[[Login], None]) -> None:
        """`seconds`: how long an answer counts. `refused` gets each login whose token is not valid any longer."""
        self._refused = refused
        self._ahead = AHEAD * seconds
        self._users = Kept[Login, User](seconds, MOST_USERS, clock)
        self._rights = Kept[tuple[User, Listed, str], bool](seconds, MOST_RIGHTS, clock)
        self._granted: dict[User, dict[tuple[str, ...], tuple[Granted, float]]] = {}
        """What each user was found to have, by the namespaces that were named, and when the oldest answer in it was
        asked for. A stream needs it for each event, and there are a hundred answers in it."""
        self._seconds, self._clock = seconds, clock
        self._questions = Rate[User]("questions about rights", MOST_QUESTIONS, seconds, clock)
        self._slots = asyncio.Semaphore(AT_ONCE)

    async def user(self, login: Login, *, early: bool = False) -> User:
        """Whose login it is. `early`: ask anew a little before the last answer ends. Raises Refused."""
        try:
            return await self._users.get(login, login.user, ahead=self._ahead if early else 0)
        except ApiError as error:
            raise self._said(login, error) from None

    async def granted(
        self, login: Login, user: User, namespaces: Collection[str], *, early: bool = False
    ) -> Granted:
        """What the user may list: of each kind in all namespaces, and if it is not granted there, in those that are
        named. `early`: as for `user`. Raises Refused."""
        ahead, asked = self._ahead if early else 0.0, tuple(sorted(set(namespaces)))
        if (kept := self._kept(user, asked, ahead)) is not None:
            return kept
        everywhere: list[Right] = [(what, EVERYWHERE) for what in (*CLUSTER_WIDE, *NAMESPACED)]
        rights = await self._among(login, user, everywhere, ahead)
        lacking = [what for what in NAMESPACED if (what, EVERYWHERE) not in rights]
        named = [(what, each) for what in lacking for each in asked]
        rights |= await self._among(login, user, named, ahead)
        granted = Granted(frozenset(rights), asked)
        self._remember(user, granted, [*everywhere, *named], ahead)
        return granted

    def known(
        self, login: Login, user: User, namespaces: Collection[str], *, early: bool = False
    ) -> Granted | None:
        """As `granted`, without a question; None if one is needed."""
        ahead, asked = self._ahead if early else 0.0, tuple(sorted(set(namespaces)))
        if self._users.fresh(login, ahead) is None:
            return None
        if (kept := self._kept(user, asked, ahead)) is not None:
            return kept
        rights = set[Right]()
        for what in (*CLUSTER_WIDE, *NAMESPACED):
            for each in (EVERYWHERE, *(asked if what in NAMESPACED else ())):
                has = self._rights.fresh((user, what, each), ahead)
                if has is None:
                    return None
                if has:
                    rights.add((what, each))
                if has and each == EVERYWHERE:
                    break
        return Granted(frozenset(rights), asked)

    def _kept(self, user: User, asked: tuple[str, ...], ahead: float) -> Granted | None:
        """What was found lately, if it still counts then."""
        known = self._granted.get(user, {}).get(asked)
        if known is None or self._clock.monotonic() - known[1] >= self._seconds - ahead:
            return None
        return known[0]

    def _remember(self, user: User, granted: Granted, rights: Collection[Right], ahead: float) -> None:
        """Until the first of these rights has to be asked about again, if nothing else was answered meanwhile."""
        keys = {each: (user, *each) for each in rights}
        now = {each: self._rights.fresh(key, ahead) for each, key in keys.items()}
        if None in now.values() or {each for each, has in now.items() if has} != granted.rights:
            return
        known = self._granted.get(user)
        if known is None or len(known) >= MOST_SETS:
            if len(self._granted) >= MOST_USERS:
                del self._granted[next(iter(self._granted))]
            known = self._granted[user] = {}
        known[granted.asked] = granted, min(map(self._rights.asked, keys.values()))

    async def _among(self, login: Login, user: User, rights: Collection[Right], ahead: float) -> set[Right]:
        """Those that are granted.

        Somebody else with the same rights may have asked, with a token that is not valid any longer. So a refusal is
        believed only if the API server does not know this login either.
        """
        known = {each: self._rights.fresh((user, *each), ahead) for each in rights}
        unknown = [each for each, has in known.items() if has is None]
        if not unknown:
            return {each for each, has in known.items() if has}
        try:
            found = await self._ask_all(login, user, unknown, ahead)
        except ApiError as error:
            if error.status != HTTPStatus.UNAUTHORIZED:
                raise self._said(login, error) from None
            self._users.forget(login)
            await self.user(login)
            found = await self._ask_again(login, user, unknown, ahead)
        return {each for each, has in (known | found).items() if has}

    async def _ask_again(
        self, login: Login, user: User, rights: Collection[Right], ahead: float
    ) -> dict[Right, bool]:
        try:
            return await self._ask_all(login, user, rights, ahead)
        except ApiError as error:
            raise self._said(login, error) from None

    async def _ask_all(
        self, login: Login, user: User, rights: Collection[Right], ahead: float
    ) -> dict[Right, bool]:
        """Raises ApiError once all questions have an answer, so that none goes on behind."""
        asking = (self._may(login, user, *each, ahead) for each in rights)
        found = dict(zip(rights, await asyncio.gather(*asking, return_exceptions=True), strict=True))
        answers = dict[Right, bool]()
        for each, answer in found.items():
            if isinstance(answer, BaseException):
                raise answer
            answers[each] = answer
        return answers

    async def _may(self, login: Login, user: User, what: Listed, namespace: str, ahead: float) -> bool:
        accesses = CLUSTER_WIDE[what] if what in CLUSTER_WIDE else (NAMESPACED[what],)

        async def ask() -> bool:
            self._questions.take(user)
            has = True
            async with self._slots:
                for access in accesses:
                    if not (has := await login.may(access, namespace)):
                        break
            self._granted.pop(user, None)
            return has

        return await self._rights.get((user, what, namespace), ask, ahead=ahead)

    def _said(self, login: Login, error: ApiError) -> Refused:
        """What the answer to the reader says."""
        if error.status == HTTPStatus.UNAUTHORIZED:
            self._users.forget(login)
            self._refused(login)
            return unauthorized("the API server does not accept the token (any longer)")
        if error.status == HTTPStatus.FORBIDDEN:
            return forbidden("create selfsubjectreviews and selfsubjectaccessreviews (system:basic-user)")
        return unavailable("the API server does not say what you may see")

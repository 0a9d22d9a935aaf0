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
from web.readers.together import Together

__all__ = ["AHEAD", "Authority"]

Right = tuple[Listed, str]
"""What is listed, and a namespace or EVERYWHERE."""

AHEAD: Final = 0.25
"""Streams ask anew when this part of `page.recheckSeconds` is left: the answer comes before the old one ends."""
MOST_USERS: Final = 4096
MOST_RIGHTS: Final = 65536
AGAIN: Final = 0.5
"""When the first right is asked about ahead, then all with less than this part left: so a set of rights is asked about
in one go, and not in many small ones."""
AT_ONCE: Final = 16
"""Questions in flight for which somebody waits."""
AHEAD_AT_ONCE: Final = 8
"""Questions in flight besides, for which nobody waits yet. Their answers come in one turn of the loop."""
MOST_SETS: Final = 16
"""Of namespaces that are remembered for one user."""
MOST_QUESTIONS: Final = 400
"""About the rights of one user, in `page.recheckSeconds`. Who names 20 namespaces needs about 200."""


class _Way:
    """How rights are asked about."""

    def __init__(self, ahead: float, again: float, most: int) -> None:
        """A set of rights is asked about if the first of them does not count any longer in `ahead` seconds: then all
        that do not count any longer in `again` seconds. At most `most` questions are in flight."""
        self.ahead, self.again, self.most = ahead, again, most
        self.slots = asyncio.Semaphore(most)


class Authority:
    """What the API server has said lately, about all readers."""

    def __init__(self, seconds: float, clock: Clock, refused: Callable[[Login], None]) -> None:
        """`seconds`: how long an answer counts. `refused` gets each login whose token is not valid any longer."""
        self._refused = refused
        self._waited_for = _Way(0, 0, AT_ONCE)
        self._early = _Way(AHEAD * seconds, AGAIN * seconds, AHEAD_AT_ONCE)
        self._users = Kept[Login, User](seconds, MOST_USERS, clock)
        self._rights = Kept[tuple[User, Listed, str], bool](seconds, MOST_RIGHTS, clock)
        self._granted: dict[User, dict[tuple[str, ...], tuple[Granted, float]]] = {}
        """What each user was found to have, by the namespaces that were named, and when the oldest answer in it was
        asked for. A stream needs it for each event, and there are a hundred answers in it."""
        self._seconds, self._clock = seconds, clock
        self._questions = Rate[User]("questions about rights", MOST_QUESTIONS, seconds, clock)
        self._asking = Together[tuple[Login, User, tuple[str, ...], bool], Granted]("asking about rights")

    async def user(self, login: Login, *, early: bool = False) -> User:
        """Whose login it is. `early`: ask anew a little before the last answer ends. Raises Refused."""
        try:
            return await self._users.get(login, login.user, ahead=self._way(early=early).ahead)
        except ApiError as error:
            raise self._said(login, error) from None

    async def granted(
        self, login: Login, user: User, namespaces: Collection[str], *, early: bool = False
    ) -> Granted:
        """What the user may list: of each kind in all namespaces, and if it is not granted there, in those that are
        named. `early`: as for `user`. Raises Refused."""
        way, asked = self._way(early=early), tuple(sorted(set(namespaces)))
        if (kept := self._kept(user, asked, way.ahead)) is not None:
            return kept
        return await self._asking.get(
            (login, user, asked, early), lambda: self._ask_granted(login, user, asked, way)
        )

    async def _ask_granted(self, login: Login, user: User, asked: tuple[str, ...], way: _Way) -> Granted:
        everywhere: list[Right] = [(what, EVERYWHERE) for what in (*CLUSTER_WIDE, *NAMESPACED)]
        rights = await self._among(login, user, everywhere, way)
        lacking = [what for what in NAMESPACED if (what, EVERYWHERE) not in rights]
        named = [(what, each) for what in lacking for each in asked]
        rights |= await self._among(login, user, named, way)
        granted = Granted(frozenset(rights), asked)
        self._remember(user, granted, [*everywhere, *named], way.ahead)
        return granted

    def known(
        self, login: Login, user: User, namespaces: Collection[str], *, early: bool = False
    ) -> Granted | None:
        """As `granted`, without a question; None if one is needed."""
        ahead, asked = self._way(early=early).ahead, tuple(sorted(set(namespaces)))
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

    def _way(self, *, early: bool) -> _Way:
        return self._early if early else self._waited_for

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

    async def _among(self, login: Login, user: User, rights: Collection[Right], way: _Way) -> set[Right]:
        """Those that are granted.

        Somebody else with the same rights may have asked, with a token that is not valid any longer. So a refusal is
        believed only if the API server does not know this login either.
        """
        known = {each: self._rights.fresh((user, *each), way.again) for each in rights}
        unknown = [each for each, has in known.items() if has is None]
        if not unknown:
            return {each for each, has in known.items() if has}
        try:
            found = await self._ask_all(login, user, unknown, way)
        except ApiError as error:
            if error.status != HTTPStatus.UNAUTHORIZED:
                raise self._said(login, error) from None
            self._users.forget(login)
            await self.user(login)
            found = await self._ask_again(login, user, unknown, way)
        return {each for each, has in (known | found).items() if has}

    async def _ask_again(
        self, login: Login, user: User, rights: Collection[Right], way: _Way
    ) -> dict[Right, bool]:
        try:
            return await self._ask_all(login, user, rights, way)
        except ApiError as error:
            raise self._said(login, error) from None

    async def _ask_all(
        self, login: Login, user: User, rights: Collection[Right], way: _Way
    ) -> dict[Right, bool]:
        """Raises the first ApiError or Refused once no question is in flight, so that none goes on behind."""
        todo, answers, faults = iter(rights), dict[Right, bool](), list[ApiError | Refused]()

        async def work() -> None:
            """A task for each question would all begin in one turn of the loop."""
            for each in todo:
                try:
                    answers[each] = await self._may(login, user, *each, way)
                except (ApiError, Refused) as error:
                    faults.append(error)
                if faults:
                    return

        await asyncio.gather(*(work() for _ in range(min(way.most, len(rights)))))
        if faults:
            raise faults[0]
        return answers

    async def _may(self, login: Login, user: User, what: Listed, namespace: str, way: _Way) -> bool:
        accesses = CLUSTER_WIDE[what] if what in CLUSTER_WIDE else (NAMESPACED[what],)
        key = user, what, namespace

        async def ask() -> bool:
            self._questions.take(user)
            has = True
            async with way.slots:
                for access in accesses:
                    if not (has := await login.may(access, namespace)):
                        break
            if has != self._rights.last(key):
                self._granted.pop(user, None)
            return has

        return await self._rights.get(key, ask, ahead=way.again)

    def _said(self, login: Login, error: ApiError) -> Refused:
        """What the answer to the reader says."""
        if error.status == HTTPStatus.UNAUTHORIZED:
            self._users.forget(login)
            self._refused(login)
            return unauthorized("the API server does not accept the token (any longer)")
        if error.status == HTTPStatus.FORBIDDEN:
            return forbidden("create selfsubjectreviews and selfsubjectaccessreviews (system:basic-user)")
        return unavailable("the API server does not say what you may see")

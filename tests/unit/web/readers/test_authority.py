"""What the API server says counts for a while, and no longer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from kube.access import Access
from kube.errors import ApiError
from kube.identity import User
from tests.kit.clock import ManualClock
from web.errors import Refused
from web.readers.authority import AHEAD_AT_ONCE, MOST_QUESTIONS, Authority
from web.readers.kept import TRY_AGAIN_SECONDS
from web.readers.rights import MOST_NAMESPACES, NAMESPACED, Granted

SECONDS = 30.0


@dataclass(eq=False)
class Told:
    """A login whose answers a test decides."""

    name: str = "anna"
    rights: set[str] = field(default_factory=set)
    is_valid: bool = True
    is_down: bool = False
    asked: list[str] = field(default_factory=list)
    gate: asyncio.Event | None = None

    async def user(self) -> User:
        await self._answer("who")
        return User(self.name)

    async def may(self, access: Access, namespace: str) -> bool:
        right = f"{access.resource} {namespace}".strip()
        await self._answer(right)
        return right in self.rights

    async def get(self, path: str, query: object) -> bytes:
        raise AssertionError("nothing is read here")

    async def _answer(self, question: str) -> None:
        self.asked.append(question)
        await asyncio.sleep(0)
        if self.gate is not None:
            await self.gate.wait()
        if self.is_down:
            raise ApiError(0, "Timeout", "no answer in time")
        if not self.is_valid:
            raise ApiError(401, "Unauthorized", "Unauthorized")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def ended() -> list[object]:
    return []


@pytest.fixture
def authority(clock: ManualClock, ended: list[object]) -> Authority:
    return Authority(SECONDS, clock, ended.append)


async def granted(authority: Authority, login: Told, *namespaces: str, early: bool = False) -> Granted:
    return await authority.granted(login, await authority.user(login, early=early), namespaces, early=early)


async def test_all_namespaces_are_asked_about_first(authority: Authority) -> None:
    login = Told(rights={kind for kind in NAMESPACED if kind != "jobs"} | {"jobs a", "nodes"})
    found = await granted(authority, login, "a", "b")
    assert {each for each in login.asked if " " in each} == {"jobs a", "jobs b"}
    assert found.lists("pods", "anywhere")
    assert found.lists("jobs", "a")
    assert not found.lists("jobs", "b")
    assert not found.lists("jobs")
    assert found.lists("nodes")
    assert not found.lists("clusterpreemptionplans")


async def test_no_namespace_is_tried_that_nobody_has_named(authority: Authority) -> None:
    login = Told(rights={"pods a"})
    found = await granted(authority, login)
    assert not [each for each in login.asked if " " in each]
    assert not found.lists("pods", "a")


async def test_each_answer_is_asked_for_once_in_its_time(authority: Authority, clock: ManualClock) -> None:
    login = Told(rights={"pods"})
    await asyncio.gather(*(granted(authority, login, "a") for _ in range(5)))
    clock.advance(SECONDS - 0.01)
    await granted(authority, login, "a")
    assert len(login.asked) == len(set(login.asked))
    clock.advance(0.02)
    login.rights = set()
    assert not (await granted(authority, login, "a")).lists("pods", "a")


async def test_users_with_the_same_name_groups_and_extra_share_answers(authority: Authority) -> None:
    one, other = Told(rights={"pods"}), Told(rights={"pods"})
    await granted(authority, one)
    assert (await granted(authority, other)).lists("pods")
    assert other.asked == ["who"]
    stranger = Told("otto")
    assert not (await granted(authority, stranger)).lists("pods")


async def test_streams_ask_before_the_answer_ends(authority: Authority, clock: ManualClock) -> None:
    login = Told(rights={"pods"})
    await granted(authority, login)
    clock.advance(0.8 * SECONDS)
    login.rights.clear()
    assert (await granted(authority, login)).lists("pods")
    assert not (await granted(authority, login, early=True)).lists("pods")


async def test_what_is_granted_is_put_together_once(authority: Authority, clock: ManualClock) -> None:
    """A stream needs it for each event."""
    login = Told(rights={"pods a", "nodes"})
    first = await granted(authority, login, "a", "b")
    assert await granted(authority, login, "b", "a") is first
    assert await granted(authority, login, "a") is not first
    clock.advance(SECONDS - 1)
    assert await granted(authority, login, "a", "b") is first
    assert await granted(authority, login, "a", "b", early=True) is not first


async def test_a_right_that_was_asked_about_again_counts_for_all_namespaces_that_were_named(
    authority: Authority, clock: ManualClock
) -> None:
    login = Told(rights={"pods a", "pods b"})
    await granted(authority, login, "b")
    clock.advance(1)
    assert (await granted(authority, login, "a", "b")).lists("pods", "b")
    clock.advance(SECONDS * 0.75 - 1)
    login.rights = {"pods a"}
    assert not (await granted(authority, login, "b", early=True)).lists("pods", "b")
    assert not (await granted(authority, login, "a", "b")).lists("pods", "b")


async def test_what_counts_is_known_while_it_is_asked_about_again(
    authority: Authority, clock: ManualClock
) -> None:
    """And nothing is put together anew for it."""
    login = Told(rights={"pods a", "nodes"})
    user = await authority.user(login)
    first = await authority.granted(login, user, ("a", "b"))
    clock.advance(0.8 * SECONDS)
    asking = asyncio.create_task(granted(authority, login, "a", "b", early=True))
    while len(login.asked) < 40:
        assert authority.known(login, user, ("a", "b")) is first
        await asyncio.sleep(0)
    again = await asking
    assert (again == first, again is first) == (True, False)
    assert authority.known(login, user, ("a", "b"), early=True) is again


async def test_a_right_that_is_refused_meanwhile_counts_at_once(
    authority: Authority, clock: ManualClock
) -> None:
    login = Told(rights={"pods a", "nodes"})
    user = await authority.user(login)
    await authority.granted(login, user, ("a",))
    clock.advance(0.8 * SECONDS)
    login.rights, login.asked = {"nodes"}, []
    asking = asyncio.create_task(granted(authority, login, "a", early=True))

    def lists_pods() -> bool:
        known = authority.known(login, user, ("a",))
        return known is not None and known.lists("pods", "a")

    for _ in range(1000):
        if not lists_pods():
            break
        await asyncio.sleep(0)
    assert not lists_pods()
    assert authority.known(login, user, ("a",)) is not None
    assert not asking.done()
    await asking


async def test_streams_of_a_user_ask_together_and_few_questions_are_in_flight(
    authority: Authority, clock: ManualClock
) -> None:
    logins = [Told(f"user-{number}", rights={"nodes"}) for number in range(10)]
    names = [f"n{number}" for number in range(10)]
    for login in logins:
        await granted(authority, login, *names)
        login.asked = []
    clock.advance(0.8 * SECONDS)
    gate = asyncio.Event()
    users = [await authority.user(login, early=True) for login in logins]
    for login in logins:
        login.gate, login.asked = gate, []
    asking = [
        asyncio.create_task(authority.granted(login, user, names, early=True))
        for login, user in zip(logins, users, strict=True)
        for _ in range(4)
    ]
    for _ in range(100):
        await asyncio.sleep(0)
    assert sum(len(login.asked) for login in logins) == AHEAD_AT_ONCE
    gate.set()
    await asyncio.gather(*asking)
    for login in logins:
        assert len(login.asked) == len(set(login.asked)) == len(NAMESPACED) * 11 + 4


async def test_rights_that_were_asked_about_at_different_times_are_asked_about_in_one_go(
    authority: Authority, clock: ManualClock
) -> None:
    login = Told(rights={"nodes"})
    await granted(authority, login, "a")
    clock.advance(0.1 * SECONDS)
    await granted(authority, login, "a", "b")
    clock.advance(0.7 * SECONDS)
    login.asked = []
    found = await granted(authority, login, "a", "b", early=True)
    assert {"pods a", "pods b"} <= set(login.asked)
    clock.advance(0.1 * SECONDS)
    assert await granted(authority, login, "a", "b", early=True) is found


async def test_a_revoked_token_ends_its_login(
    authority: Authority, clock: ManualClock, ended: list[object]
) -> None:
    login = Told(rights={"pods"})
    await granted(authority, login)
    login.is_valid = False
    clock.advance(SECONDS)
    with pytest.raises(Refused) as caught:
        await authority.user(login)
    assert (caught.value.status, caught.value.reason) == (401, "Unauthorized")
    assert ended == [login]


async def test_a_revoked_token_does_not_end_the_login_of_others(
    authority: Authority, clock: ManualClock, ended: list[object]
) -> None:
    """Both ask the same at the same time, and only one question is sent: with the token that is revoked."""
    revoked, valid = Told(rights={"pods"}), Told(rights={"pods"})
    user = await authority.user(revoked)
    assert await authority.user(valid) == user
    revoked.is_valid, revoked.gate = False, asyncio.Event()
    first = asyncio.create_task(authority.granted(revoked, user, ()))
    await asyncio.sleep(0.01)
    second = asyncio.create_task(authority.granted(valid, user, ()))
    await asyncio.sleep(0.01)
    revoked.gate.set()
    with pytest.raises(Refused):
        await first
    assert (await second).lists("pods")
    assert ended == [revoked]


async def test_without_the_api_server_rights_count_twice_as_long(
    authority: Authority, clock: ManualClock, ended: list[object]
) -> None:
    login = Told(rights={"pods"})
    await granted(authority, login)
    login.is_down = True
    clock.advance(1.99 * SECONDS)
    assert (await granted(authority, login)).lists("pods")
    clock.advance(0.02 * SECONDS)
    with pytest.raises(Refused) as caught:
        await granted(authority, login)
    assert (caught.value.status, caught.value.reason) == (503, "Unavailable")
    assert ended == []
    login.is_down = False
    clock.advance(1.0)
    assert (await granted(authority, login)).lists("pods")


async def test_an_api_server_that_is_down_is_asked_once_a_second(
    authority: Authority, clock: ManualClock
) -> None:
    login = Told()
    await authority.user(login)
    login.is_down = True
    clock.advance(SECONDS)
    for _ in range(10):
        await authority.user(login)
    assert login.asked == ["who"] * 2
    clock.advance(1.0)
    await authority.user(login)
    assert login.asked == ["who"] * 3


async def test_who_names_other_namespaces_all_the_time_is_limited(authority: Authority) -> None:
    login = Told()

    async def name_many() -> None:
        for number in range(MOST_QUESTIONS):
            await granted(authority, login, *(f"n{number}-{each}" for each in range(MOST_NAMESPACES)))

    with pytest.raises(Refused) as caught:
        await name_many()
    assert caught.value.status == 429
    assert len(login.asked) <= MOST_QUESTIONS + 1


class Rights(RuleBasedStateMachine):
    """Whatever happens in whichever order: what is shown was right not long ago."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = ManualClock(monotonic=0.0)
        self.ended: list[object] = []
        self.authority = Authority(SECONDS, self.clock, self.ended.append)
        self.login = Told(rights={"pods"})
        self.was: list[tuple[float, bool]] = [(0.0, True)]
        """When the right to list pods was changed, and to what."""
        self.revoked = float("inf")
        self.answered = float("-inf")
        """When the API server was last up and asked."""
        self.failed = float("-inf")
        """When it was last down and asked."""

    def teardown(self) -> None:
        self.loop.close()

    def since(self, seconds: float) -> set[bool]:
        """What the right was in the last seconds."""
        now = self.clock.monotonic()
        later = [has for at, has in self.was if at > now - seconds]
        before = [has for at, has in self.was if at <= now - seconds]
        return {*later, *(before[-1:] or [self.was[0][1]])}

    @rule(has=st.booleans())
    def grant(self, has: bool) -> None:
        self.login.rights = {"pods"} if has else set()
        self.was.append((self.clock.monotonic(), has))

    @rule(is_down=st.booleans())
    def break_(self, is_down: bool) -> None:
        self.login.is_down = is_down

    @rule(seconds=st.sampled_from([0.5, 1.0, 7.0, 15.0, 29.0, 30.0, 31.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def revoke(self) -> None:
        self.login.is_valid = False
        self.revoked = min(self.revoked, self.clock.monotonic())

    @rule(early=st.booleans())
    def ask(self, early: bool) -> None:
        now = self.clock.monotonic()
        found = self.loop.run_until_complete(self.answer(early=early))
        if self.login.is_down:
            self.failed = now
        if isinstance(found, Refused):
            self.refused(found)
            return
        # It is not asked again in the moment after it was down.
        longest = 2 * SECONDS if now - self.failed < TRY_AGAIN_SECONDS else SECONDS
        assert found.lists("pods") in self.since(longest)
        assert self.revoked > now - longest, "a revoked token shows nothing any longer"
        if not self.login.is_down and self.login.is_valid:
            self.answered = max(self.answered, now - SECONDS)

    async def answer(self, *, early: bool) -> Granted | Refused:
        try:
            return await granted(self.authority, self.login, early=early)
        except Refused as error:
            return error

    def refused(self, error: Refused) -> None:
        if error.status == 401:
            assert self.revoked <= self.clock.monotonic()
            assert self.ended
        else:
            assert error.status == 503
            assert self.login.is_down
            assert self.clock.monotonic() - self.answered >= SECONDS, "an answer counts for its time"


TestRights = Rights.TestCase
TestRights.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)

"""Codes and sessions: each works where, when and as often as it may."""

from __future__ import annotations

import re

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from tests.kit.clock import ManualClock
from web.readers import codes
from web.readers.codes import CODE_SECONDS, Codes
from web.readers.logins import Everybody
from web.readers.sessions import MOST_OF_LOGIN, PREFIX, Session, Sessions

SECONDS = 3600.0


def test_a_code_works_once() -> None:
    known = Codes(ManualClock())
    code = known.new()
    assert not known.use(code + "x")
    assert not known.use(code[:-1])
    assert not known.use("")
    assert known.use(code)
    assert not known.use(code)


def test_a_code_works_for_five_minutes() -> None:
    clock = ManualClock()
    known = Codes(clock)
    old = known.new()
    clock.advance(1)
    code = known.new()
    clock.advance(299)
    assert not known.use(old)
    assert known.use(code)


def test_a_code_of_another_process_does_not_work() -> None:
    assert not Codes(ManualClock()).use(Codes(ManualClock()).new())


def test_many_codes_push_out_the_oldest() -> None:
    known = Codes(ManualClock())
    made = [known.new() for _ in range(codes.MOST + 3)]
    assert [known.use(each) for each in made] == [False] * 3 + [True] * codes.MOST


def test_codes_and_sessions_have_128_random_bits() -> None:
    known, sessions = Codes(ManualClock()), Sessions(SECONDS, ManualClock())
    made = [known.new() for _ in range(8)] + [
        sessions.begin(Everybody())[0].removeprefix(PREFIX) for _ in range(8)
    ]
    assert all(re.fullmatch(r"[\w-]{22}", each) for each in made)
    assert len(set(made)) == 16


def test_many_sessions_of_a_login_push_out_its_oldest() -> None:
    sessions, login, other = Sessions(SECONDS, ManualClock()), Everybody(), Everybody()
    kept = sessions.begin(other)[0]
    made = list[str]()
    for number in range(MOST_OF_LOGIN + 3):
        made.append(sessions.begin(login)[0])
        works = [sessions.find(each) is not None for each in made]
        lost = max(0, number + 1 - MOST_OF_LOGIN)
        assert works == [False] * lost + [True] * (number + 1 - lost)
    assert sessions.find(kept) is not None


def test_text_that_is_no_secret_is_no_session() -> None:
    sessions = Sessions(SECONDS, ManualClock())
    for text in ("", PREFIX, "\udc80", "x" * 100_000):
        assert sessions.find(text) is None
        assert not Codes(ManualClock()).use(text)


def test_no_secret_is_kept() -> None:
    clock = ManualClock()
    known, sessions = Codes(clock), Sessions(SECONDS, clock)
    code, (secret, _) = known.new(), sessions.begin(Everybody())
    kept = f"{vars(known)} {vars(sessions)} {vars(known._digests)}"
    assert code not in kept
    assert secret.removeprefix(PREFIX) not in kept


class Logged(RuleBasedStateMachine):
    """A model of sessions: who began when, and who has ended."""

    secrets = Bundle("secrets")

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.sessions = Sessions(SECONDS, self.clock)
        self.logins = [Everybody() for _ in range(3)]
        self.began: dict[str, tuple[Session, float]] = {}
        """By secret, what should be there."""

    @rule(target=secrets, login=st.integers(0, 2))
    def begin(self, login: int) -> str:
        secret, session = self.sessions.begin(self.logins[login])
        assert secret not in self.began
        assert session.ends_at == self.clock.wall() + SECONDS
        self.began[secret] = session, self.clock.monotonic()
        own = [each for each, (old, _) in self.began.items() if old.login is session.login]
        for old in own[: max(0, len(own) - MOST_OF_LOGIN)]:
            del self.began[old]
        return secret

    @rule(secret=secrets)
    def log_out(self, secret: str) -> None:
        found = self.sessions.find(secret)
        if found is not None:
            self.sessions.end(found)
            assert found.over.is_set()
        self.began.pop(secret, None)

    @rule(secret=consumes(secrets))
    def refuse(self, secret: str) -> None:
        """The API server refuses the token: all its sessions end."""
        if (found := self.sessions.find(secret)) is None:
            return
        self.sessions.end_all(found.login)
        self.began = {key: value for key, value in self.began.items() if value[0].login is not found.login}

    @rule(seconds=st.sampled_from([1.0, 600.0, SECONDS - 1, SECONDS]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        now = self.clock.monotonic()
        self.began = {key: value for key, value in self.began.items() if now < value[1] + SECONDS}

    @rule(secret=secrets)
    def find(self, secret: str) -> None:
        expected = self.began.get(secret)
        assert self.sessions.find(secret) is (expected[0] if expected is not None else None)

    @invariant()
    def those_that_work_are_not_over(self) -> None:
        assert not [each for each, (session, _) in self.began.items() if self.sessions.is_over(session)]


class Printed(RuleBasedStateMachine):
    """A model of codes."""

    made = Bundle("made")

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.codes = Codes(self.clock)
        self.ends: dict[str, float] = {}

    @rule(target=made)
    def new(self) -> str:
        code = self.codes.new()
        self.ends[code] = self.clock.monotonic() + CODE_SECONDS
        while len(self.ends) > codes.MOST:
            del self.ends[next(iter(self.ends))]
        return code

    @rule(code=made, wrong=st.sampled_from(["", "x", " "]))
    def use(self, code: str, wrong: str) -> None:
        works = not wrong and self.clock.monotonic() < self.ends.get(code, 0)
        assert self.codes.use(code + wrong) == works
        if not wrong:
            self.ends.pop(code, None)

    @rule(seconds=st.sampled_from([1.0, 299.0, 300.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)


TestLogged = Logged.TestCase
TestLogged.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
TestPrinted = Printed.TestCase
TestPrinted.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)

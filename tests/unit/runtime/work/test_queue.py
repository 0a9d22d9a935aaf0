"""The keyed queue, beside a model that is too slow to use."""

from __future__ import annotations

import asyncio

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from api.backoff import Backoff
from runtime.work.queue import KeyedQueue
from tests.kit.clock import PATIENCE_SECONDS, ManualClock
from tests.kit.examples import examples

KEYS = st.sampled_from("abcd")
BACKOFF = Backoff(1, 8, jitter=0)


class QueueMachine(RuleBasedStateMachine):
    """The model: keys that are wanted now, the moments of delayed ones, and who is worked on."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.queue: KeyedQueue[str] = KeyedQueue(backoff=BACKOFF, clock=self.clock)
        self.wanted: set[str] = set()
        self.delayed: dict[str, float] = {}
        self.working: set[str] = set()
        self.failures: dict[str, int] = {}

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        self.queue.add(key)
        self.wanted.add(key)

    @rule(key=KEYS, seconds=st.integers(-1, 5))
    def add_after(self, key: str, seconds: int) -> None:
        self.queue.add_after(key, seconds)
        self.want_after(key, seconds)

    def want_after(self, key: str, seconds: int) -> None:
        if seconds <= 0:
            self.wanted.add(key)
        else:
            due = self.clock.monotonic() + seconds
            self.delayed[key] = min(due, self.delayed.get(key, due))

    @rule(key=KEYS, least=st.integers(0, 5))
    def retry(self, key: str, least: int) -> None:
        self.failures[key] = self.failures.get(key, 0) + 1
        delay = max(least, [1, 2, 4, 8][min(self.failures[key], 4) - 1])
        assert self.queue.retry(key, least) == delay
        self.want_after(key, delay)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.failures.pop(key, None)

    @rule(seconds=st.integers(1, 4))
    def wait(self, seconds: int) -> None:
        self.clock.advance(seconds)
        due = {key for key, at in self.delayed.items() if at <= self.clock.monotonic()}
        self.wanted |= due
        for key in due:
            del self.delayed[key]

    @rule()
    def take(self) -> None:
        due = self.wanted - self.working
        key = self.queue.take()
        assert (key is None) == (not due)
        if key is not None:
            assert key in due
            self.wanted.remove(key)
            self.working.add(key)

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.working)))
        self.queue.done(key)
        self.working.discard(key)

    @invariant()
    def agrees(self) -> None:
        assert len(self.queue) == len(self.wanted)
        later = [at - self.clock.monotonic() for at in self.delayed.values()]
        assert self.queue.due_in() == min(later, default=None)
        assert all(self.queue.failures(key) == self.failures.get(key, 0) for key in "abcd")

    def teardown(self) -> None:
        """Nothing that was asked for is lost."""
        for key in self.working:
            self.queue.done(key)
        self.clock.advance(100)
        left = self.wanted | set(self.delayed)
        while (taken := self.queue.take()) is not None:
            left.remove(taken)
            self.queue.done(taken)
        assert not left


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=examples(500), stateful_step_count=40, deadline=None)


def test_keys_come_in_the_order_in_which_they_became_due() -> None:
    clock = ManualClock()
    queue: KeyedQueue[str] = KeyedQueue(clock=clock)
    queue.add_after("late", 3)
    queue.add_after("early", 1)
    queue.add("now")
    queue.add_after("late", 0.5)
    clock.advance(5)
    assert [queue.take() for _ in range(4)] == ["now", "late", "early", None]


def test_a_deadline_is_kept_though_somebody_looks_earlier() -> None:
    clock = ManualClock()
    queue: KeyedQueue[str] = KeyedQueue(clock=clock)
    queue.add_after("key", 10)
    queue.add("key")
    assert queue.take() == "key"
    queue.done("key")
    assert queue.take() is None
    clock.advance(10)
    assert queue.take() == "key"


async def test_a_worker_waits_for_what_comes_and_for_what_is_due() -> None:
    queue: KeyedQueue[str] = KeyedQueue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add_after("slow", 3600)
    await asyncio.sleep(0)
    queue.add_after("quick", 0.01)
    assert await asyncio.wait_for(waiting, 5) == "quick"


async def test_two_workers_never_have_one_key() -> None:
    queue: KeyedQueue[int] = KeyedQueue()
    busy: set[int] = set()
    seen: list[int] = []

    async def work() -> None:
        while True:
            key = await queue.get()
            assert key not in busy
            busy.add(key)
            seen.append(key)
            queue.add(key) if len(seen) < 100 else None
            await asyncio.sleep(0)
            busy.discard(key)
            queue.done(key)

    workers = [asyncio.create_task(work()) for _ in range(3)]
    for key in range(5):
        queue.add(key)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(seen) < 104:  # noqa: ASYNC110 - the workers tell nobody
            await asyncio.sleep(0)
    assert not any(worker.done() for worker in workers)
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    assert set(seen) == set(range(5))

"""Events and the term in which they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import msgspec
import structlog

from api.backoff import Backoff
from kube.client import ApiClient
from kube.errors import ApiError
from kube.metrics import EVENTS_DROPPED
from kube.recorder import Event, EventRecorder, Reference
from kube.sender import Sender
from tests.kit.waiting import until

ABOUT = Reference("v1", "Pod", "ns", "p", "uid-p")


class Api:
    """Takes events. It is away for the first requests, as often as the test says."""

    cluster = ""

    def __init__(self, away: int = 0) -> None:
        self.away = away
        self.notes: list[str] = []
        self.repeated: list[int] = []

    async def request(self, *_: object, body: bytes, **__: object) -> bytes:
        if self.away:
            self.away -= 1
            raise ApiError(503, "ServiceUnavailable", "away")
        written = msgspec.json.decode(body)
        if "series" in written:
            self.repeated.append(written["series"]["count"])
        else:
            self.notes.append(written["note"])
        return b"{}"


class Fence:
    """Lets writes through while it is open. A term that is over never opens it again."""

    def __init__(self) -> None:
        self.is_open, self.left, self.asked = True, 5.0, 0

    def allows(self) -> bool:
        self.asked += 1
        return self.is_open

    def seconds_left(self) -> float:
        return self.left


def recorder(api: Api, fence: Fence) -> EventRecorder:
    return EventRecorder(Sender(cast(ApiClient, api), backoff=Backoff(0.001, 0.001), fence=fence))


def say(events: EventRecorder, note: str) -> None:
    events.event(ABOUT, "Normal", "Evicted", "Evict", note)


async def test_events_wait_for_a_lease_that_is_renewed_late() -> None:
    api, fence = Api(), Fence()
    events = recorder(api, fence)
    fence.is_open = False
    say(events, "one")
    say(events, "two")
    await until(lambda: fence.asked >= 2)
    assert api.notes == []
    fence.is_open = True
    await until(lambda: len(api.notes) == 2)
    await events.close()
    assert api.notes == ["one", "two"]


async def test_an_event_is_written_again_if_the_fence_closed_between_two_attempts() -> None:
    class Closing(Fence):
        """Open for the look and the first attempt, and again later."""

        def allows(self) -> bool:
            return super().allows() and self.asked not in (3, 4)

    api = Api(away=1)
    events = recorder(api, Closing())
    say(events, "one")
    await until(lambda: api.notes)
    await events.close()
    assert api.notes == ["one"]


async def test_events_of_a_term_that_is_over_are_dropped() -> None:
    api, fence = Api(), Fence()
    events = recorder(api, fence)
    fence.is_open, fence.left = False, 0.0
    with structlog.testing.capture_logs() as logs:
        say(events, "one")
        await until(lambda: bool(logs))
    found: dict[str, Any] = dict(logs[0])
    assert (found["event"], found["reason"]) == ("event could not be written", "Evicted")
    await events.close()
    assert api.notes == []


async def test_events_of_one_series_are_one_event_whatever_they_note() -> None:
    api, fence = Api(), Fence()
    events = recorder(api, fence)
    for note, series in (("one", "plan-1"), ("two", "plan-1"), ("three", "plan-2"), ("four", "")):
        events.event(ABOUT, "Normal", "PreemptedWorkload", "Admission", note, series=series)
    await events.close()
    assert api.notes == ["one", "three", "four"]
    assert api.repeated == [2]


async def test_a_storm_of_one_series_costs_its_object_no_other_event() -> None:
    """A plan has a thousand victims, and the API server has not answered the first event yet."""
    api, fence = Api(), Fence()
    events = recorder(api, fence)
    for number in range(2000):
        events.event(ABOUT, "Normal", "PreemptedWorkload", "Admission", f"victim {number}", series="plan")
    say(events, "admitted")
    await events.close()
    assert api.notes == ["victim 0", "admitted"]
    assert api.repeated == [2000]


async def test_a_storm_that_comes_while_the_first_event_is_written_is_counted() -> None:
    class Slow(Api):
        async def request(self, *given: object, body: bytes, **more: object) -> bytes:
            if not self.notes:
                for _ in range(50):
                    say(events, "again")
            return await super().request(*given, body=body, **more)

    api, fence = Slow(), Fence()
    events = recorder(api, fence)
    say(events, "again")
    say(events, "other")
    await events.close()
    assert api.notes == ["again", "other"]
    assert api.repeated == [51]


def evicted(number: int) -> Event:
    return Event(
        Reference("v1", "Pod", "ns", f"p{number}", f"uid-{number}"),
        "Normal",
        "Evicted",
        "Evict",
        f"pod {number}",
    )


async def test_of_many_events_of_one_act_none_is_dropped_and_none_is_made_before_its_turn() -> None:
    made = 0

    def make() -> Iterator[Event]:
        nonlocal made
        for number in range(5000):
            made += 1
            yield evicted(number)

    class Counting(Api):
        async def request(self, *given: object, body: bytes, **more: object) -> bytes:
            assert made <= len(self.notes) + 1
            return await super().request(*given, body=body, **more)

    api, fence = Counting(away=3), Fence()
    events = recorder(api, fence)
    events.events(make())
    await until(lambda: len(api.notes) == 5000)
    await events.close()
    assert api.notes == [f"pod {number}" for number in range(5000)]


async def test_other_events_do_not_wait_for_all_of_them() -> None:
    api, fence = Api(), Fence()
    events = recorder(api, fence)
    events.events(evicted(number) for number in range(100))
    for number in range(3):
        say(events, f"other {number}")
    await until(lambda: len(api.notes) == 103)
    await events.close()
    assert set(api.notes[:5]) == {"pod 0", "pod 1", "other 0", "other 1", "other 2"}


async def test_one_of_them_that_is_refused_keeps_no_other_from_being_written() -> None:
    class Refusing(Api):
        async def request(self, *given: object, body: bytes, **more: object) -> bytes:
            if b'pod 1"' in body:
                raise ApiError(403, "Forbidden", "the namespace is terminating")
            return await super().request(*given, body=body, **more)

    api, fence = Refusing(), Fence()
    events = recorder(api, fence)
    events.events(evicted(number) for number in range(4))
    await until(lambda: len(api.notes) == 3)
    await events.close()
    assert api.notes == ["pod 0", "pod 2", "pod 3"]


async def test_those_of_a_term_that_is_over_are_dropped_with_one_line_and_counted() -> None:
    api, fence = Api(), Fence()
    events = recorder(api, fence)
    fence.is_open, fence.left = False, 0.0
    dropped = EVENTS_DROPPED.labels("", "refused")
    before = dropped._value.get()
    with structlog.testing.capture_logs() as logs:
        events.events(evicted(number) for number in range(50))
        await until(lambda: bool(logs))
        await events.close()
    assert (api.notes, len(logs)) == ([], 1)
    assert dropped._value.get() == before + 50

"""Which pauses hold, and what is said of them."""

from __future__ import annotations

import asyncio

import pytest

from api.core import Namespace
from api.meta import ObjectMeta
from api.pauses import PAUSED, PAUSED_UNTIL, pause_of
from api.published import NAMESPACE
from api.times import rfc3339
from runtime.metrics import PAUSES
from runtime.mirror.pauses import Pauses
from tests.kit.clock import ManualClock
from tests.kit.views import unconnected


class World:
    """Some namespaces."""

    def __init__(self, home: str = NAMESPACE) -> None:
        self.clock = ManualClock()
        views = unconnected(self.clock)
        views.home = home
        self.pauses = Pauses(views)

    def pause(self, name: str, why: str = "upgrade", seconds: float | None = None) -> bool:
        until = {} if seconds is None else {PAUSED_UNTIL: rfc3339(self.clock.wall() + seconds)}
        return self.annotate(name, {PAUSED: why, **until})

    def annotate(self, name: str, said: dict[str, str] | None) -> bool:
        return self.pauses.upsert(Namespace(ObjectMeta(name=name, annotations=said)))


def test_a_reason_is_one_line_and_not_too_long() -> None:
    pause = pause_of("a", {PAUSED: " two\n lines\t" + "x" * 1000})
    assert pause is not None
    assert pause.why.startswith("two lines x")
    assert len(pause.why) == 200
    empty = pause_of("a", {PAUSED: ""})
    assert empty is not None
    assert empty.reason == ": no reason is given"
    assert pause_of("a", {PAUSED_UNTIL: "2026-01-01T00:00:00Z"}) is None


@pytest.mark.parametrize("text", ["", "tomorrow", "2026-13-01T00:00:00Z", "99999-01-01T00:00:00Z", "2h"])
def test_an_end_that_cannot_be_read_is_none(text: str) -> None:
    pause = pause_of("a", {PAUSED: "upgrade", PAUSED_UNTIL: text})
    assert pause is not None
    assert pause.fault
    assert pause.holds(1e15)


def test_the_pause_of_the_process_own_namespace_is_for_all() -> None:
    world = World("elsewhere")
    world.pause(NAMESPACE)
    assert world.pauses.why("a", ["b"]) == ""
    world.pause("elsewhere")
    assert world.pauses.why("a", ["b"]) == "evictions are paused: upgrade"
    world.annotate("elsewhere", None)
    assert world.pauses.why("a", ["b"]) == ""


def test_a_change_is_told_once_and_a_deleted_namespace_has_no_pause() -> None:
    world = World()
    assert world.pause("a")
    assert not world.pause("a")
    assert world.pause("a", "other")
    assert world.pauses.delete("", "a")
    assert not world.pauses.delete("", "a")
    assert world.pauses.holding() == ()


def test_time_ends_a_pause_at_its_very_second() -> None:
    world = World()
    world.pause("a", seconds=60)
    world.clock.advance(59)
    assert world.pauses.why("a")
    world.clock.advance(1)
    assert not world.pauses.why("a")
    assert list(world.pauses.holding()) == []


async def test_who_waits_is_let_go_by_the_change() -> None:
    world = World()
    world.pause("a")
    waiting = asyncio.create_task(world.pauses.wait("b", ["a"]))
    await asyncio.sleep(0)
    assert not waiting.done()
    world.annotate("a", {})
    await asyncio.wait_for(waiting, 30.0)


def test_the_metric_counts_them() -> None:
    world = World()
    world.pauses.export()
    for name in (NAMESPACE, "a", "b"):
        world.pause(name, seconds=60 if name == "b" else None)
    assert [value(scope) for scope in ("all", "namespace")] == [1, 2]
    world.clock.advance(60)
    assert value("namespace") == 1


def value(scope: str) -> float:
    (metric,) = PAUSES.collect()
    return next(each.value for each in metric.samples if each.labels == {"scope": scope})

"""What was on nodes before a scheduler preempted it: what is kept, and that nothing is kept for ever."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.gangs.keys import GroupKey
from controllers.gangs.mirror import preempted_pods
from controllers.gangs.mirror.preempted_pods import KEPT_SECONDS, PreemptedPods
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.objects import member, node, pod

PREEMPTED = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "m"}


class World:
    """Tables, and what follows them as the controller does."""

    def __init__(self) -> None:
        self.clock, self.tables = ManualClock(), Tables()
        self.open = set[GroupKey]()
        self.preempted = PreemptedPods(self.tables, self.open.__contains__, self.clock)
        for number in range(3):
            self.tables.upsert_node(node(f"n{number}"))

    def add(self, each: Any) -> None:
        self.tables.upsert_pod(each)
        self.preempted.pod_changed(each.metadata.uid, each)

    def go(self, each: Any) -> None:
        self.tables.delete_pod(each.metadata.namespace, each.metadata.name)
        self.preempted.pod_changed(each.metadata.uid, None)

    def preempt(self, name: str, place: str = "n0") -> None:
        """A scheduler marks the pod, and it goes."""
        marked = pod(name, node=place, conditions=[PREEMPTED])
        self.add(pod(name, node=place))
        self.add(marked)
        self.go(marked)

    def names(self, place: str = "n0", since: float = 0.0) -> list[str] | None:
        found = self.preempted.gone_from(place, since)
        return [each.name for each in found] if found is not None else None

    def wait(self, seconds: float) -> None:
        """Any event tells that time has passed."""
        self.clock.advance(seconds)
        self.add(pod("other", node="n2"))


@pytest.fixture
def world() -> World:
    return World()


def test_only_what_a_scheduler_preempted_is_kept(world: World) -> None:
    world.preempt("v0")
    other = pod("v1", node="n0")
    world.add(other)
    world.go(other)
    assert world.names() == ["v0"]
    assert world.names("n1") == []


def test_a_mark_that_is_withdrawn_counts_no_longer(world: World) -> None:
    world.add(pod("v0", node="n0", conditions=[PREEMPTED]))
    world.add(pod("v0", node="n0"))
    world.go(pod("v0", node="n0"))
    assert world.names() == []


def test_what_went_before_the_gang_came_is_not_for_it(world: World) -> None:
    world.preempt("v0")
    world.clock.advance(10.0)
    world.preempt("v1")
    assert world.names(since=world.clock.wall() - 5.0) == ["v1"]


def test_who_has_come_since_is_known(world: World) -> None:
    stays, new = pod("stays", node="n0"), pod("new", node="n0")
    world.add(stays)
    world.preempt("v0")
    assert world.preempted.newcomers("n0", ()) == set()
    world.add(new)
    world.add(pod("elsewhere", node="n1"))
    assert world.preempted.newcomers("n0", ()) == {new.metadata.uid}
    assert world.preempted.newcomers("n0", {new.metadata.uid}) == set()


@pytest.mark.parametrize("place", [{"node": "n0"}, {"nominated": "n0"}])
def test_it_is_kept_while_a_gang_that_has_not_run_is_there(world: World, place: dict[str, str]) -> None:
    world.preempt("v0")
    world.add(member(0, **place))
    world.open.add(("default", "gang"))
    for _ in range(5):
        world.wait(KEPT_SECONDS)
    assert world.names() == ["v0"]
    world.open.clear()
    world.wait(KEPT_SECONDS)
    assert world.names() == []
    assert len(world.preempted) == 0


def test_without_a_gang_it_ends_by_time(world: World) -> None:
    world.preempt("v0")
    world.wait(KEPT_SECONDS - 1.0)
    assert world.names() == ["v0"]
    world.wait(1.0)
    assert len(world.preempted) == 0


def test_the_oldest_is_forgotten_first_and_that_is_known(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preempted_pods, "KEPT_AT_MOST", 3)
    for number in range(4):
        world.preempt(f"v{number}", f"n{number // 2}")
    assert world.names("n0") is None
    assert world.names("n1") == ["v2", "v3"]
    assert world.names("n0", since=world.clock.wall() + 1.0) == []

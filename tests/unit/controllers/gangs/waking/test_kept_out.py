"""Whom room that comes back wakes."""

from __future__ import annotations

import pytest

from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.leftover import Leftover
from controllers.gangs.promised.reservations import Reservations
from controllers.gangs.waking.kept_out import KeptOut
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.objects import gang, node, pod

PLAN = ("team", "gang")


class World:
    """Nodes of two CPUs. A plan claims one on each."""

    def __init__(self, *names: str) -> None:
        self.clock, self.tables = ManualClock(), Tables()
        self.roster, self.reservations = Roster(self.tables), Reservations(self.clock)
        self.leftover = Leftover(self.tables, self.roster, self.reservations)
        self.kept_out = KeptOut(self.leftover, self.roster)
        self.reservations.open(PLAN, 100)
        for name in names:
            self.tables.upsert_node(node(name, cpu="2"))
            self.reservations.put_claim(PLAN, f"m-{name}", Claim(name, {"cpu": 1000, "pods": 1}))

    def ask(self, uid: str, *names: str, cpu: int = 2000, priority: int = 5) -> list[str]:
        """Filter is called. Returns the nodes that the pod is kept out of."""
        asked, requests = pod(uid, uid=uid), {"cpu": cpu, "pods": 1}
        barred = self.leftover.judge(uid, requests, priority, names).barred
        if barred:
            self.kept_out.hold(asked, priority, requests, barred)
        return barred

    def end(self, name: str) -> None:
        """The plan claims nothing on the node any longer."""
        self.reservations.put_claim(PLAN, f"m-{name}", None)

    def grow(self, name: str, cpu: str) -> None:
        self.tables.upsert_node(node(name, cpu=cpu))


def test_only_pods_that_would_pass_on_a_node_that_they_wait_for() -> None:
    world = World("n1", "n2")
    assert world.ask("a", "n1") == ["n1"]
    assert world.ask("b", "n2") == ["n2"]
    assert world.ask("big", "n1", "n2", cpu=3000) == ["n1", "n2"]
    assert world.kept_out.take_freed() == set()
    world.end("n1")
    assert world.kept_out.take_freed() == {"a"}, "big is not barred there, and finds too little room"
    world.grow("n1", "3")
    assert world.kept_out.take_freed() == {"big"}
    world.grow("n2", "4")
    assert world.kept_out.take_freed() == {"b"}


def test_a_claim_that_becomes_a_pod_wakes_nobody() -> None:
    world = World("n1")
    world.ask("a", "n1")
    world.tables.upsert_pod(pod("m", node="n1", requests={"cpu": "1"}))
    world.end("n1")
    assert world.kept_out.take_freed() == set()
    world.tables.delete_pod("default", "m")
    assert world.kept_out.take_freed() == {"a"}


@pytest.mark.parametrize("crowd", [0, 300], ids=["one node", "any node"])
def test_the_end_of_a_plan_wakes_whoever_it_kept_out_also_without_room(crowd: int) -> None:
    """Filter keeps a pod from evicting others, too."""
    world = World("n1", "n2", *(names := [f"x{number}" for number in range(300)]))
    world.ask("a", "n1", *names[:crowd])
    world.ask("other", "n2")
    world.tables.upsert_pod(pod("low", node="n1", requests={"cpu": "1"}))
    world.end("n1")
    assert world.kept_out.take_freed() == set()
    world.kept_out.plan_ended(["n1"])
    assert world.kept_out.take_freed() == {"a"}
    world.kept_out.plan_ended(["n2"])
    assert world.kept_out.take_freed() == set(), "another plan has claims there"


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("crowd", [0, 300], ids=["one node", "any node"])
def test_rows_that_are_dropped_wake_those_who_find_room(crowd: int, bound: bool) -> None:
    """The rows of the nodes of a large plan go when it ends."""
    world = World("other", "n1", *(names := [f"x{number}" for number in range(300)]))
    world.ask("a", "n1", *names[:crowd])
    world.ask("big", "n1", *names[:crowd], cpu=2500)
    assert world.kept_out.take_freed() == set()
    for name in (*names, "n1"):
        if bound:
            world.tables.upsert_pod(pod(f"m-{name}", node=name, requests={"cpu": "1"}))
        world.end(name)
    assert not world.leftover.has("x0")
    assert world.kept_out.take_freed() == (set() if bound else {"a"})


def test_the_nodes_of_earlier_calls_count() -> None:
    world = World("n1", "n2")
    world.ask("a", "n1")
    world.ask("a", "n2")
    world.end("n1")
    assert world.kept_out.take_freed() == {"a"}
    world.ask("a", "n2")
    world.end("n2")
    assert world.kept_out.take_freed() == {"a"}
    assert len(world.kept_out) == 0


def test_room_that_was_less_between_two_looks_and_came_back_wakes() -> None:
    world = World("n1")
    world.ask("other", "n1", cpu=3000)
    world.kept_out.take_freed()
    world.tables.upsert_pod(pod("short", node="n1", requests={"cpu": "1"}))
    assert world.ask("a", "n1", cpu=1000) == ["n1"]
    world.tables.delete_pod("default", "short")
    assert world.kept_out.take_freed() == {"a"}


def test_room_that_came_back_before_the_pod_asked_again_with_less_wakes() -> None:
    """It asked for another amount when it was kept out of the first node."""
    world = World("n1", "n2")
    world.ask("a", "n1")
    world.ask("a", "n2", cpu=1500)
    world.grow("n1", "2500m")
    assert world.kept_out.take_freed() == {"a"}


def test_a_pod_that_is_kept_out_of_very_many_nodes_waits_for_any_of_them() -> None:
    names = [f"n{number}" for number in range(300)]
    world = World(*names, "other")
    assert world.ask("a", *names) == names
    world.grow("other", "2500m")
    assert world.kept_out.take_freed() == set()
    world.grow("other", "3")
    assert world.kept_out.take_freed() == {"a"}


def test_a_pod_whose_group_gets_another_priority_is_woken() -> None:
    world = World("n1")
    world.tables.upsert_group(gang("g", priority=5))
    held = pod("a", uid="a", group="g", priority=1000)
    world.kept_out.hold(held, 5, {"cpu": 2000, "pods": 1}, ["n1"])
    assert world.kept_out.take_freed() == set()
    world.tables.upsert_group(gang("g", priority=500))
    assert world.kept_out.take_freed() == {"a"}


def test_a_pod_that_another_process_kept_out_is_woken_once_and_then_by_any_room() -> None:
    world = World("n1")
    asked = pod("a", uid="a", priority=5, requests={"cpu": "2"})
    for expected in ({"a"}, set()):
        world.kept_out.recall(asked)
        assert world.kept_out.take_recalled() == expected
    world.end("n1")
    assert world.kept_out.take_freed() == {"a"}


def test_what_filter_says_takes_the_place_of_a_guess() -> None:
    world = World("n1", "n2")
    for _ in range(2):
        world.kept_out.recall(pod("a", uid="a", priority=5, requests={"cpu": "2"}))
        world.kept_out.take_recalled()
    world.kept_out.recall(pod("a", uid="a", priority=5, requests={"cpu": "2"}))
    world.ask("a", "n2")
    world.end("n1")
    assert world.kept_out.take_freed() == set()
    world.end("n2")
    assert world.kept_out.take_freed() == {"a"}


@pytest.mark.parametrize("again", [False, True])
def test_a_pod_that_is_gone_is_forgotten(again: bool) -> None:
    world = World("n1")
    world.ask("a", "n1")
    world.kept_out.forget("a")
    if again:
        world.ask("a", "n1")
    world.end("n1")
    assert world.kept_out.take_freed() == ({"a"} if again else set())

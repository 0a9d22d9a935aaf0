"""Whose turn it is among gangs that wait, and what wakes them."""

from __future__ import annotations

import pytest

from controllers.gangs.lifecycle.life import GroupKey
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.planning.looking_afar import PAUSE_SECONDS
from controllers.gangs.planning.planning_queue import Candidate, PlanningQueue, Share, Turn
from nodes.state.potential import NOBODY
from nodes.state.slots import Slots
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.objects import gang, node, pod

SEARCH_SECONDS = 0.05


class World:
    """Tables, and a queue that follows them. Nobody searches."""

    def __init__(self) -> None:
        self.tables, self.clock = Tables(), ManualClock()
        self.roster = Roster(self.tables)
        self.queue = PlanningQueue(Slots(self.tables), self.clock, Share())
        self.queue.follow()

    def node(self, name: str, cpu: str = "4", **fields: str) -> None:
        """A node comes, or changes."""
        self.tables.upsert_node(node(name, cpu=cpu, labels=fields))
        self.queue.follow()

    def runs(self, name: str, node: str, priority: int = 0, cpu: str = "4") -> None:
        """A pod that is no member of a gang is bound."""
        self.tables.upsert_pod(pod(name, node=node, requests={"cpu": cpu}, priority=priority))
        self.queue.follow()

    def goes(self, name: str) -> None:
        """It is gone."""
        self.tables.delete_pod("default", name)
        self.queue.follow()

    def gang(self, name: str, priority: int = 100, *, members: int = 1, cpu: str = "4") -> None:
        """A gang and its members exist."""
        self.tables.upsert_group(gang(name, minimum=members, priority=priority))
        for number in range(members):
            made = pod(f"{name}-{number}", group=name, requests={"cpu": cpu}, priority=priority)
            self.tables.upsert_pod(made)
        self.put(name)

    def put(self, name: str, *, wait: float = 0.0, looked: bool = False, evicts: bool = True) -> None:
        """The gang wants a plan. `wait`: the seconds after which it may evict. One with "observed" in its name is."""
        key = ("default", name)
        demand, priority = self.roster.demand(key), self.roster.group_priority(key)
        assert demand is not None
        assert priority is not None
        self.queue.put(
            Candidate(
                rank=self.roster.rank(key),
                demand=demand,
                below=priority if evicts else NOBODY,
                due=self.clock.monotonic() + wait,
                looked=looked,
                failed=looked,
                observed="observed" in name,
            )
        )

    def next(self) -> str:
        """Whose turn it is; empty if it is nobody's."""
        turn = self.queue.next()
        return turn.key[1] if turn is not None else ""

    def fails(self, *, shared: bool = False, wait: float = 0.0) -> Turn:
        """The search finds nothing for whoever is next."""
        turn = self.queue.next()
        assert turn is not None
        self.queue.told(turn, shared=shared)
        self.queue.spent(turn, SEARCH_SECONDS)
        self.put(turn.key[1], wait=wait, looked=True)
        return turn

    def planned(self) -> str:
        """Whoever is next gets a plan."""
        turn = self.queue.next()
        assert turn is not None
        self.queue.remove(turn.key)
        return turn.key[1]


def two_waiting() -> World:
    """Two gangs that have been looked at: the one node has no room for either."""
    world = World()
    world.node("n0")
    world.runs("v", "n0", priority=500)
    for name, priority in (("low", 10), ("high", 200)):
        world.gang(name, priority)
    world.fails()
    world.fails()
    assert world.next() == ""
    return world


# ---- order


def test_new_gangs_come_by_rank() -> None:
    world = World()
    world.node("n0")
    for name, priority in (("b", 10), ("z", 300), ("a", 10)):
        world.gang(name, priority)
    assert [world.planned(), world.planned(), world.planned()] == ["z", "a", "b"]
    assert world.next() == ""


@pytest.mark.parametrize("waits", ["low", "high", "both", "neither"])
def test_freed_room_is_offered_by_rank_whoever_backs_off(waits: str) -> None:
    world = two_waiting()
    for name in ("low", "high"):
        if waits in (name, "both"):
            world.put(name, wait=60.0, looked=True)
    world.goes("v")
    turn = world.queue.next()
    assert turn is not None
    assert (turn.key[1], turn.may_evict) == ("high", waits not in ("high", "both"))
    world.queue.remove(turn.key)
    assert world.next() == "low", "the search says whether there is room for it, too"


def test_a_gang_that_backs_off_may_evict_once_it_is_due() -> None:
    world = two_waiting()
    world.put("high", wait=5.0, looked=True)
    world.runs("w", "n0", priority=100, cpu="0")
    world.goes("v")
    world.runs("weak", "n0", priority=100)
    assert world.next() == "", "there is no free room"
    assert world.queue.due_in() == 5.0
    world.clock.advance(5.0)
    turn = world.queue.next()
    assert turn is not None
    assert (turn.key[1], turn.may_evict) == ("high", True)


# ---- what wakes a gang


def test_only_what_could_help_wakes_a_gang() -> None:
    world = World()
    for name in ("n0", "n1"):
        world.node(name)
        world.runs(f"v-{name}", name, priority=500)
    world.gang("two", members=2)
    world.fails()
    world.node("small", cpu="3")
    world.runs("weak", "small", priority=1, cpu="1")
    world.goes("v-n0")
    assert world.next() == "", "one member would find room"
    world.clock.advance(3600.0)
    assert world.next() == "", "time alone helps nobody"
    world.goes("v-n1")
    assert world.next() == "two"


def test_what_ends_on_a_node_wakes_only_those_who_may_go_there() -> None:
    world = World()
    world.node("n0")
    world.gang("gang")
    world.fails()
    world.node("off", cpu="1")
    world.queue.freed(["elsewhere"])
    assert world.next() == ""
    world.queue.freed(["n0"])
    assert world.next() == "gang"
    world.fails()
    world.queue.freed(None)
    assert world.next() == "gang"


def test_what_happens_during_the_search_is_not_missed() -> None:
    world = World()
    world.node("n0")
    world.gang("gang")
    turn = world.queue.next()
    assert turn is not None
    world.queue.freed(["n0"])
    world.queue.told(turn, shared=True)
    world.put("gang", looked=True)
    assert world.next() == "gang"


def test_a_gang_that_may_evict_nobody_waits_for_free_room() -> None:
    world = World()
    world.node("n0")
    world.runs("v", "n0", priority=1)
    world.gang("gang")
    world.put("gang", evicts=False)
    assert world.queue.next() is not None
    world.queue.told(Turn(("default", "gang"), True, True, 0), shared=True)
    world.put("gang", looked=True, evicts=False)
    world.runs("other", "n0", priority=1, cpu="1m")
    world.goes("other")
    assert world.next() == ""
    world.goes("v")
    assert world.next() == "gang"


# ---- one look for all with the same need


def both_look_in_vain(*, shared: bool, first: str = "a") -> World:
    """Two gangs with the same need were looked at in vain, although there are slots for them."""
    world = World()
    world.node("n0")
    for name in (first, "b"):
        world.gang(name)
    for _ in range(2):
        world.fails(shared=shared)
    assert world.next() == ""
    world.queue.freed(["n0"])
    assert world.fails(shared=shared).key[1] == first
    return world


def test_one_look_answers_for_all_that_need_the_same() -> None:
    assert both_look_in_vain(shared=True).next() == ""


def test_a_look_that_holds_for_one_gang_alone_answers_for_no_other() -> None:
    assert both_look_in_vain(shared=False).next() == "b"


def test_a_look_at_an_observed_gang_answers_for_no_enforced_one() -> None:
    """They have other possible victims."""
    assert both_look_in_vain(shared=True, first="a observed").next() == "b"


# ---- shares of the time


def crowd(world: World, count: int) -> None:
    """Gangs of high priority that were looked at in vain, and that everything could help."""
    for number in range(count):
        world.gang(f"c{number:04}", priority=900, cpu=str(1 + number / 10000))
    for _ in range(count):
        world.fails()


def test_a_new_gang_of_the_lowest_rank_does_not_wait_for_a_thousand_that_failed() -> None:
    world = World()
    world.node("n0")
    crowd(world, 1000)
    world.queue.freed(["n0"])
    world.gang("new", priority=1)
    searches = 0
    while world.next() != "new":
        world.fails()
        searches += 1
    assert searches * SEARCH_SECONDS < 2.0
    assert searches > 0, "rank decides as long as nobody waits for long"


def test_gangs_that_failed_get_half_of_the_time_while_new_ones_wait() -> None:
    world = World()
    world.node("n0")
    crowd(world, 200)
    for number in range(100):
        world.gang(f"new{number}", priority=1, cpu=str(2 + number / 1000))
    world.queue.freed(["n0"])
    again = [world.fails().again for _ in range(100)]
    assert 45 <= sum(again) <= 55
    assert set(again[-10:]) == {True, False}


def test_alone_they_get_all_of_it() -> None:
    world = World()
    world.node("n0")
    crowd(world, 20)
    world.queue.freed(["n0"])
    assert all(world.fails().again for _ in range(20))
    assert world.next() == ""


def test_gangs_that_have_no_chance_come_after_new_ones_at_half_of_the_time() -> None:
    """They are looked at only to say why."""
    world = World()
    world.node("n0")
    for number in range(100):
        world.gang(f"hopeless{number}", priority=900, cpu="64")
    world.gang("new", priority=1)
    turns = [world.fails().key[1] for _ in range(4)]
    assert "new" in turns


# ---- nothing is left


def test_who_is_gone_leaves_nothing_behind() -> None:
    world = two_waiting()
    keys: list[GroupKey] = [("default", "low"), ("default", "high")]
    for key in keys:
        world.queue.remove(key)
    assert len(world.queue) == 0
    assert not world.queue._buckets
    assert not world.queue._by_kind
    assert len(world.queue._slots._kinds) == 0
    world.goes("v")
    assert world.next() == ""


# ---- gangs that look at pods on other nodes


def _spread_gang(world: World) -> None:
    """A gang that is spread over zones."""
    constraint = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    world.tables.upsert_group(gang("a", minimum=1, priority=100))
    world.tables.upsert_pod(
        pod("a-0", group="a", requests={"cpu": "1"}, priority=100, topologySpreadConstraints=[constraint])
    )
    world.put("a")


def test_a_pod_anywhere_may_help_a_gang_that_looks_afar() -> None:
    world = World()
    world.node("n0", zone="a")
    world.node("n1", cpu="1", zone="b")
    _spread_gang(world)
    world.fails()
    world.clock.advance(PAUSE_SECONDS)
    world.queue.follow()
    assert world.next() == "", "time alone does not help"
    world.runs("web", "n1", cpu="1")
    assert world.next() == "a"


def test_it_is_not_searched_for_again_at_once() -> None:
    world = World()
    world.node("n0", zone="a")
    _spread_gang(world)
    world.fails()
    world.runs("web", "n0", cpu="100m")
    assert world.next() == ""
    assert world.queue.due_in() == PAUSE_SECONDS
    world.clock.advance(PAUSE_SECONDS)
    world.queue.follow()
    assert world.next() == "a"


def test_a_gang_that_does_not_look_afar_is_not_helped_by_a_pod_that_comes() -> None:
    world = World()
    world.node("n0")
    world.gang("a", cpu="1")
    world.fails()
    world.clock.advance(PAUSE_SECONDS)
    world.runs("other", "n0", cpu="100m")
    assert (world.next(), world.queue.due_in()) == ("", None)

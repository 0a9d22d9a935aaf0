"""Who may use what is left beside reserved room."""

from __future__ import annotations

import pytest

from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.leftover import Leftover
from controllers.gangs.promised.reservations import Reservations
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.objects import node, pod

GANG = ("team", "gang")
NODES = ("n1", "n2")


class World:
    """Two nodes, and a gang of priority 100 that claims room."""

    def __init__(self, cpu: str, **claims: int) -> None:
        self.clock, self.tables = ManualClock(), Tables()
        self.reservations = Reservations(self.clock)
        self.leftover = Leftover(self.tables, Roster(self.tables), self.reservations)
        for name in NODES:
            self.tables.upsert_node(node(name, cpu=cpu))
        self.reservations.open(GANG, 100)
        for name, amount in claims.items():
            self.reservations.put_claim(GANG, f"m-{name}", Claim(name, {"cpu": amount, "pods": 1}))

    def bars(self, cpu: int, *, priority: int = 100, name: str = "n1", uid: str = "p") -> bool:
        judged = self.leftover.judge(uid, {"cpu": cpu, "pods": 1}, priority, [name])
        return judged.barred == [name]

    def grant(self, uid: str, *names: str, cpu: int = 500) -> None:
        self.reservations.grants.note(pod(uid, uid=uid), names, {"cpu": cpu, "pods": 1})


def test_equal_priority_is_kept_out_and_higher_passes() -> None:
    world = World("1", n1=1000)
    assert world.bars(1000)
    assert world.bars(1000, priority=99)
    assert not world.bars(1000, priority=101)


def test_what_is_left_beside_the_reservation_is_free_to_take() -> None:
    world = World("1500m", n1=1000)
    assert not world.bars(500)
    assert world.bars(501)
    assert not world.bars(1500, name="n2")


def test_filter_learns_which_nodes_with_claims_stay_open() -> None:
    world = World("1500m", n1=1000, n2=1200)
    judged = world.leftover.judge("p", {"cpu": 400, "pods": 1}, 100, ["n0", "n2", "n1"])
    assert judged == (["n2"], ["n1"])


def test_a_pod_on_its_way_counts_until_its_attempt_has_ended() -> None:
    world = World("1500m", n1=1000)
    world.grant("first", "n1")
    assert world.bars(500)
    world.reservations.grants.settle("first")
    assert not world.bars(500)


def test_a_pod_that_never_arrives_does_not_count_for_ever() -> None:
    world = World("1500m", n1=1000)
    world.grant("lost", "n1")
    world.clock.advance(31)
    assert not world.bars(500)


def test_a_nomination_is_in_the_way_of_others_only_and_counts_once() -> None:
    world = World("1500m", n1=1000)
    world.tables.upsert_pod(pod("first", uid="first", nominated="n1", priority=100, requests={"cpu": "500m"}))
    assert world.bars(500)
    assert not world.bars(500, uid="first")
    assert world.bars(501, uid="first")
    world.grant("first", "n1")
    assert world.bars(500)
    world.tables.upsert_node(node("n1", cpu="2"))
    assert not world.bars(500), "the nomination and the grant are for the same room"
    world.reservations.grants.settle("first")
    assert not world.bars(500)
    world.tables.upsert_pod(pod("first", uid="first", nominated="n1", priority=100, requests={"cpu": "501m"}))
    assert world.bars(500), "it asks for more now"


def test_room_that_victims_leave_counts_for_their_plan_alone() -> None:
    world = World("1", n1=1000)
    victim = {"uid": "v", "node": "n1", "requests": {"cpu": "1500m"}}
    holds = Claim("n1", {"cpu": 1500, "pods": 1})
    world.tables.upsert_node(node("n1", cpu="2"))
    world.tables.upsert_pod(pod("v", **victim))  # type: ignore[arg-type]
    world.reservations.put_victim(GANG, "v", holds)
    assert not world.bars(500), "the claim needs nothing but what its victim leaves"
    assert world.bars(501), "what the victim leaves beyond the claim is not to be had"
    world.tables.upsert_pod(pod("v", deleting=True, **victim))  # type: ignore[arg-type]
    world.reservations.put_victim(GANG, "v", holds, leaving=True)
    assert not world.bars(500), "the tables count it as free now"
    assert world.bars(501)
    world.tables.delete_pod("default", "v")
    world.reservations.put_victim(GANG, "v", None)
    assert not world.bars(1000), "it is gone, and what it left is like any other room"
    assert world.bars(1001)


def test_a_resource_that_no_node_has_bars_where_room_is_reserved() -> None:
    world = World("4", n1=1000)
    judged = world.leftover.judge("p", {"example.com/gpu": 1}, 100, NODES)
    assert judged == (["n1"], [])


def test_nothing_bars_where_all_claims_are_of_lower_priority() -> None:
    world = World("1", n1=1000)
    assert world.leftover.room(101, ["cpu"]).tolist() == [[1000]]
    assert world.leftover.room(100, ["cpu"]).tolist() == [[0]]


@pytest.mark.parametrize("granted", [False, True])
def test_rows_of_nodes_that_are_not_reserved_any_longer_go(granted: bool) -> None:
    world = World("1")
    world.reservations.grants.note(pod("g", uid="g"), ["r0"], {"cpu": 1})
    for number in range(200):
        world.reservations.put_claim(GANG, "m", Claim(f"r{number}", {"cpu": 1}))
        world.reservations.put_claim(GANG, "o", Claim(f"o{number}", {"cpu": 1}))
        if not granted:
            world.reservations.grants.settle("g")
        world.leftover.room(100, ["cpu"])
    assert len(world.leftover.names) < 200
    assert world.leftover.has("r199")
    assert world.leftover.has("r0") == granted, "what is granted there is still counted"


def test_a_nomination_counts_on_a_node_that_exists_only() -> None:
    world = World("1500m", n1=1000)
    world.tables.upsert_pod(pod("first", uid="first", nominated="n1", priority=100, requests={"cpu": "1"}))
    assert world.bars(500)
    world.tables.delete_node("n1")
    assert world.leftover.room(100, ["cpu"]).tolist() == [[-1000]], "the claim stands"
    world.tables.upsert_node(node("n1", cpu="2"))
    assert world.bars(1)
    world.tables.upsert_pod(pod("first", uid="first", priority=100, requests={"cpu": "1"}))
    assert not world.bars(1000)


def test_a_nominated_pod_that_has_a_claim_is_not_counted_twice() -> None:
    world = World("3", n1=1000)
    world.tables.upsert_pod(pod("first", uid="first", nominated="n1", priority=100, requests={"cpu": "1"}))
    assert world.bars(1001)
    world.reservations.put_claim(GANG, "first", Claim("n2", {"cpu": 1000, "pods": 1}))
    assert not world.bars(2000), "its room is on the other node"
    world.reservations.put_claim(GANG, "first", None)
    assert world.bars(1001)


def test_grants_are_counted_in_a_new_table() -> None:
    world = World("1500m", n1=1000)
    world.grant("first", "n1")
    layout = world.leftover.layout
    for number in range(200):
        world.reservations.put_claim(GANG, "m", Claim(f"r{number}", {"cpu": 1}))
        assert world.bars(500)
    assert world.leftover.layout != layout
    world.reservations.grants.settle("first")
    assert not world.bars(500)

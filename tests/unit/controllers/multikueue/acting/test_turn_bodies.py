"""DispatchPlans as they are written, and as they are read again."""

from __future__ import annotations

import msgspec

from api.dispatch import DispatchPlan
from api.names import is_subdomain
from controllers.multikueue.acting.stored_turns import StoredTurns
from controllers.multikueue.acting.turn_bodies import plan_name, plan_of, status_of
from controllers.multikueue.life.decision import EndTurn, GiveTurn, Weighed
from controllers.multikueue.life.seen import Turn
from tests.kit.dispatched.seeing import ATTEMPT, START, at, cluster, cost, seen, workload

GIVE = GiveTurn(
    2, "b", "b: the least.", at(1.25), at(301.25), (Weighed("a", "waits", 1), Weighed("b", "asks", 0))
)


def plan() -> DispatchPlan:
    what = seen(cluster("a", cost=cost(3, pods=4), open_gates=2), cluster("b"))
    assert what.workload is not None
    return plan_of(what, what.workload, GIVE, by_cost=True)


def test_two_leaders_that_give_the_same_turn_write_the_same_object() -> None:
    here = workload()
    name = plan_name(here, ATTEMPT, 1)
    assert name == plan_name(here, ATTEMPT, 1)
    assert len({name, plan_name(here, ATTEMPT, 2), plan_name(here, "another", 1)}) == 3
    here.metadata.uid = "another"
    assert plan_name(here, ATTEMPT, 1) != name


def test_a_long_name_is_cut_to_one_that_is_taken() -> None:
    here = workload()
    here.metadata.name = "a" * 243 + "." + "b" * 9
    name = plan_name(here, ATTEMPT, 1)
    assert len(name) <= 253
    assert ".-" not in name
    assert is_subdomain(name)


def test_the_plan_says_what_each_cluster_said_and_would_cost() -> None:
    spec = plan().spec
    assert [(each.name, each.said, each.turns, each.open_gates) for each in spec.clusters] == [
        ("a", "waits", 1, 2),
        ("b", "asks", 0, 0),
    ]
    assert spec.clusters[0].cost is not None
    assert (spec.clusters[0].cost.highest_victim_priority, spec.clusters[0].cost.pods) == (3, 4)
    assert spec.clusters[1].cost is None
    assert (spec.workload.name, spec.workload.uid, spec.workload.attempt) == ("train", "uid", ATTEMPT)
    assert spec.order == "LeastDisruption"


def test_it_names_no_victims() -> None:
    """They belong to others, in another cluster."""
    cost_there = plan().spec.clusters[0].cost
    assert cost_there is not None
    assert all(isinstance(each, int) for each in msgspec.structs.astuple(cost_there))
    assert not any("victims" in name for name in plan().spec.__struct_fields__)


def test_it_is_read_as_the_turn_that_was_given_to_the_microsecond() -> None:
    """A restart begins no time anew."""
    turns = StoredTurns()
    turns.upsert(msgspec.json.decode(msgspec.json.encode(plan()), type=DispatchPlan))
    found = turns.of("uid", ATTEMPT)
    assert found == (Turn(plan().metadata.name, 2, "b", at(1.25), at(301.25), False),)


def test_its_end_has_a_phase_a_reason_and_a_time() -> None:
    status = status_of(EndTurn("plan", "TimedOut", "No cluster."), START + 301)
    assert (status.phase, status.reason, status.ended) == (
        "TimedOut",
        "No cluster.",
        "2023-11-14T22:18:21.000000Z",
    )

"""What the page says of stored plans: in a list, and one by one."""

from __future__ import annotations

import json
from typing import Final

import msgspec
import pytest
from msgspec import UNSET

from answers.errors import InputError
from answers.names import ALL, Names
from answers.reading.page_objects import PageObjects
from answers.stored.about import PlanAnswer, about
from answers.stored.listed import plans
from answers.stored.nodes import nodes_of
from answers.stored.phases import confirmed_by, evicted_in_vain, phases_of, standing_of
from answers.stored.rows import row_of
from api.instead import Instead, InsteadVictims
from api.meta import Condition, ObjectMeta
from api.plan_names import whole_plan_name
from api.plans import (
    ClusterPreemptionPlan,
    Placement,
    PreemptionPlan,
    VictimPod,
)
from api.withholding import readable
from tests.kit.stored_plans import (
    BOUND,
    DRIVEN,
    NOW,
    OBSERVED,
    PROPOSED,
    STEERED,
    Tenant,
    read,
    stored,
    training,
    turn,
)

KINDS: Final = {
    "observed": (OBSERVED, "Observed", "With planning.mode Enforce, it would evict 1 unit with 2 pods."),
    "proposed": (
        PROPOSED,
        "Proposed",
        "It would take quota back from 1 Workload. A preemption gate is closed, so all of them stay.",
    ),
    "steered": (STEERED, "GoesOn", "kube-scheduler evicts 1 unit with 2 pods."),
    "driven": (DRIVEN, "GoesOn", "It is to evict 1 unit with 2 pods."),
    "bound": (BOUND, "Over", "For it, 1 unit with 2 pods was evicted."),
    "given up": (
        stored("hero-2", "Planned", "Aborted", because="NotAttempted"),
        "Over",
        "It was to evict 1 unit with 2 pods, and has evicted nobody.",
    ),
    "given up late": (
        stored("hero-3", "Planned", "Evicting", "Expired"),
        "Over",
        "It began to evict 1 unit with 2 pods, and its preemptor did not get the room by it.",
    ),
    "without victims": (
        stored("hero-4", "Unschedulable", victims=[], outcome="Unschedulable", reason="no room"),
        "Over",
        "No room. It evicts nobody.",
    ),
    "not stored whole": (stored("hero-5"), "GoesOn", "It is to evict 1 unit with 2 pods."),
}


def asked(objects: PageObjects, name: str, names: Names = ALL, namespace: str = "team-a") -> PlanAnswer:
    return about(objects.picture(), objects.plans(), namespace, name, names)


# ---- rows


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_says_what_the_plan_does_to_others(kind: str) -> None:
    plan, standing, sentence = KINDS[kind]
    row = row_of(plan)
    assert (row.standing, row.sentence) == (standing, sentence)
    assert standing_of(plan) == standing


@pytest.mark.parametrize("plan", [OBSERVED, PROPOSED], ids=["observed", "proposed"])
def test_nothing_says_evicted_of_a_plan_that_evicts_nobody(plan: PreemptionPlan) -> None:
    plan = msgspec.structs.replace(plan)
    objects = read(plan)
    listed = plans(objects.picture(), objects.plans(), ALL)
    said = json.dumps([listed.plain(), asked(objects, plan.metadata.name).plain()])
    assert "evicted " not in said
    assert "evicted." not in said


def test_a_list_has_what_goes_on_first_and_then_the_newest() -> None:
    old = stored("hero-old", "Planned", "Bound")
    old.metadata.creation_timestamp = "2026-03-01T09:00:00Z"
    objects = read(
        old, BOUND, OBSERVED, DRIVEN, turn(2), turn(1, phase="TimedOut", reason="time is over", ended=NOW)
    )
    found = plans(objects.picture(), objects.plans(), ALL)
    names = [each.name for each in found.rows]
    assert names == ["tune-turn-2", "hero-driven", "tune-turn-1", "hero-bound", "hero-observed", "hero-old"]
    assert found.oldest == "2026-03-01T09:00:00Z"
    assert found.missing == []


def test_a_list_has_what_its_reader_may_see_and_names_the_rights_that_would_show_more() -> None:
    objects = read(BOUND, turn())
    picture, known = objects.picture(), objects.plans()
    assert plans(picture, known, Tenant("team-b")).rows == []
    (row,) = plans(picture, known, Tenant(everywhere=["dispatchplans"])).rows
    assert row.kind == "DispatchPlan"
    found = plans(picture, known, Tenant("team-a"), ["team-a", "team-c"])
    assert len(found.rows) == 2
    assert found.missing == ["list preemptionplans in team-c", "list dispatchplans in team-c"]
    assert plans(picture, known, ALL, ["team-c"]).rows == []
    everywhere = ["list preemptionplans in all namespaces", "list dispatchplans in all namespaces"]
    assert plans(picture, known, Tenant("team-a")).missing == everywhere


def test_the_numbers_of_victims_are_those_that_are_stored() -> None:
    row = row_of(stored("hero-1", "Planned", victims=[], victim_units=3, victim_pods=40))
    assert (row.units, row.pods, row.sentence) == (3, 40, "It is to evict 3 units with 40 pods.")
    (row,) = plans((objects := read(BOUND)).picture(), objects.plans(), ALL).rows
    assert (row.units, row.pods) == (1, 2)


# ---- phases


def test_each_phase_has_its_time_and_the_last_one_is_marked() -> None:
    found = phases_of(BOUND)
    assert [each.name for each in found] == ["Planned", "Confirmed", "Evicting", "Ready", "Bound"]
    assert [each.time[-3:] for each in found] == ["01Z", "02Z", "03Z", "04Z", "05Z"]
    assert [each.is_last for each in found] == [False, False, False, False, True]
    (only,) = phases_of(stored("hero-1"))
    assert (only.name, only.time, only.is_last) == ("Planned", "2026-03-01T11:00:00Z", True)
    (only,) = phases_of(OBSERVED)
    assert (only.name, only.is_last) == ("Observed", True)


def test_an_end_has_its_reason() -> None:
    plan = stored("hero-1", "Planned", "Aborted", because="NodeGone")
    last = phases_of(plan)[-1]
    assert (last.name, last.reason, last.message) == ("Aborted", "NodeGone", "this is Aborted")
    assert row_of(plan).end == "NodeGone: this is Aborted"
    assert row_of(DRIVEN).end == ""


def test_who_confirmed_is_said_of_plans_that_need_it() -> None:
    placed = [Placement("hero-0", "n0", "uid-hero-0")]
    assert confirmed_by(BOUND) == "This is Confirmed."
    assert confirmed_by(STEERED).startswith("kube-scheduler itself")
    assert confirmed_by(stored("hero-1", "Planned", placements=placed)) == "Nobody yet."
    assert confirmed_by(stored("hero-1", "Planned", "Aborted", placements=placed)) == "Nobody."
    assert confirmed_by(OBSERVED) == confirmed_by(PROPOSED) == ""


def test_whether_it_was_in_vain() -> None:
    verdict = Condition("InVain", "True", "EvictedInVain", "nobody came", NOW)
    late = stored("hero-1", "Planned", "Evicting", "Aborted")
    assert evicted_in_vain(late) is None
    assert late.status is not None
    late.status.conditions = [*(late.status.conditions or ()), verdict]
    assert evicted_in_vain(late) is True
    assert "InVain" not in [each.name for each in phases_of(late)]
    assert evicted_in_vain(stored("hero-1", "Evicting", "Aborted", because="Overrun")) is False
    assert evicted_in_vain(BOUND) is False
    assert evicted_in_vain(stored("hero-1", "Planned", "Aborted")) is None
    assert evicted_in_vain(OBSERVED) is None


# ---- one plan


def test_a_plan_names_its_victims_and_nodes() -> None:
    placed = [Placement("hero-0", "n0", "uid-hero-0"), Placement("hero-1", "n5", "uid-hero-1")]
    found = asked(read(stored("hero-1", "Planned", placements=placed)), "hero-1").plain()
    (victim,) = found["victims"]
    assert (victim["namespace"], victim["name"], victim["priority"], victim["pods"]) == (
        "team-b",
        "sweep",
        10,
        2,
    )
    assert victim["nodes"] == ["n0", "n1"]
    nodes = {each["name"]: each for each in found["nodes"]}
    assert nodes["n0"]["leaving"] == ["team-b/sweep-0"]
    assert nodes["n0"]["coming"] == ["team-a/hero-0"]
    assert (nodes["n1"]["leaving"], nodes["n1"]["coming"]) == (["team-b/sweep-1"], [])
    assert (nodes["n5"]["leaving"], nodes["n5"]["coming"]) == ([], ["team-a/hero-1"])


def test_names_of_other_namespaces_come_from_the_whole_plan() -> None:
    plan = stored("hero-1", "Planned")
    whole = ClusterPreemptionPlan(
        metadata=ObjectMeta(name=whole_plan_name("team-a", "hero-1")), spec=plan.spec
    )
    withheld = msgspec.structs.replace(plan, spec=readable(plan.spec))
    (victim,) = asked(read(withheld, whole), "hero-1").victims
    assert victim["name"] == "sweep"
    (victim,) = asked(read(withheld), "hero-1").victims
    assert (victim["name"], victim["priority"]) == ("", 10)
    found = asked(read(withheld, whole), "hero-1", Tenant("team-a"))
    (victim,) = found.victims
    assert (victim["name"], victim["priority"], victim["nodes"], victim["pods"]) == ("", None, [], 2)
    assert "list pods in all namespaces" in found.missing
    (victim,) = asked(read(withheld, whole), "hero-1", Tenant("team-a", "team-b")).victims
    assert victim["name"] == "sweep"


def test_a_plan_of_quota_has_rules_and_one_that_proposes_has_its_cost() -> None:
    found = asked(read(PROPOSED), "tune-proposed").plain()
    assert found["plan"]["plane"] == "Quota"
    (victim,) = found["victims"]
    assert (victim["rule"], victim["clusterQueue"]) == ("InCohortReclamation", "guest")
    assert found["decision"]["cost"]["pods"] == 2
    assert found["staying"] is None


def test_an_observed_plan_stands_beside_what_the_scheduler_did() -> None:
    plan = stored("hero-1", "Observed", mode="Observe")
    assert plan.status is not None
    plan.status.instead = Instead(InsteadVictims(pods=7), state="Same", served_nobody=3, concluded=True)
    found = asked(read(plan), "hero-1").plain()
    assert found["instead"]["numbers"]["victims"]["pods"] == 7
    assert (
        "The scheduler preempted 7 pods instead: 3 of them served nobody." in found["instead"]["sentences"][0]
    )
    assert asked(read(BOUND), "hero-bound").instead is None


def test_who_evicts_for_a_native_gang() -> None:
    assert asked(read(STEERED), "hero-steered").evictor == (
        "kube-scheduler evicts, on the nodes that the plan names (SameVictims)."
    )
    assert asked(read(DRIVEN), "hero-driven").evictor == "reprieve evicts (DriveMode)."


def test_a_workload_of_several_clusters_has_its_turns_and_their_costs() -> None:
    over = turn(1, phase="TimedOut", reason="its time is over", ended=NOW)
    objects = read(PROPOSED, turn(2), over)
    for name in ("tune-turn-2", "tune-proposed"):
        turns = asked(objects, name).turns
        assert [each["plan"] for each in turns] == ["tune-turn-1", "tune-turn-2"]
        assert turns[0]["spec"]["clusters"][0]["cost"]["workloads"] == 2
    found = asked(objects, "tune-turn-1")
    assert [each.name for each in found.phases] == ["Open", "TimedOut"]
    assert found.row.end == "its time is over"
    nobody = asked(objects, "tune-proposed", Tenant(everywhere=["preemptionplans"]))
    assert nobody.turns == []
    assert "list dispatchplans in all namespaces" in nobody.missing


def test_what_the_status_says_besides_is_a_note() -> None:
    plan = stored("hero-1", "Planned", "Evicting", evicted_by="Scheduler", evictor_reason="SameVictims")
    assert plan.status is not None
    plan.status.next_attempt, plan.status.unplanned, plan.status.taken_nodes = NOW, ["a", "b"], ["n7"]
    notes = asked(read(plan), "hero-1").notes
    assert notes == [
        f"kube-scheduler tries the preemptor again at {NOW} at the latest, and perhaps much sooner.",
        "While kube-scheduler evicted by the plan, it evicted 2 pods that the plan does not name.",
        "Others took the room that was made on n7.",
    ]


@pytest.mark.parametrize("tenant", [ALL, Tenant("team-a"), Tenant("team-b")])
def test_a_plan_that_is_not_there_or_not_to_be_seen_is_not_found(tenant: Names) -> None:
    with pytest.raises(InputError, match="there is no PreemptionPlan team-c/hero-bound"):
        asked(read(BOUND), "hero-bound", tenant, "team-c")
    if tenant is not ALL:
        with pytest.raises(InputError, match="there is no PreemptionPlan team-a/other"):
            asked(read(BOUND), "other", tenant)


# ---- who stays


def test_who_stays_is_said_as_long_as_nobody_has_left() -> None:
    _, objects = training("Planned")
    found = asked(objects, "train-1", namespace="research").plain()
    assert {each["name"]: each["why"] for each in found["staying"]["units"]} == {
        "serving/embed-0": "still fits; evicting it would break budget serving/embed (allows 0)",
        "research/rl-actor": "above the cut-off 100",
        "serving/chat-1": "higher priority",
    }
    assert not found["staying"]["others"]
    assert {each["name"]: each["staying"] for each in found["nodes"]} == {
        "gpu-a2": ["research/finetune-1"],
        "gpu-b1": ["serving/embed-0"],
        "gpu-b2": [],
        "gpu-b3": ["serving/chat-1"],
    }
    _, objects = training("Planned", "Confirmed", "Evicting")
    found = asked(objects, "train-1", namespace="research").plain()
    assert found["staying"] is None
    assert all(node["staying"] is None for node in found["nodes"])


def test_who_stays_is_not_known_once_a_victim_runs_elsewhere() -> None:
    plan, _ = training("Planned")
    victims = [msgspec.structs.replace(plan.spec.victims[0], pods=[VictimPod("x", "y", "gone", "n")])]
    _, objects = training("Planned", victims=victims)
    assert asked(objects, "train-1", namespace="research").staying is None


def test_who_stays_of_other_namespaces_has_no_name() -> None:
    _, objects = training("Planned")
    found = asked(objects, "train-1", Tenant("research", everywhere=["nodes"]), "research").plain()
    assert found["staying"]["others"]
    assert "serving" not in json.dumps(found)
    assert asked(objects, "train-1", Tenant("research"), "research").staying is None


def test_nodes_are_in_the_order_of_their_names() -> None:
    spec = stored("hero-1", placements=[Placement("hero-0", "a0")], victim_units=UNSET).spec
    assert [each.name for each in nodes_of(spec)] == ["a0", "n0", "n1"]

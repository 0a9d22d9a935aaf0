"""Promised room, projected from stored plans and pods, in whatever order a watch brings them."""

from __future__ import annotations

import itertools
import random
from typing import Any, Final

import hypothesis.strategies as st
import msgspec
import orjson
import pytest
from hypothesis import given, settings

from api.core import Pod
from api.meta import Condition
from api.plans import Placement, PreemptionPlan, PreemptionPlanSpec, Preemptor, Victim, VictimPod
from api.times import parse_rfc3339
from controllers.gangs.mirror.roster import Roster
from controllers.gangs.promised.claims import Claims
from controllers.gangs.promised.reservations import Reservations
from nodes.state.tables import Tables
from tests.kit.clock import ManualClock
from tests.kit.objects import gang, node, pod

KEY = ("default", "plan")


def decision(*, beyond: int = 0) -> PreemptionPlanSpec:
    """m0 and m1 go to n0 and n1, where v0 and v1 are evicted."""
    members = [Placement(f"m{i}", f"n{i}", f"uid-default-m{i}") for i in range(2)]
    extra = [
        Placement(f"m{2 + i}", "n0", f"uid-default-m{2 + i}", beyond_min_count=True) for i in range(beyond)
    ]
    victims = [VictimPod("default", f"v{i}", f"uid-default-v{i}", f"n{i}") for i in range(2)]
    return PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "default", "gang", "uid-gang", 100),
        outcome="Preempts",
        reason="",
        placements=members + extra,
        victims=[Victim("Pod", "default", each.name, each.uid, 1, False, [each]) for each in victims],
    )


def plan(spec: PreemptionPlanSpec, phase: str = "Planned", name: str = "plan") -> PreemptionPlan:
    value = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": name,
            "creationTimestamp": "2026-01-02T00:00:00Z",
        },
        "spec": orjson.loads(msgspec.json.encode(spec)),
        "status": {"phase": phase, "conditions": []},
    }
    return msgspec.convert(value, PreemptionPlan)


class Process:
    """What one process knows."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.roster = Roster(self.tables)
        self.reservations = Reservations(ManualClock())
        self.claims = Claims(self.roster, self.reservations)

    def see(self, each: Any) -> None:
        if isinstance(each, PreemptionPlan):
            self.claims.stored.upsert(each)
        elif isinstance(each, Pod):
            self.tables.upsert_pod(each)
            self.claims.pod_changed(each.metadata.uid, each)
        elif each.metadata.name.startswith("n"):
            self.tables.upsert_node(each)
        else:
            self.tables.upsert_group(each)

    def lose(self, each: Pod) -> None:
        self.tables.delete_pod(each.metadata.namespace, each.metadata.name)
        self.claims.pod_changed(each.metadata.uid, None)

    def shown(self) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
        """By group: the nodes of its claims and of its victims, by UID."""
        reservations = self.reservations
        return {
            group[1]: (
                {uid: claim.node for uid, claim in reservations.claims(group).items()},
                {uid: claim.node for uid, claim in reservations.victims(group).items()},
            )
            for group in reservations.groups
        }


def member(number: int, **fields: Any) -> Pod:
    return pod(f"m{number}", group="gang", **fields)


def victim(number: int, **fields: Any) -> Pod:
    return pod(f"v{number}", **{"node": f"n{number}", **fields})


def cluster() -> list[Any]:
    return [
        node("n0"),
        node("n1"),
        gang(minimum=2),
        *(member(i) for i in range(3)),
        *(victim(i) for i in range(2)),
    ]


WHOLE = {
    "gang": (
        {"uid-default-m0": "n0", "uid-default-m1": "n1"},
        {"uid-default-v0": "n0", "uid-default-v1": "n1"},
    )
}


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_in_which_a_watch_brings_things_does_not_matter(order: random.Random) -> None:
    everything = [*cluster(), plan(decision(beyond=1))]
    order.shuffle(everything)
    process = Process()
    for each in everything:
        process.see(each)
    assert process.shown() == WHOLE


def test_pods_that_are_bound_or_gone_claim_nothing_and_come_back() -> None:
    process = Process()
    for each in (*cluster(), plan(decision())):
        process.see(each)
    process.see(member(0, node="n0"))
    process.see(victim(0, deleting=True))
    process.lose(member(1))
    assert process.shown() == {"gang": ({}, {"uid-default-v0": "n0", "uid-default-v1": "n1"})}
    process.lose(victim(0))
    assert process.shown() == {"gang": ({}, {"uid-default-v1": "n1"})}
    process.see(member(1))
    assert process.shown() == {"gang": ({"uid-default-m1": "n1"}, {"uid-default-v1": "n1"})}


def test_a_plan_claims_nothing_for_a_pod_of_another_namespace() -> None:
    """A placement has no namespace, and a plan that was written by hand may name the member of anybody's plan."""
    theirs, forged = decision(), decision()
    forged.preemptor = Preemptor("PodGroup", "reprieve.dev/v1alpha1", "other", "gang", "uid-other", 100)
    by_hand = plan(forged, "Ready", "by-hand")
    by_hand.metadata.namespace = "other"
    process = Process()
    for each in (*cluster(), plan(theirs), by_hand):
        process.see(each)
    claims = process.reservations.claims
    assert claims(("other", "gang")) == {}
    assert {*claims(("default", "gang"))} == {"uid-default-m0", "uid-default-m1"}
    assert {pod.uid: pod.requests for pod in process.roster.planned(forged).values()} == {
        "uid-default-m0": {},
        "uid-default-m1": {},
    }


def test_a_victim_that_is_overdue_leaves_no_room() -> None:
    process = Process()
    for each in (*cluster(), plan(decision()), victim(0, deleting="2026-01-01T01:00:00Z")):
        process.see(each)
    assert process.shown() == WHOLE
    for overdue, shown in (("00:59:59Z", {0, 1}), ("01:00:00Z", {1}), ("00:59:59Z", {0, 1})):
        for uid in process.tables.tell_time(parse_rfc3339(f"2026-01-01T{overdue}")):
            process.claims.overdue_changed(uid)
        assert process.shown()["gang"][1] == {f"uid-default-v{i}": f"n{i}" for i in shown}
        assert process.reservations.awaits("uid-default-v0", at_least=100)


def test_a_plan_that_has_ended_or_is_gone_claims_nothing() -> None:
    for is_deleted in (False, True):
        process = Process()
        for each in (*cluster(), plan(decision())):
            process.see(each)
        if is_deleted:
            process.claims.stored.delete(*KEY)
        else:
            process.see(plan(decision(), "Aborted"))
        assert process.shown() == {}


def test_a_plan_that_names_anothers_pods_takes_nothing_from_it_for_good() -> None:
    """Anybody who may write plans can name any pod."""
    process = Process()
    for each in (*cluster(), plan(decision())):
        process.see(each)
    foreign = decision()
    foreign.preemptor.name = "foreign"
    process.see(plan(foreign, "Ready", "foreign"))
    assert process.shown()["gang"] == ({}, WHOLE["gang"][1])
    process.see(plan(foreign, "Aborted", "foreign"))
    assert process.shown() == WHOLE


def test_a_leaders_own_word_counts_until_the_watch_shows_it() -> None:
    process = Process()
    for each in cluster():
        process.see(each)
    process.claims.propose(KEY, decision())
    assert process.shown() == WHOLE
    process.see(plan(decision()))
    process.claims.withdraw(KEY, decision())
    assert process.shown() == {}
    process.see(plan(decision()))  # the watch still shows it as active
    assert process.shown() == {}
    process.see(plan(decision(), "Aborted"))
    process.see(plan(decision()))  # made again, by whoever leads then
    assert process.shown() == WHOLE


def test_a_proposal_that_could_not_be_stored_leaves_the_stored_plan_alone() -> None:
    process = Process()
    for each in (*cluster(), plan(decision(), "Unschedulable", "earlier")):
        process.see(each)
    process.claims.propose(KEY, decision())
    process.claims.withdraw(KEY, decision())
    assert process.shown() == {}


def test_two_processes_agree_whatever_each_of_them_has_seen_before() -> None:
    """One has followed from the beginning, the other one lists what there is at the end."""
    states = [plan(decision(), phase) for phase in ("Planned", "Evicting", "Ready")]
    steps = [*cluster(), *states, member(0, node="n0"), victim(1, deleting=True)]
    for end in range(len(steps)):
        follower, newcomer = Process(), Process()
        newest: dict[tuple[type, str], Any] = {}
        for each in steps[: end + 1]:
            follower.see(each)
            newest[type(each), each.metadata.name] = each
        for order in itertools.islice(itertools.permutations(newest.values()), 3):
            newcomer = Process()
            for each in order:
                newcomer.see(each)
            assert newcomer.shown() == follower.shown()


SECOND: Final = "2026-01-02T00:00:01Z"


def at(each: PreemptionPlan, uid: str = "uid-gang", **conditions: str) -> PreemptionPlan:
    """The plan with these conditions, of a preemptor with this UID. Decided when it was Planned last."""
    assert each.status is not None
    each.spec.preemptor.uid = uid
    each.status.last_decision_time = conditions["Planned"]
    each.status.conditions = [
        Condition(type=type_, status="True", reason=type_, message="", last_transition_time=when)
        for type_, when in conditions.items()
    ]
    return each


@pytest.mark.parametrize("later", [SECOND, "2026-01-02T00:00:09Z"], ids=["same second", "written late"])
@pytest.mark.parametrize(("ended", "current"), [("a", "b"), ("b", "a")])
def test_a_plan_that_has_ended_does_not_hide_the_next_one(ended: str, current: str, later: str) -> None:
    """They are made within a second, and how the first one ended may be written after the second one."""
    process = Process()
    for each in cluster():
        process.see(each)
    process.see(at(plan(decision(), "Planned", ended), Planned=SECOND))
    process.see(at(plan(decision(), "Planned", current), Planned=SECOND))
    process.see(at(plan(decision(), "Aborted", ended), Planned=SECOND, Aborted=later))
    assert process.shown() == WHOLE
    (stored,) = [each for each in process.claims.stored if each.active is not None]
    assert process.claims.stored.to_carry_out(stored.owner) is stored


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_pods_plan_does_not_hide_that_of_the_next_pod_of_its_name(names: tuple[str, str]) -> None:
    """The first pod is gone, and its plan's end is not written yet."""
    process = Process()
    for each in cluster():
        process.see(each)
    for number, name in enumerate(names):
        spec = decision()
        spec.preemptor.kind, spec.preemptor.name = "Pod", "hero"
        process.see(at(plan(spec, "Planned", name), f"uid-{number}", Planned=SECOND))
    assert sorted(process.shown()) == ["pod/hero/uid-0", "pod/hero/uid-1"]

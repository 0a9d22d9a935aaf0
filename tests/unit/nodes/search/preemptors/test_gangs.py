"""A gang that has run: how many members must run, where they belong, and who is planned if the oldest do not fit."""

from __future__ import annotations

from typing import Any

import pytest

from api.groups import PodGroup
from nodes.search.preemptors.gangs import BoundDomain, bound_domain, minimum_of
from tests.kit.objects import gang, group, node, pod
from tests.unit.nodes.search.support import decide, names

RACK = {"topology": [{"key": "rack"}]}


def member(name: str, **fields: Any) -> Any:
    return pod(name, group="gang", **{"requests": {"cpu": "1"}, **fields})


@pytest.mark.parametrize(
    ("has_run", "members", "succeeded", "minimum"),
    [
        (False, 0, 0, 3),
        (False, 2, 0, 3),
        (False, 5, 0, 3),
        (False, 5, 1, 3),  # a start needs minCount members, if they exist
        (False, 2, 1, 2),  # nobody creates the third one again
        (False, 1, 1, 2),
        (False, 0, 3, 0),
        (True, 5, 0, 3),
        (True, 2, 0, 2),
        (True, 5, 1, 2),
        (True, 2, 1, 2),
        (True, 1, 1, 1),
        (True, 5, 4, 0),
        (True, 0, 0, 0),
    ],
)
def test_how_many_members_must_run(has_run: bool, members: int, succeeded: int, minimum: int) -> None:
    assert minimum_of(gang(minimum=3, has_run=has_run), members, succeeded) == minimum


def test_a_basic_group_needs_nobody() -> None:
    assert minimum_of(gang(minimum=0), 3, 0) is None


def test_the_domain_of_most_bound_members_counts() -> None:
    assert bound_domain("rack", {}) is None
    assert bound_domain("rack", {None: ["a"]}) is None
    assert bound_domain("rack", {"r1": ["a", "b"]}) == BoundDomain("r1", "")
    assert bound_domain("rack", {"r0": ["c"], "r1": ["b", "a"]}) == BoundDomain(
        "r1", "members are bound in 2 domains of rack (c in r0, a in r1): r1 counts"
    )
    tie = bound_domain("rack", {"r1": ["a"], "r0": ["b"]})
    assert tie is not None
    assert tie.value == "r0"
    assert bound_domain("rack", {"r1": ["a"], None: ["b", "c"]}) == BoundDomain(
        "r1", "members are bound in 1 domain of rack (a in r1, b on a node without rack): r1 counts"
    )


def decided(has_run: bool) -> Any:
    """minCount 3: one member Succeeded, one runs, and one was created again; the node is full."""
    members = [
        member("done", phase="Succeeded", node="n0"),
        member("runs", node="n0"),
        member("again"),
    ]
    low = pod("low", node="n0", requests={"cpu": "3"}, priority=1)
    return decide(gang(minimum=3, has_run=has_run), *members, node("n0"), low)


@pytest.mark.parametrize("has_run", [True, False])
def test_a_replacement_is_planned_as_the_remainder_and_may_preempt(has_run: bool) -> None:
    plan = decided(has_run)
    assert (plan.outcome, names(plan)) == ("Preempts", ["low"])
    assert [(each.pod, each.beyond_min_count) for each in plan.placements] == [("again", False)]


def test_members_that_failed_do_not_count() -> None:
    members = [member("failed", phase="Failed"), member("runs", node="n0")]
    plan = decide(gang(minimum=3), *members, node("n0"))
    assert plan.reason == "1 of 3 members exist"


def test_members_of_a_former_group_of_the_name_do_not_count() -> None:
    def made(created: str) -> PodGroup:
        return group("gang", minimum=2, priority=100, created=created)

    done = member("done", phase="Succeeded", created="2026-01-01T00:00:01Z")
    assert decide(made("2026-01-01T00:00:02Z"), done, member("m"), node("n0")).outcome == "Unschedulable"
    assert decide(made("2026-01-01T00:00:01Z"), done, member("m"), node("n0")).outcome == "Fits"


def test_a_gang_all_of_whose_members_succeeded_needs_nobody() -> None:
    done = [member(f"m{number}", phase="Succeeded") for number in range(2)]
    plan = decide(gang(has_run=True), *done, node("n0"))
    assert (plan.outcome, plan.reason) == ("Fits", "no member exists, and none has to run any longer")
    plan = decide(gang(has_run=True), *done, member("more"), node("n0"))
    assert [(each.pod, each.beyond_min_count) for each in plan.placements] == [("more", True)]


def test_a_gang_in_two_domains_goes_on_in_the_one_with_more_members() -> None:
    racks = [node(f"n{number}", labels={"rack": f"r{number}"}) for number in range(2)]
    bound = [member("a", node="n1"), member("b", node="n1"), member("c", node="n0")]
    plan = decide(gang(minimum=4, schedulingConstraints=RACK), *bound, member("d"), *racks)
    assert [(each.pod, each.node) for each in plan.placements] == [("d", "n1")]
    assert plan.reason == (
        "it fits without evictions; members are bound in 2 domains of rack (c in r0, a in r1): r1 counts"
    )


def test_a_bound_member_on_a_node_without_the_label_does_not_count() -> None:
    nodes = [node("n0"), node("n1", labels={"rack": "r1"})]
    bound = [member("a", node="n0"), member("b", node="n1")]
    plan = decide(gang(minimum=3, schedulingConstraints=RACK), *bound, member("c"), *nodes)
    assert [(each.pod, each.node) for each in plan.placements] == [("c", "n1")]
    assert "a on a node without rack" in plan.reason


# ---- others than the oldest


def test_the_others_are_planned_if_the_oldest_member_fits_nowhere() -> None:
    members = [member("m0", requests={"cpu": "9"}), member("m1"), member("m2")]
    plan = decide(gang(minimum=2), *members, node("n0"))
    placed = {each.pod: each.beyond_min_count for each in plan.placements}
    assert (plan.outcome, placed) == ("Fits", {"m1": False, "m2": False})
    assert plan.reason == "it fits without evictions; without older members that do not fit: m0"


def test_a_member_that_fits_alone_is_left_out_if_it_does_not_fit_with_an_older_one() -> None:
    sizes = {"m0": "3", "m1": "3", "m2": "1"}
    members = [member(name, requests={"cpu": size}) for name, size in sizes.items()]
    plan = decide(gang(minimum=2), *members, node("n0"))
    assert [each.pod for each in plan.placements] == ["m0", "m2"]
    assert not any(each.beyond_min_count for each in plan.placements)


def test_victims_go_for_the_others_too() -> None:
    low = pod("low", node="n0", requests={"cpu": "4"}, priority=1)
    members = [member("m0", requests={"cpu": "9"}), member("m1"), member("m2")]
    plan = decide(gang(minimum=2), *members, node("n0"), low)
    assert (plan.outcome, names(plan)) == ("Preempts", ["low"])
    assert [each.pod for each in plan.placements if not each.beyond_min_count] == ["m1", "m2"]


def test_the_reason_is_that_of_the_oldest_if_no_others_fit() -> None:
    members = [member("m0", requests={"cpu": "9"}), member("m1", requests={"cpu": "8"}), member("m2")]
    plan = decide(gang(minimum=2), *members, node("n0"))
    assert plan.outcome == "Unschedulable"
    assert plan.reason.startswith("0 of 2 members fit")

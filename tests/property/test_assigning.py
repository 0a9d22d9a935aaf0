"""Members swap their nodes: nobody is lost, and no other order gives more of them an offered node."""

from __future__ import annotations

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from api.plans import Placement, PreemptionPlanSpec, Preemptor
from controllers.gangs.planning.assigning import assign, match

MEMBERS = [f"m{number}" for number in range(5)]
NODES = ["a", "b", "c"]
OFFERS = st.dictionaries(st.sampled_from(MEMBERS), st.sets(st.sampled_from([*NODES, "elsewhere"])))
PLACES = st.lists(st.sampled_from(NODES), max_size=len(MEMBERS))


def offered(members: list[str], nodes: list[str], offers: dict[str, set[str]]) -> int:
    return sum(node in offers.get(uid, ()) for uid, node in zip(members, nodes, strict=True))


@given(PLACES, OFFERS)
def test_no_other_order_gives_more_members_an_offered_node(
    nodes: list[str], offers: dict[str, set[str]]
) -> None:
    members = MEMBERS[: len(nodes)]
    matched = match(members, nodes, offers)
    assert sorted(matched) == sorted(nodes)
    best = max(offered(members, list(order), offers) for order in permutations(nodes))
    assert offered(members, matched, offers) == best


@given(PLACES, OFFERS)
def test_a_second_time_nothing_moves(nodes: list[str], offers: dict[str, set[str]]) -> None:
    members = MEMBERS[: len(nodes)]
    matched = match(members, nodes, offers)
    again = match(members, matched, offers)
    kept = [
        before == after
        for uid, before, after in zip(members, matched, again, strict=True)
        if before in offers.get(uid, ())
    ]
    assert all(kept)


def spec(**nodes: str) -> PreemptionPlanSpec:
    return PreemptionPlanSpec(
        preemptor=Preemptor("PodGroup", "reprieve.dev/v1alpha1", "ns", "g", "uid", 0),
        outcome="Preempts",
        reason="",
        placements=[Placement(uid, node, uid, uid.startswith("late")) for uid, node in nodes.items()],
    )


def test_only_members_that_are_alike_swap() -> None:
    plan = spec(m0="a", m1="b", m2="c", late="a")
    offers = {"m0": {"b"}, "m1": {"c"}, "m2": {"a"}, "late": {"c"}}
    swapped = assign(plan, [("m0", "m1")], offers)
    assert [(each.uid, each.node) for each in swapped.placements] == [
        ("m0", "b"),
        ("m1", "a"),
        ("m2", "c"),
        ("late", "a"),
    ]
    assert [each.node for each in plan.placements] == ["a", "b", "c", "a"], "the plan itself stays"
    assert assign(plan, [("m0", "m1")], {}) is plan

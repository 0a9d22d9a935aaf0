"""The ledger: who may take reserved room."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from controllers.gangs.reservations import Claim, Ledger, Reservation
from nodes.state.tables import Tables
from tests.unit.nodes.state import builders

GANG = ("team", "gang")
OTHER = ("team", "other")


def ledger_with(*reservations: Reservation, now: float = 0.0) -> Ledger:
    ledger = Ledger(lambda: now)
    for reservation in reservations:
        ledger.hold(reservation)
    return ledger


def reservation(group: tuple[str, str] = GANG, priority: int = 100, **claims: int) -> Reservation:
    """Claims of so many milli cpu on the node named; the member's UID is group and node."""
    return Reservation(
        group,
        priority,
        {f"{group[1]}-{node}": Claim(node, {"cpu": cpu, "pods": 1}) for node, cpu in claims.items()},
        {},
    )


def free(cpu: int) -> dict[tuple[str, str], int]:
    return {("n1", "cpu"): cpu, ("n1", "pods"): 100, ("n2", "cpu"): cpu, ("n2", "pods"): 100}


def bars(
    ledger: Ledger, cpu: int, *, room: int, priority: int = 100, node: str = "n1", pod: str = "p"
) -> bool:
    table = free(room)
    return ledger.bars(node, pod, {"cpu": cpu, "pods": 1}, priority, lambda n, r: table.get((n, r), 0))


def test_equal_priority_is_kept_out_and_higher_passes() -> None:
    ledger = ledger_with(reservation(n1=1000))
    assert bars(ledger, 1000, room=1000)
    assert bars(ledger, 1000, room=1000, priority=99)
    assert not bars(ledger, 1000, room=1000, priority=101)


def test_what_is_left_beside_the_reservation_is_free_to_take() -> None:
    ledger = ledger_with(reservation(n1=1000))
    assert not bars(ledger, 500, room=1500)
    assert bars(ledger, 501, room=1500)
    assert not bars(ledger, 1000, room=1000, node="n2")


def test_a_pod_on_its_way_counts_until_it_is_settled() -> None:
    ledger = ledger_with(reservation(n1=1000))
    ledger.grants.note("first", ["n1"], {"cpu": 500, "pods": 1})
    assert bars(ledger, 500, room=1500)
    assert not bars(ledger, 500, room=1500, pod="first"), "a pod is not in its own way"
    ledger.bound("first")
    assert not bars(ledger, 500, room=1500)


def test_a_pod_that_never_arrives_does_not_count_for_ever() -> None:
    now = 0.0
    ledger = Ledger(lambda: now)
    ledger.hold(reservation(n1=1000))
    ledger.grants.note("lost", ["n1"], {"cpu": 500, "pods": 1})
    now = 31.0
    ledger.grants.expire()
    assert not bars(ledger, 500, room=1500)


def test_room_that_victims_still_hold_counts_as_room() -> None:
    held = Reservation(GANG, 100, {"m": Claim("n1", {"cpu": 1000})}, {"v": Claim("n1", {"cpu": 1500})})
    ledger = ledger_with(held)
    assert not bars(ledger, 500, room=0), "1500 leave, 1000 are claimed"
    ledger.left("v")
    assert bars(ledger, 500, room=0), "the mirror says by now what the victim's leaving frees"


def test_a_victim_that_is_only_touched_still_holds_its_room() -> None:
    """Its condition is written before it is deleted: the mirror shows it on its node once more."""
    held = Reservation(GANG, 100, {"m": Claim("n1", {"cpu": 1000})}, {"v": Claim("n1", {"cpu": 1500})})
    ledger = ledger_with(held)
    ledger.bound("v")
    assert ledger.leaving("n1", "cpu") == 1500


def test_release_ends_everything_a_group_held() -> None:
    held = Reservation(GANG, 100, {"m": Claim("n1", {"cpu": 1000})}, {"v": Claim("n2", {"cpu": 1})})
    ledger = ledger_with(held)
    assert ledger.awaits("v", at_least=100)
    assert not ledger.awaits("v", at_least=101)
    ledger.release(GANG)
    assert not ledger.awaits("v", at_least=0)
    assert ledger.nodes == []
    assert len(ledger) == 0


def test_a_pod_that_changes_sides_has_one_claim() -> None:
    """Its label names another gang now: whichever reservation ends first, the other's is neither lost nor left over."""
    for first, second in ((GANG, OTHER), (OTHER, GANG)):
        ledger = ledger_with(
            Reservation(GANG, 100, {"m": Claim("n1", {"cpu": 1})}, {"v": Claim("n1", {"cpu": 7})}),
            Reservation(OTHER, 50, {"m": Claim("n2", {"cpu": 2})}, {"v": Claim("n1", {"cpu": 7})}),
        )
        assert ledger.nodes == ["n2"]
        ledger.release(first)
        assert ledger.claimed("n2", "cpu", at_least=0) == (2 if first == GANG else 0)
        assert ledger.leaving("n1", "cpu") == (7 if first == GANG else 0)
        ledger.release(second)
        assert ledger.nodes == []
        assert ledger.leaving("n1", "cpu") == 0


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["hold", "release", "settle"]),
            st.sampled_from([GANG, OTHER]),
            st.sampled_from(["n1", "n2"]),
            st.integers(1, 5),
        ),
        max_size=30,
    )
)
def test_claims_are_conserved(steps: list[tuple[str, tuple[str, str], str, int]]) -> None:
    """Whatever happens, what is claimed is the sum over the claims that are neither settled nor released."""
    ledger, model = Ledger(lambda: 0.0), dict[tuple[str, str], dict[str, int]]()
    for step, group, node, cpu in steps:
        match step:
            case "hold":
                ledger.hold(reservation(group, **{node: cpu}))
                model[group] = {node: cpu}
            case "release":
                ledger.release(group)
                model.pop(group, None)
            case _:
                ledger.bound(f"{group[1]}-{node}")
                model.get(group, {}).pop(node, None)
        for name in ("n1", "n2"):
            assert ledger.claimed(name, "cpu") == sum(claims.get(name, 0) for claims in model.values())
        assert sorted(ledger.nodes) == sorted({name for claims in model.values() for name in claims})


def test_the_next_plan_sees_where_claimed_pods_will_be() -> None:
    """Their ports and labels count on the nodes that they are promised; a pod that has got there counts as bound."""
    tables = Tables()
    tables.upsert_node(builders.node("n1"))
    tables.upsert_pod(builders.pod("a", uid="gang-n1"))
    ledger = ledger_with(reservation(n1=1000))
    seen = ledger.subtract(tables.snapshot())
    assert seen.promised == {0: 0}
    assert seen.used[0].tolist() == [1000, 0, 0, 1]
    assert ledger.subtract(tables.snapshot(), but=GANG).promised == {}
    tables.upsert_pod(builders.pod("a", uid="gang-n1", node="n1"))
    assert ledger.subtract(tables.snapshot()).promised == {}

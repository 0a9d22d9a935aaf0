"""Reservations: who may take reserved room."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from controllers.gangs.mirror.group_members import Claim
from controllers.gangs.promised.reservations import Reservations
from tests.kit.clock import ManualClock

GANG = ("team", "gang")
OTHER = ("team", "other")


def hold(
    reservations: Reservations,
    group: tuple[str, str] = GANG,
    priority: int = 100,
    claims: dict[str, Claim] | None = None,
    victims: dict[str, Claim] | None = None,
) -> Reservations:
    """Give a group a reservation, in place of the one that it has."""
    reservations.open(group, priority, frozenset(victims or ()))
    for uid, claim in (claims or {}).items():
        reservations.put_claim(group, uid, claim)
    for uid, claim in (victims or {}).items():
        reservations.put_victim(group, uid, claim)
    return reservations


def claimed(group: tuple[str, str] = GANG, /, **nodes: int) -> dict[str, Claim]:
    """Claims of milli cpu on the nodes named; the member's UID is group and node."""
    return {f"{group[1]}-{node}": Claim(node, {"cpu": cpu, "pods": 1}) for node, cpu in nodes.items()}


def holding(**nodes: int) -> Reservations:
    return hold(Reservations(ManualClock()), claims=claimed(GANG, **nodes))


def free(cpu: int) -> dict[tuple[str, str], int]:
    return {("n1", "cpu"): cpu, ("n1", "pods"): 100, ("n2", "cpu"): cpu, ("n2", "pods"): 100}


def test_release_ends_everything_a_group_held() -> None:
    reservations = hold(
        Reservations(ManualClock()),
        claims={"m": Claim("n1", {"cpu": 1000})},
        victims={"v": Claim("n2", {"cpu": 1})},
    )
    assert reservations.awaits("v", at_least=100)
    assert not reservations.awaits("v", at_least=101)
    reservations.release(GANG)
    assert not reservations.awaits("v", at_least=0)
    assert reservations.nodes == []
    assert len(reservations) == 0


def test_a_victim_is_awaited_until_the_plan_ends_also_when_it_is_overdue() -> None:
    reservations = hold(Reservations(ManualClock()), victims={"v": Claim("n2", {"cpu": 1})})
    reservations.put_victim(GANG, "v", None)
    assert reservations.victims(GANG) == {}
    assert reservations.awaits("v", at_least=100)


def test_a_pod_that_changes_sides_has_one_claim() -> None:
    """Its label names another gang now: whichever reservation ends first, the other's is neither lost nor left over."""
    for first, second in ((GANG, OTHER), (OTHER, GANG)):
        reservations = Reservations(ManualClock())
        hold(reservations, GANG, 100, {"m": Claim("n1", {"cpu": 1})})
        hold(reservations, OTHER, 50, {"m": Claim("n2", {"cpu": 2})})
        assert reservations.nodes == ["n2"]
        reservations.release(first)
        assert reservations.claimed("n2", "cpu", at_least=0) == (2 if first == GANG else 0)
        reservations.release(second)
        assert reservations.nodes == []


def room(reservations: Reservations, free: int, at_least: int, own: tuple[str, str] | None = None) -> int:
    return reservations.room("n1", "cpu", lambda *_: free, at_least=at_least, own=own)


@pytest.mark.parametrize("order", [(GANG, OTHER), (OTHER, GANG)])
def test_a_victim_of_two_plans_is_the_higher_ones_whoever_spoke_first(
    order: tuple[tuple[str, str], ...],
) -> None:
    priorities = {GANG: 100, OTHER: 50}
    reservations = Reservations(ManualClock())
    for group in order:
        hold(reservations, group, priorities[group], victims={"v": Claim("n1", {"cpu": 7})})
    assert room(reservations, 1, 100, GANG) == 8
    assert room(reservations, 1, 50, OTHER) == 1
    reservations.put_victim(GANG, "v", Claim("n1", {"cpu": 7}), leaving=True)
    assert room(reservations, 8, 100, GANG) == 8
    assert room(reservations, 8, 50, OTHER) == 1
    reservations.release(GANG)
    assert room(reservations, 8, 50, OTHER) == 8
    reservations.release(OTHER)
    assert room(reservations, 8, 0) == 8


def test_a_plan_is_overrun_by_a_higher_one_that_needs_its_room() -> None:
    reservations = holding(n1=1000)
    lower, third = ("team", "lower"), ("team", "third")
    hold(reservations, lower, 50, claimed(lower, n1=500))

    def overrun(group: tuple[str, str], cpu: int) -> tuple[str, str] | None:
        table = free(cpu)
        return reservations.overrun(group, lambda n, r: table[n, r])

    assert overrun(lower, 1500) is None
    assert overrun(lower, 1499) == GANG
    assert overrun(lower, 499) is None, "it does not fit without the other one either"
    assert overrun(GANG, 0) is None, "nobody is above it"
    assert overrun(("team", "nobody"), 0) is None
    hold(reservations, third, 200, claimed(third, n2=1000))
    assert overrun(lower, 1499) == GANG, "the highest one is on another node"
    hold(reservations, third, 200, claimed(third, n1=1))
    assert overrun(lower, 1499) == third
    hold(reservations, third, 50, claimed(third, n1=5000))
    assert overrun(lower, 1499) is None, "an equal one is the reason"


def test_a_plan_whose_victim_a_higher_one_takes_is_overrun() -> None:
    victim = {"v": Claim("n1", {"cpu": 500})}
    reservations = hold(Reservations(ManualClock()), OTHER, 50, claimed(OTHER, n1=500), victim)
    assert reservations.overrun(OTHER, lambda *_: 1) is None
    hold(reservations, GANG, 100, claimed(GANG, n2=500), victim)
    assert reservations.overrun(OTHER, lambda *_: 1) == GANG


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
    reservations, model = Reservations(ManualClock()), dict[tuple[str, str], dict[str, int]]()
    for step, group, node, cpu in steps:
        match step:
            case "hold":
                hold(reservations, group, claims=claimed(group, **{node: cpu}))
                model[group] = {node: cpu}
            case "release":
                reservations.release(group)
                model.pop(group, None)
            case _:
                reservations.put_claim(group, f"{group[1]}-{node}", None)
                model.get(group, {}).pop(node, None)
        for name in ("n1", "n2"):
            assert reservations.claimed(name, "cpu") == sum(claims.get(name, 0) for claims in model.values())
        assert sorted(reservations.nodes) == sorted({name for claims in model.values() for name in claims})

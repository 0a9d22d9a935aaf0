from __future__ import annotations

import pytest

from api.holds import UNKNOWN, Holds, holds_of
from api.published import HOLDS, PLANNING_MODE, SCHEDULERS
from controllers.gangs.undoing.holding import Holding, may_hold

OBSERVES = {PLANNING_MODE: "Observe"}


@pytest.mark.parametrize(
    ("notes", "expected"),
    [
        ({PLANNING_MODE: "Enforce"}, UNKNOWN),
        ({PLANNING_MODE: "Enforce", HOLDS: ""}, UNKNOWN),
        ({SCHEDULERS: ""}, UNKNOWN),  # a version that knows no modes enforces
        ({}, Holds()),  # nobody has held the Lease yet
        (OBSERVES, Holds()),
        ({**OBSERVES, HOLDS: ""}, Holds()),
        ({**OBSERVES, HOLDS: '{"gates":2}'}, Holds(gates=2)),
        ({**OBSERVES, HOLDS: "two gates"}, UNKNOWN),
    ],
)
def test_what_a_lease_says(notes: dict[str, str], expected: Holds) -> None:
    assert may_hold(notes) == expected


def test_the_text_is_read_again_and_nothing_is_empty() -> None:
    held = Holds(units=1, marks=2, gates=3, nominations=4, pods=5, lacks_rights=True)
    assert holds_of(held.text()) == held
    assert Holds(lacks_rights=True).text() == ""
    assert str(held) == "1 broken group, 2 marks, 3 gates, 4 nominations, 5 held pods"
    assert str(Holds()) == "nothing"
    assert bool(UNKNOWN)
    assert str(UNKNOWN) == "it is not known yet what"


def test_before_the_list_is_made_the_former_leader_counts() -> None:
    notes: dict[str, str] | None = None
    holding = Holding(lambda: notes)
    assert not holding.now, "a cluster without a Lease"
    notes = {PLANNING_MODE: "Enforce"}
    assert holding.now == UNKNOWN
    notes = {**OBSERVES, HOLDS: holding.now.text()}  # the Lease is ours, and the list not made yet
    assert holding.now == UNKNOWN
    holding.follow(lambda: Holds(gates=1))
    assert holding.now == Holds(gates=1)
    notes = {**OBSERVES, HOLDS: holding.now.text()}
    holding.forget()
    assert holding.now == Holds(gates=1), "the term is over, and nobody has withdrawn it"


def test_a_process_that_enforces_has_no_leftovers() -> None:
    holding = Holding(lambda: {PLANNING_MODE: "Enforce"}, enforces=True)
    assert not holding.now

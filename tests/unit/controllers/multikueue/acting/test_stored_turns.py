"""The stored DispatchPlans."""

from __future__ import annotations

import pytest

from api.dispatch import DispatchedWorkload, DispatchPlan, DispatchPlanSpec, DispatchPlanStatus
from api.meta import ObjectMeta
from controllers.multikueue.acting.stored_turns import StoredTurns

EARLY, LATE = "2026-01-01T00:00:00.000000Z", "2026-01-01T00:05:00.000000Z"


def plan(name: str, number: int, attempt: str = "one", *, uid: str = "uid", phase: str = "") -> DispatchPlan:
    status = DispatchPlanStatus(phase, "") if phase else None  # type: ignore[arg-type] # a phase
    spec = DispatchPlanSpec(
        DispatchedWorkload("train", uid, attempt, 0), number, "a", "LeastDisruption", "why", EARLY, LATE, []
    )
    return DispatchPlan(metadata=ObjectMeta(name=name, namespace="team"), spec=spec, status=status)


def names(turns: object) -> list[str]:
    return [each.name for each in turns]  # type: ignore[attr-defined] # turns


def stored(*plans: DispatchPlan) -> StoredTurns:
    turns = StoredTurns()
    for each in plans:
        turns.upsert(each)
    return turns


def test_turns_of_an_attempt_come_in_their_order() -> None:
    turns = stored(
        plan("z", 1), plan("a", 2), plan("b", 10), plan("other", 1, "two"), plan("theirs", 1, uid="x")
    )
    assert names(turns.of("uid", "one")) == ["z", "a", "b"]
    assert turns.of("uid", "three") == ()
    assert len(list(turns)) == 5


def test_a_turn_is_over_when_its_status_says_what_became_of_it() -> None:
    turns = stored(plan("a", 1, phase="TimedOut"), plan("b", 2, phase="Open"), plan("c", 3))
    assert [each.is_over for each in turns.of("uid", "one")] == [True, False, False]
    assert names(turns.open_of_others("uid", "two")) == ["b", "c"]
    assert turns.open_of_others("uid", "one") == ()
    assert names(turns.open_of_gone("team", "train")) == ["b", "c"]
    assert turns.open_of_gone("team", "another") == ()


def test_another_state_replaces_the_last_one_and_nothing_is_left_of_a_deleted_one() -> None:
    turns = stored(plan("a", 1), plan("a", 1, phase="Ended"))
    assert [each.is_over for each in turns.of("uid", "one")] == [True]
    found = turns.plan("team", "a")
    assert found is not None
    assert found.status is not None
    assert turns.delete("team", "a")
    assert not turns.delete("team", "a")
    assert (turns.of("uid", "one"), turns.plan("team", "a"), list(turns)) == ((), None, [])
    assert turns.open_of_gone("team", "train") == ()


def test_a_plan_whose_times_cannot_be_read_changes_nothing() -> None:
    turns = stored(plan("a", 1))
    wrong = plan("a", 2)
    wrong.spec.until = "soon"
    with pytest.raises(ValueError, match="soon"):
        turns.upsert(wrong)
    assert [each.number for each in turns.of("uid", "one")] == [1]

"""When the bound members of a gang in pieces are released: one row for each condition."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.gangs.lifecycle.partial import Keep, Member, NotYet, Pieces, Release, Verdict, resolve

BOUND = tuple(Member(f"b{number}", created=100.0, bound=200.0) for number in range(3))
WAITS = Member("w", created=100.0)


def verdict(**changed: Any) -> Verdict:
    """Of a gang that was held from 150, bound in part at 200 while nobody led, and found by us at 300."""
    given: dict[str, Any] = {
        "minimum": 4,
        "members": (*BOUND, WAITS),
        "held_since": 150.0,
        "known_since": 300.0,
        "seconds": 120.0,
        "patience": 120.0,
    }
    return resolve(Pieces(**{**given, **changed}))


def kept(**changed: Any) -> str:
    """Why its members stay."""
    found = verdict(**changed)
    assert isinstance(found, Keep), found
    return found.reason


def test_a_gang_that_was_held_and_bound_in_part_is_released() -> None:
    assert verdict() == Release()


@pytest.mark.parametrize(
    "changed",
    [
        {"seconds": 119.9},
        {"makes_room": True},
        {"has_run": True},
        {"members": (WAITS,)},
        {"minimum": 3},
    ],
    ids=str,
)
def test_nothing_is_decided_of_a_gang_that_is_not_in_pieces_for_long(changed: dict[str, Any]) -> None:
    assert verdict(**changed) == NotYet()


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"setting": "Keep"}, "planning.partialGangs is Keep"),
        ({"paused": "evictions are paused: upgrade"}, "evictions are paused: upgrade"),
        ({"held_since": None}, "reprieve has never said"),
        ({"held_since": 201.0}, "pod b0 was bound before reprieve said"),
        ({"succeeded": 1}, "a member has succeeded"),
        ({"ended": 1}, "the gang may have run whole"),
        ({"members": (*BOUND, Member("w", created=201.0))}, "pod w was created after pod b0 was bound"),
        ({"members": (*BOUND[1:], Member("b0", 100.0, 200.0, controlled=False))}, "pod b0 has no controller"),
        ({"released": 1799.0}, "less than 30 minutes ago"),
        ({"budget": "web"}, "PodDisruptionBudget web does not allow it"),
        ({"limit": "Job j bears nothing"}, "Job j bears nothing"),
        ({"called": False, "held_since": 198.5}, "its scheduler has not called"),
        ({"called": False, "known_since": 150.0}, "its scheduler has not called"),
    ],
    ids=str,
)
def test_members_stay_and_users_are_told_why(changed: dict[str, Any], reason: str) -> None:
    assert reason in kept(**changed)


@pytest.mark.parametrize(
    "changed",
    [
        {"held_since": 201.0, "known_since": 200.0},
        {"ended": 1, "members": (*BOUND[:2], WAITS)},
        {"members": (*BOUND, Member("w", created=200.0))},
        {"members": BOUND},
        {"released": 1800.0},
        {"called": False, "held_since": 198.0},
    ],
    ids=str,
)
def test_the_limits_of_the_conditions(changed: dict[str, Any]) -> None:
    """This process saw the gang before its first member was bound; too few ever ran; equal seconds are no proof."""
    assert verdict(**changed) == Release()


def test_of_members_that_were_bound_at_different_times_the_first_one_counts() -> None:
    late = Member("late", created=250.0)
    assert "pod late was created after pod b0" in kept(
        members=(BOUND[0], Member("b9", created=260.0, bound=270.0), late), held_since=150.0
    )

"""Gangs in pieces, each in a forged history: those with a reason, and those that are our fault."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.kit.stress.pieces import Piece, in_pieces, skipped
from tests.kit.stress.rest import Rest
from tests.unit.kit.forged import Forge, Json, group, plan, pod

LINE = (
    'I1125 18:00:42.562689   12572 schedule_one.go:916] "Skipping extender as it returned error and has ignorable '
    'flag set" pod="d/b0" extender={} err="Post \\"https://127.0.0.1:1/v1/filter\\": read tcp"\n'
)


def look(forge: Forge, hero: Json, *pods: Json, skips: dict[str, list[float]] | None = None) -> list[Piece]:
    return in_pieces(Rest(list(pods), [], [hero], [], []), forge.done(), skips or {})


def bound_alone(**spec: Any) -> tuple[Forge, Json, Json]:
    """A gang of two. One member is bound, the other one waits."""
    forge = Forge()
    hero = forge.tell(group("hero", 100, minimum=2), "ADDED")
    waits = pod("b0", node=None, group="hero")
    forge.tell({**waits, "spec": {**waits["spec"], **spec}}, "ADDED")
    forge.now += 20
    runs = pod("b0", group="hero")
    return forge, hero, forge.tell({**runs, "spec": {**runs["spec"], **spec}})


def test_a_member_is_bound_for_no_reason() -> None:
    (found,) = look(*bound_alone())
    assert (found.group, found.bound, found.minimum, found.unexplained) == ("d/hero", 1, 2, ["d/b0"])
    assert str(found) == "d/hero: 1 of 2; b0 for no reason that is known"


def test_a_gang_that_once_ran_is_not_in_pieces() -> None:
    forge, hero, runs = bound_alone()
    forge.tell(pod("b1", group="hero"), "ADDED")
    assert look(forge, hero, runs) == []


def test_a_gang_that_waits_is_not_in_pieces() -> None:
    forge = Forge()
    hero = forge.tell(group("hero", 100, minimum=2), "ADDED")
    assert look(forge, hero, forge.tell(pod("b0", node=None, group="hero"), "ADDED")) == []


def test_a_scheduler_that_does_not_know_reprieve_binds_anybody() -> None:
    (found,) = look(*bound_alone(schedulerName="second-scheduler"))
    assert (found.unexplained, found.reasons) == ([], ["b0 by a scheduler that does not know reprieve"])


@pytest.mark.parametrize(("before", "is_explained"), [(1.0, True), (9.0, True), (11.0, False), (-3.0, False)])
def test_a_scheduler_that_got_no_answer_shortly_before(before: float, *, is_explained: bool) -> None:
    forge, hero, runs = bound_alone()
    (found,) = look(forge, hero, runs, skips={"d/b0": [forge.now - before]})
    assert (not found.unexplained) is is_explained


def test_fewer_were_enough_when_it_was_bound() -> None:
    forge = Forge()
    hero = group("hero", 100, minimum=1)
    forge.tell(hero, "ADDED")
    runs = forge.tell(pod("b0", group="hero"), "ADDED")
    forge.now += 20
    more = forge.tell({**hero, "spec": group("hero", 100, minimum=2)["spec"]})
    (found,) = look(forge, more, runs)
    assert (found.unexplained, found.reasons) == ([], ["b0 when 1 were enough"])


def test_it_was_no_gang_when_it_was_bound() -> None:
    forge = Forge()
    runs = forge.tell(pod("b0", group="hero"), "ADDED")
    hero = forge.tell(group("hero", 100, minimum=2), "ADDED")
    (found,) = look(forge, hero, runs)
    assert (found.unexplained, found.reasons) == ([], ["b0 when it was no gang"])


def test_nobody_watched_when_it_was_bound() -> None:
    forge = Forge()
    hero = forge.tell(group("hero", 100, minimum=2), "ADDED")
    runs = pod("b0", group="hero")
    forge.miss("Pod", runs)
    (found,) = look(forge, hero, runs)
    assert (found.unexplained, found.reasons) == ([], ["b0 while nobody watched"])


@pytest.mark.parametrize(
    ("phase", "leaves", "is_explained"),
    [("Ready", True, True), ("Ready", False, False), ("Evicting", True, False)],
)
def test_a_member_leaves_while_its_plan_is_ready(phase: str, *, leaves: bool, is_explained: bool) -> None:
    forge = Forge()
    hero = forge.tell(group("hero", 100, minimum=2), "ADDED")
    members = [forge.tell(pod(name, node=None, group="hero"), "ADDED") for name in ("b0", "b1")]
    ready = plan("hero-1", phase)
    ready["spec"]["preemptor"]["uid"] = hero["metadata"]["uid"]
    ready["spec"]["placements"] = [
        {"pod": each["metadata"]["name"], "uid": each["metadata"]["uid"], "node": "n0"} for each in members
    ]
    forge.tell(ready, "ADDED")
    forge.now += 20
    runs = forge.tell(pod("b0", group="hero"))
    if leaves:
        forge.tell(members[1], "DELETED")
    (found,) = look(forge, hero, runs)
    assert (not found.unexplained) is is_explained


@pytest.mark.parametrize(("late", "is_explained"), [(0.0, True), (9.0, False)])
def test_its_plan_is_given_up_while_it_is_bound(late: float, *, is_explained: bool) -> None:
    """A gang of higher priority takes the room. The scheduler had the binding on its way."""
    forge = Forge()
    hero = forge.tell(group("hero", 100, minimum=2), "ADDED")
    waits = forge.tell(pod("b0", node=None, group="hero"), "ADDED")
    placed = [{"pod": "b0", "uid": waits["metadata"]["uid"], "node": "n0"}]
    for phase in ("Ready", "Aborted"):
        told = plan("hero-1", phase, reason="Overrun")
        told["spec"]["placements"] = placed
        forge.tell(told)
    forge.now += late
    runs = forge.tell(pod("b0", group="hero"))
    (found,) = look(forge, hero, runs)
    assert (not found.unexplained) is is_explained
    if is_explained:
        assert found.reasons == ["b0 by its plan, which ended because of Overrun"]


def test_the_scheduler_says_when_it_goes_on_without_an_extender() -> None:
    other = 'I1125 18:00:43.000000   12572 schedule_one.go:1] "Scheduled" pod="d/b1"\n'
    expected = datetime(2026, 11, 25, 18, 0, 42, 562689).astimezone().timestamp()
    assert skipped([other, LINE, other], 2026) == {"d/b0": [expected]}

"""The mode at the top of the page, by what the Lease says and what the reader may hear."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest

from answers.modes import Mode, mode_of
from api.pauses import Pause, pauses_in, pauses_text
from api.published import ENFORCED, LIMITS_REACHED, PAUSES, PLANNING_MODE, RIGHTS_MISSING
from api.reached_limits import ReachedLimit, limits_text


def everybody(namespace: str) -> bool:
    return namespace is not None


def nobody(namespace: str) -> bool:
    return namespace is None


@pytest.mark.parametrize("notes", [{}, {PLANNING_MODE: ""}, {PLANNING_MODE: "Else"}])
def test_nobody_says_it(notes: dict[str, str]) -> None:
    found = mode_of(notes, everybody)
    assert found.mode == ""
    assert "No process says" in found.sentence


@pytest.mark.parametrize("mode", ["Off", "Observe", "Enforce"])
def test_each_mode_has_a_sentence_of_its_own(mode: Literal["Off", "Observe", "Enforce"]) -> None:
    found = mode_of({PLANNING_MODE: mode, ENFORCED: "", RIGHTS_MISSING: ""}, everybody)
    assert found == Mode(mode, found.sentence)
    assert mode in found.sentence
    assert ("evicts pods" in found.sentence) == (mode == "Enforce")


def test_where_only_some_namespaces_are_enforced() -> None:
    found = mode_of({PLANNING_MODE: "Enforce", ENFORCED: '{"matchLabels":{"a":"b"}}'}, everybody)
    assert found.selector == {"matchLabels": {"a": "b"}}
    assert "selected namespaces" in found.sentence
    names = '{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"In","values":["team-b"]}]}'
    told = mode_of({PLANNING_MODE: "Enforce", ENFORCED: names}, lambda namespace: namespace == "team-a")
    assert (told.selector, told.sentence) == (None, found.sentence), "it names others"
    broken = mode_of({PLANNING_MODE: "Enforce", ENFORCED: "{"}, everybody)
    assert broken.selector is None


def test_a_leader_without_rights_observes_and_says_which() -> None:
    found = mode_of({PLANNING_MODE: "Observe", RIGHTS_MISSING: "delete pods"}, everybody)
    assert found.mode == "Observe"
    assert "delete pods" in found.sentence


@pytest.mark.parametrize(("may", "hears"), [(everybody, True), (nobody, False)])
def test_pauses_and_limits_of_a_namespace_are_for_those_who_may_name_it(
    may: Callable[[str], bool], hears: bool
) -> None:
    pauses = [Pause("reprieve-system", "all stop"), Pause("team-a", "exam", 1.0, "2026-01-01T00:00:00Z")]
    limits = [ReachedLimit("victimsPerHour", 2), ReachedLimit("victimsPerHourInNamespace", 1, "team-a")]
    found = mode_of(
        {PLANNING_MODE: "Enforce", PAUSES: pauses_text(pauses), LIMITS_REACHED: limits_text(limits)}, may
    )
    assert found.pauses[0] == "Evictions are paused in the whole cluster: all stop"
    assert found.limits[0] == str(limits[0])
    told = (*found.pauses[1:], *found.limits[1:])
    assert len(told) == (2 if hears else 0)
    assert all("team-a" in each for each in told)


def test_pauses_that_somebody_else_wrote_say_nothing() -> None:
    assert pauses_in("") == pauses_in("{") == pauses_in('[{"a": 1}]') == []
    written = [Pause("a", "why", None, "", "is no time")]
    assert pauses_in(pauses_text(written)) == written

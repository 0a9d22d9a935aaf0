"""A condition keeps the time of its status, and has every field that CRDs require."""

from __future__ import annotations

import pytest

from api.conditions import condition_json, dated
from api.meta import Condition

THEN, NOW = "2001-09-09T01:46:40Z", "2033-05-18T03:33:20Z"
SECONDS = 2e9
"""`NOW`."""


def before(status: str = "True", since: str | None = THEN) -> Condition:
    return Condition("Ready", status, "Old", "old", since)


@pytest.mark.parametrize(
    ("known", "since"),
    [
        (before(), THEN),
        (before("False"), NOW),
        (before(since="yesterday"), NOW),
        (before(since=None), NOW),
        (None, NOW),
    ],
)
def test_only_another_status_is_a_transition(known: Condition | None, since: str) -> None:
    wanted = Condition("Ready", "True", "New", "new", None, 7)
    assert dated(wanted, known, SECONDS) == Condition("Ready", "True", "New", "new", since, 7)


def test_an_empty_reason_and_message_are_written_and_an_unknown_generation_is_not() -> None:
    assert condition_json(Condition("Ready", "True", last_transition_time=THEN)) == {
        "type": "Ready",
        "status": "True",
        "reason": "",
        "message": "",
        "lastTransitionTime": THEN,
    }
    full = condition_json(Condition("Ready", "True", "Why", "because", THEN, 7))
    assert (full["reason"], full["message"], full["observedGeneration"]) == ("Why", "because", 7)

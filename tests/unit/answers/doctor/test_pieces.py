"""Gangs in pieces at the moment at which Enforce begins."""

from __future__ import annotations

from typing import Any

from answers.doctor.pieces import InPieces, in_pieces
from api.foreign_owners import OwningJob
from api.groups import INITIALLY_SCHEDULED, SCHEDULED
from api.times import rfc3339
from controllers.gangs.lifecycle.settings import PiecesRule
from tests.kit.objects import budget, group, make, pod, tables

NOW = 1_800_000_000.0
HELD, BOUND = NOW - 200, NOW - 100


def waits(status: str = "False", type_: str = SCHEDULED) -> dict[str, Any]:
    """The status of a PodGroup that reprieve has written before a member was bound."""
    said = {
        "type": type_,
        "status": status,
        "reason": "Observing",
        "message": "it waits",
        "lastTransitionTime": rfc3339(HELD),
    }
    return {"conditions": [said]}


def member(name: str, **fields: Any) -> Any:
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": rfc3339(BOUND)}
    bound = {"node": "n", "conditions": [scheduled]} if fields.pop("bound", False) else {}
    owner = {"controller": "set", "created": rfc3339(HELD - 10)}
    return pod(name, **{"group": "g", "labels": {"app": "g"}, **owner, **bound, **fields})


def fate(
    status: dict[str, Any] | None = None,
    members: list[Any] | None = None,
    *others: Any,
    name: str = "g",
    setting: Any = "Release",
    completed: frozenset[tuple[str, str]] = frozenset(),
    jobs: dict[tuple[str, str], OwningJob] | None = None,
) -> list[InPieces]:
    there = members if members is not None else [member("m0", bound=True), member("m1")]
    groups = {("default", name): (group("g", minimum=2, status=waits() if status is None else status), there)}
    rule = PiecesRule(setting, 120.0)
    return list(in_pieces(groups, completed, tables(*others).budgets, jobs or {}, rule, NOW))


def why(*arguments: Any, **named: Any) -> str:
    (found,) = fate(*arguments, **named)
    assert (found.fate, found.after_seconds) == ("Keep", None)
    return found.reason


def test_a_gang_that_waited_before_it_was_bound_is_released_after_a_while() -> None:
    assert fate() == [InPieces("default", "g", 1, 2, "Release", 120.0, "")]


def test_a_gang_that_gets_room_for_the_others_is_not() -> None:
    assert fate(completed=frozenset({("default", "g")})) == [
        InPieces("default", "g", 1, 2, "Completes", None, "")
    ]


def test_who_is_whole_or_ran_whole_or_has_nobody_bound_is_not_in_pieces() -> None:
    assert fate(waits("True", INITIALLY_SCHEDULED)) == []
    assert fate(members=[member("m0", bound=True), member("m1", bound=True)]) == []
    assert fate(members=[member("m0"), member("m1")]) == []


def test_members_stay_where_the_rule_keeps_them() -> None:
    assert why(setting="Keep") == "planning.partialGangs is Keep"
    assert why({}) == "reprieve has never said of this PodGroup that it waits"
    assert why(members=[member("m0", bound=True, controller=None), member("m1")]) == (
        "pod m0 has no controller that would create it again"
    )
    none_may_go = budget("pdb", selector={"matchLabels": {"app": "g"}})
    assert why(None, None, none_may_go) == "PodDisruptionBudget pdb does not allow it"
    assert why(name="jobs.batch:g") != ""


def test_members_stay_if_their_job_would_fail_for_good() -> None:
    owner = ("batch/v1", "Job", "train")
    there = [member("m0", bound=True, controller=None, owner=owner), member("m1")]
    body = {
        "metadata": {"name": "train", "namespace": "default", "uid": "uid-train"},
        "spec": {"backoffLimit": 0},
    }
    found = why(members=there, jobs={("default", "train"): make(OwningJob, body)})
    assert found == "Job train: it loses 1 pod, and its backoffLimit is 0"

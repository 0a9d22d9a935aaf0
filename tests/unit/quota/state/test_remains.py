"""What is said of Workloads that cannot be read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from quota.state.remains import MOST, Remains, remains_of
from tests.kit.quota.objects import held, set_condition, workload

HELD: dict[str, Any] = msgspec.to_builtins(held(workload("w", "l", 3), 10, queue="q"))
USED = {("default", "cpu"): 3000}


def remains(**changes: Any) -> Remains:
    """Of a holder with other fields below spec or status, such as `status__conditions`."""
    body = msgspec.json.decode(msgspec.json.encode(HELD))
    for path, value in changes.items():
        part, _, field = path.partition("__")
        if field:
            body[part][field] = value
        else:
            body[part] = value
    return remains_of("ns", "w", msgspec.json.encode(body))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"metadata": 5},
        {"spec__podSets": "many"},
        {"spec__priority": "high"},
        {"status__reclaimablePods": 7},
        {"status__conditions": "none"},
        {"status__conditions": None},
        {"status__conditions": [{"type": "QuotaReserved", "status": "True", "lastTransitionTime": 9}]},
    ],
)
def test_the_admission_alone_says_what_it_holds(changes: Any) -> None:
    assert remains(**changes) == Remains("ns/w", "q", "ns/l", USED)


def test_its_queue_need_not_be_readable() -> None:
    assert remains(spec=3) == Remains("ns/w", "q", "", USED)


def test_who_gave_its_quota_back_holds_none() -> None:
    none = Remains("ns/w", "", "ns/l")
    assert remains(status__admission=None) == none
    assert remains(status=3) == none
    assert remains(status__conditions=[]) == none
    finished = set_condition(held(workload("w", "l", 3), 10, queue="q"), "Finished", "True", "Succeeded", 20)
    assert remains_of("ns", "w", msgspec.json.encode(finished)) == none


@pytest.mark.parametrize("amount", ["much", "-1", "1e400"])
def test_an_admission_that_cannot_be_read_names_its_queue_at_least(amount: str) -> None:
    assignment = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": amount}}
    admission = {"clusterQueue": "q", "podSetAssignments": [assignment]}
    assert remains(status__admission=admission) == Remains("ns/w", "q", "ns/l", None)
    assert remains(status__admission={"clusterQueue": "q", "podSetAssignments": 7}).usage is None
    assert remains(status__admission=7) == Remains("ns/w", "", "ns/l", None)


def test_no_amount_is_too_much_to_be_counted() -> None:
    assignment = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "9e15"}}
    admission = {"clusterQueue": "q", "podSetAssignments": [assignment, {**assignment, "name": "other"}]}
    assert remains(status__admission=admission).usage == {("default", "cpu"): MOST}


@pytest.mark.parametrize("raw", [b"", b"7", b"null", b"{", b"[]"])
def test_what_is_no_object_says_nothing(raw: bytes) -> None:
    assert remains_of("ns", "w", raw) == Remains("ns/w")

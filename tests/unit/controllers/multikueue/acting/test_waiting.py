"""For how long the oldest Workload waits for a worker cluster."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from api.workloads import Workload
from controllers.multikueue.acting.waiting import longest_wait
from tests.kit.manager import TRAIN, manager_objects

RESERVED = 1772366400.0
"""2026-03-01T12:00:00Z, when the Workload of the example got its quota."""


def waits(change: dict[str, Any] | None = None, *, now: float = RESERVED + 90) -> float:
    thing = manager_objects()[TRAIN]
    thing["status"] |= change or {}
    return longest_wait([msgspec.convert(thing, Workload)], lambda name: name == "clusters", now)


def condition(kind: str) -> dict[str, Any]:
    held = manager_objects()[TRAIN]["status"]["conditions"]
    return {"conditions": [*held, {"type": kind, "status": "True", "reason": kind}]}


def test_it_counts_from_the_reservation() -> None:
    assert waits() == 90
    assert waits(now=RESERVED - 5) == 0, "a clock was set back"


def check(name: str, state: str) -> dict[str, Any]:
    return {
        "admissionChecks": [
            {"name": name, "state": state, "message": "", "lastTransitionTime": "2026-03-01T12:00:01Z"}
        ]
    }


@pytest.mark.parametrize(
    "change",
    [
        {"clusterName": "west", "nominatedClusterNames": None},
        {"conditions": []},
        condition("Finished"),
        condition("Evicted"),
        check("clusters", "Ready"),
        check("budget", "Pending"),
    ],
)
def test_what_does_not_wait_for_a_cluster_does_not_count(change: dict[str, Any]) -> None:
    assert waits(change) == 0


def test_without_any_nothing_waits() -> None:
    assert longest_wait([], lambda _: True, RESERVED) == 0

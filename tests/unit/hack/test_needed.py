"""Which preemptions of a load the newest state before their writes needed."""

from __future__ import annotations

from typing import Any

import pytest

from hack.load import objects
from hack.load.needed import Seen, judge
from hack.load.shape import Class, Shape

SHAPE = Shape(cohorts=1, queues=2, classes=(), cpu=4, borrowing_limit=100)


class Writes:
    """What a watch shows: one event each second."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    def workload(
        self, name: str, cpu: int, *conditions: tuple[str, str, str], priority: int = 0, at: int = 0
    ) -> None:
        """`at`: the second of its conditions; by default that of the event."""
        second = at or len(self.seen) + 1
        of = Class(name, 1, cpu, 1.0, priority, 1.0)
        body = objects.workload(name, "ns", "c0-q0" if name < "m" else "c0-q1", of)
        body["status"] = {
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "reason": reason,
                    "message": message,
                    "lastTransitionTime": f"2026-01-01T00:00:{second:02}Z",
                }
                for kind, reason, message in conditions
            ]
        }
        self._add("Workload", name, body)

    def plan(self, preemptor: str, phase: str) -> None:
        body = {"metadata": {}, "spec": {"preemptor": {"uid": preemptor}}, "status": {"phase": phase}}
        self._add("PreemptionPlan", f"plan of {preemptor}", body)

    def _add(self, kind: str, uid: str, body: dict[str, Any]) -> None:
        version = len(self.seen) + 1
        body["metadata"] |= {"uid": uid, "resourceVersion": str(version)}
        self.seen.append(Seen(version, float(version), kind, False, body))


HOLDS = ("QuotaReserved", "QuotaReserved", "")
DONE = ("Finished", "Succeeded", "")


def evicted(preemptor: str) -> tuple[str, str, str]:
    return (
        "Evicted",
        "Preempted",
        f"Preempted to accommodate a workload (UID: {preemptor}, JobUID: UNKNOWN)",
    )


def full() -> Writes:
    """Two of four CPUs each hold all, and somebody waits."""
    writes = Writes()
    writes.workload("a", 4, HOLDS)
    writes.workload("z", 4, HOLDS)
    writes.workload("hero", 4, priority=5)
    return writes


def test_an_eviction_without_room_was_needed() -> None:
    writes = full()
    writes.workload("a", 4, HOLDS, evicted("hero"))
    judged = judge(writes.seen, SHAPE)
    assert (judged.needed, judged.needless) == (1, [])


def test_room_that_had_come_back_makes_it_needless_since_then() -> None:
    writes = full()
    writes.workload("z", 4, HOLDS, DONE)
    writes.workload("late", 1)
    writes.workload("a", 4, HOLDS, evicted("hero"))
    judged = judge(writes.seen, SHAPE)
    assert (judged.needed, judged.needless) == (0, [2.0])


def test_the_second_victim_is_needless_if_the_first_one_is_enough() -> None:
    writes = full()
    writes.workload("a", 4, HOLDS, evicted("hero"))
    writes.workload("z", 4, HOLDS, evicted("hero"))
    judged = judge(writes.seen, SHAPE)
    assert (judged.needed, judged.needless) == (1, [1.0])


@pytest.mark.parametrize(("phase", "needed"), [("Evicting", 1), ("Aborted", 0)])
def test_room_that_is_promised_to_another_one_does_not_count(phase: str, needed: int) -> None:
    writes = full()
    writes.workload("other", 4, priority=5)
    writes.plan("other", phase)
    writes.workload("z", 4, HOLDS, DONE)
    writes.workload("a", 4, HOLDS, evicted("hero"))
    assert judge(writes.seen, SHAPE).needed == needed


@pytest.mark.parametrize(("at", "needed"), [(5, 1), (6, 0)])
def test_room_that_was_given_away_before_does_not_count(at: int, needed: int) -> None:
    writes = full()
    writes.workload("z", 4, HOLDS, DONE)
    writes.workload("a", 4, HOLDS, evicted("hero"))
    writes.workload("zz", 4, HOLDS, at=at)
    assert judge(writes.seen, SHAPE).needed == needed

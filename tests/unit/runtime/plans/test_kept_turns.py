"""Which DispatchPlans are deleted."""

from __future__ import annotations

from api.dispatch import DispatchedWorkload, DispatchPlan, DispatchPlanSpec, DispatchPlanStatus
from api.meta import ObjectMeta
from api.times import parse_rfc3339
from runtime.plans.kept_turns import surplus_turns

DAY = 86400.0
BEGAN, UNTIL, ENDED = (f"2026-01-01T00:0{minute}:00.000000Z" for minute in (0, 5, 2))
FIRST, SECOND = "2025-12-31T23:59:00Z", "2026-01-01T00:03:00Z"


def plan(
    name: str, uid: str = "w", attempt: str = FIRST, ended: str = ENDED, until: str = UNTIL
) -> DispatchPlan:
    spec = DispatchPlanSpec(
        DispatchedWorkload("w", uid, attempt, 0), 1, "east", "LeastDisruption", "", BEGAN, until
    )
    status = DispatchPlanStatus("TimedOut", "", ended) if ended else None
    return DispatchPlan(metadata=ObjectMeta(name=name, namespace="ns"), spec=spec, status=status)


def deleted(*plans: DispatchPlan, at: str, after: float, **present: str) -> list[str]:
    """Names of those that are deleted `after` seconds from that time on. `present`: attempts by UID."""
    found = surplus_turns(plans, lambda uid: present.get(uid, ""), parse_rfc3339(at) + after, DAY)
    return [each.metadata.name for each in found]


def test_a_turn_stays_for_the_time_of_retention_after_its_end() -> None:
    assert deleted(plan("a"), at=ENDED, after=DAY - 1) == []
    assert deleted(plan("a"), at=ENDED, after=DAY) == ["a"]


def test_turns_of_the_present_attempt_stay() -> None:
    """The cluster with fewer turns comes next, and numbers go on."""
    mine, before = plan("a", attempt=SECOND), plan("b", attempt=FIRST)
    assert deleted(mine, before, at=ENDED, after=9 * DAY, w=SECOND) == ["b"]
    assert deleted(mine, before, at=ENDED, after=9 * DAY, w="") == ["a", "b"]


def test_a_turn_of_which_nobody_said_that_it_ended_counts_from_its_time() -> None:
    """Its Workload was deleted while no manager ran."""
    assert deleted(plan("a", ended=""), at=ENDED, after=DAY) == []
    assert deleted(plan("a", ended=""), at=UNTIL, after=DAY) == ["a"]


def test_the_oldest_go_first_also_those_of_other_workloads() -> None:
    later = plan("z", uid="v", ended="2026-01-01T00:04:00Z")
    assert deleted(later, plan("b"), plan("a"), at=UNTIL, after=DAY) == ["a", "b", "z"]

"""Evictions of stored plans in time, and who evicted one object, as far as a reader may know it."""

from __future__ import annotations

from typing import Any

import msgspec

from answers.evictions import evictions
from answers.names import ALL
from answers.stored.gone import who_evicted
from answers.stored.history import history
from api.plans import Victim, VictimPod
from tests.kit.stored_plans import (
    BOUND,
    JOB,
    NOW,
    OBSERVED,
    PROPOSED,
    SWEEP,
    TUNE,
    Tenant,
    read,
    stored,
)

OWN = Victim("Pod", "team-a", "low", "uid-low", 1, False, [VictimPod("team-a", "low", "uid-low", "n9")])


def event(name: str = "sweep-0") -> Any:
    """kube-scheduler's own, on a victim of its own."""
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"of-{name}", "namespace": "team-b"},
        "involvedObject": {"kind": "Pod", "namespace": "team-b", "name": name, "uid": "uid-other"},
        "related": {"kind": "PodGroup", "namespace": "team-a", "name": "train", "uid": "uid-native"},
        "reason": "Preempted",
        "message": "Preempted by podgroup uid-native on node n0",
        "eventTime": "2026-01-02T00:00:03.000000Z",
    }


def test_only_plans_that_began_to_evict_are_evictions() -> None:
    planned = stored("hero-planned", "Planned")
    found = history(read(BOUND, OBSERVED, PROPOSED, planned).plans(), ALL)
    (row,) = found.evictions
    assert (row.plan, row.namespace, row.rule, row.units, row.pods) == (
        "team-a/hero-bound", "team-b", "Priority", 1, 2,
    )  # fmt: skip
    assert (row.time, row.phase, row.in_vain) == ("2026-03-01T11:00:03Z", "Bound", False)
    assert found.oldest == "2026-03-01T11:00:00Z"


def test_each_namespace_and_each_rule_has_a_row_of_its_own_and_the_newest_come_first() -> None:
    nodes = stored("hero-1", "Planned", "Evicting", victims=[SWEEP, OWN])
    quota = stored("tune-1", "Evicting", preemptor=TUNE, victims=[JOB])
    found = history(read(nodes, quota).plans(), ALL)
    rows = [(each.plan, each.namespace, each.rule, each.units, each.pods) for each in found.evictions]
    assert rows == [
        ("team-a/hero-1", "team-a", "Priority", 1, 1),
        ("team-a/hero-1", "team-b", "Priority", 1, 2),
        ("team-a/tune-1", "team-b", "InCohortReclamation", 1, 0),
    ]
    assert found.evictions[0].in_vain is None


def test_without_plans_nothing_is_known() -> None:
    found = history(read().plans(), ALL)
    assert (found.evictions, found.oldest, found.plain()["oldestPlan"]) == ([], "", None)


def test_a_reader_of_one_namespace_sees_its_plans_and_no_other_name() -> None:
    plan = stored("hero-1", "Planned", "Evicting", victims=[SWEEP, OWN])
    known = read(plan).plans()
    assert history(known, Tenant("team-b")).evictions == []
    found = history(known, Tenant("team-a"))
    assert [(each.namespace, each.units, each.pods) for each in found.evictions] == [
        ("", 1, 2),
        ("team-a", 1, 1),
    ]
    assert found.missing == ["list preemptionplans in all namespaces", "list pods in all namespaces"]
    assert history(known, ALL, ["team-b"]).evictions == []


def test_who_evicted_is_what_the_command_prints() -> None:
    objects = read(BOUND, OBSERVED, event("sweep-0"))
    marks = objects.details("team-b").marks("sweep-0")
    found = who_evicted(objects.plans(), "team-b", "sweep-0", marks, ALL)
    (preempted,) = found.evictions.by_scheduler
    assert preempted.mark.preemptor == "team-a/train"
    stored_plans = [msgspec.structs.replace(each) for each in (BOUND, OBSERVED)]
    assert found.plain() == evictions(stored_plans, "team-b", "sweep-0", marks).plain()
    assert objects.details("team-b").marks("sweep-1") == []


def test_who_evicted_names_no_plan_that_the_reader_may_not_list() -> None:
    objects = read(BOUND)
    found = who_evicted(objects.plans(), "team-b", "sweep-0", [], Tenant("team-b"))
    assert found.plain() == {
        "name": "team-b/sweep-0",
        "evictions": [],
        "byScheduler": [],
        "oldestPlan": None,
        "missing": ["list preemptionplans in all namespaces"],
    }
    both = who_evicted(objects.plans(), "team-b", "sweep-0", [], Tenant("team-a", "team-b"))
    assert [each.plan for each in both.evictions.found] == ["team-a/hero-bound"]
    assert both.evictions.oldest == "2026-03-01T11:00:00Z" < NOW

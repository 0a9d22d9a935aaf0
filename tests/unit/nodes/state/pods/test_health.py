"""What follows from a change of a pod's health, and that nothing follows where no budget cares."""

from __future__ import annotations

from typing import Any

import pytest

from api.core import Pod
from nodes.state.groups.exempt import PENDING, READY
from nodes.state.pods.pod_facts import Change
from nodes.state.tables import Tables
from tests.kit.objects import budget, node, pod, tables

WEB = {"app": "web"}
NOTHING, DECISION = Change.NOTHING, Change.DECISION


def web(**fields: Any) -> Pod:
    return pod("p", **{"node": "n1", "labels": WEB, "phase": "Running", **fields})


def guarded(*pods: Pod, **fields: Any) -> Tables:
    found = tables(node("n1"), *pods, budget("b", selector={"matchLabels": WEB}, **fields))
    found.snapshot()
    return found


def followed(found: Tables, item: Pod) -> tuple[Change, int, int]:
    """What the event says, and by how much the version and the changes of budgets grow."""
    version, budgets = found.version, found.budget_changes
    change = found.upsert_pod(item)
    return change, found.version - version, found.budget_changes - budgets


def test_a_pod_that_no_budget_selects_may_have_any_health() -> None:
    found = guarded(web(labels={"app": "db"}), policy="AlwaysAllow")
    for ready in (True, False, True):
        assert followed(found, web(labels={"app": "db"}, ready=ready)) == (NOTHING, 0, 0)
    assert found.snapshot().pod_health.tolist() == [READY]


def test_a_pod_that_becomes_exempt_may_help() -> None:
    found = guarded(web(ready=True), policy="AlwaysAllow")
    assert followed(found, web(ready=False)) == (DECISION, 1, 1)
    assert followed(found, web(ready=False)) == (NOTHING, 0, 0)
    assert followed(found, web(ready=True)) == (DECISION, 1, 0), "it matters to decisions, and helps no gang"
    assert followed(found, web(ready=True, phase="Pending")) == (DECISION, 1, 1)
    assert found.snapshot().pod_health.tolist() == [READY | PENDING]


def test_a_budget_that_counts_all_pods_that_run_sees_no_difference() -> None:
    found = guarded(web(ready=True), healthy=1, desired=2)
    assert followed(found, web(ready=False)) == (NOTHING, 0, 0)
    assert found.snapshot().pod_health.tolist() == [0]
    found.upsert_budget(budget("b", selector={"matchLabels": WEB}, healthy=2, desired=2))
    assert followed(found, web(ready=True)) == (DECISION, 1, 0)


def test_only_a_pending_pod_is_exempt_from_two_budgets() -> None:
    found = guarded(web(ready=True), policy="AlwaysAllow")
    found.upsert_budget(budget("also", selector={}, policy="AlwaysAllow"))
    found.snapshot()
    assert followed(found, web(ready=False)) == (NOTHING, 0, 0)
    assert followed(found, web(phase="Pending")) == (DECISION, 1, 1)


@pytest.mark.parametrize("beside", [{"node": ""}, {"deleting": True}])
def test_nobody_evicts_a_pod_that_waits_or_leaves(beside: dict[str, Any]) -> None:
    found = guarded(web(ready=True, **beside), policy="AlwaysAllow")
    assert followed(found, web(ready=False, **beside)) == (NOTHING, 0, 0)


def test_a_row_that_is_free_forgets_it() -> None:
    found = guarded(web(ready=True), policy="AlwaysAllow")
    found.delete_pod("default", "p")
    found.upsert_pod(web(uid="another"))
    assert found.snapshot().pod_health.tolist() == [0]


def test_a_snapshot_keeps_it() -> None:
    found = guarded(web(ready=True), policy="AlwaysAllow")
    before = found.snapshot()
    found.upsert_pod(web(ready=False))
    assert (before.pod_health.tolist(), found.snapshot().pod_health.tolist()) == ([READY], [0])


def test_a_budget_that_exempts_other_pods_has_changed() -> None:
    found = guarded(healthy=2, desired=2)
    before = found.budget_changes
    assert found.upsert_budget(budget("b", selector={"matchLabels": WEB}, healthy=3, desired=2)) is NOTHING
    assert found.upsert_budget(budget("b", selector={"matchLabels": WEB}, healthy=1, desired=2)) is DECISION
    assert found.budget_changes == before + 1

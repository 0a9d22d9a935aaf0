"""Events, one at a time: what they change in the tables, and what they must not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from api.groups import SCHEDULING_GATE
from api.times import parse_rfc3339
from nodes.state.columns.flags import GATED, KEPT, TERMINATING, UNSTARTED
from nodes.state.pods.pod_facts import Change
from nodes.state.tables import Tables
from tests.kit.objects import budget, gang, group, node, pod, priority_class
from tests.kit.objects import tables as filled


def used(tables: Tables, name: str, column: str = "used") -> dict[str, int]:
    snapshot = tables.snapshot()
    row = snapshot.node_names.index(name)
    amounts: list[int] = getattr(snapshot, column)[row].tolist()
    return {name: amount for name, amount in zip(snapshot.resources, amounts, strict=True) if amount}


def test_a_bound_pod_uses_its_node_and_a_terminating_one_is_leaving() -> None:
    tables = Tables()
    tables.upsert_node(node("n1"))
    tables.upsert_pod(pod("p", node="n1", requests={"cpu": "1500m", "memory": "1Gi"}))
    assert used(tables, "n1") == {"cpu": 1500, "memory": 2**30, "pods": 1}
    assert used(tables, "n1", "leaving") == {}
    assert tables.upsert_pod(pod("p", node="n1", requests={"cpu": "1500m"}, deleting=True)) is Change.DECISION
    assert used(tables, "n1") == used(tables, "n1", "leaving") == {"cpu": 1500, "pods": 1}
    assert tables.delete_pod("default", "p") is Change.DECISION
    assert used(tables, "n1") == used(tables, "n1", "leaving") == {}


def test_a_terminating_pod_that_is_overdue_stays() -> None:
    tables, when = Tables(), parse_rfc3339("2026-01-01T01:00:00Z")
    tables.upsert_node(node("n1"))
    tables.upsert_pod(pod("p", node="n1", deleting=True))
    tables.upsert_pod(pod("waits", deleting=True))
    tables.upsert_pod(pod("runs", node="n1"))
    version = tables.version
    assert tables.tell_time(when - 1) == []
    assert tables.version == version
    assert tables.tell_time(when) == ["uid-default-p"]
    assert tables.version > version
    assert used(tables, "n1", "leaving") == {}
    assert (
        tables.free("n1", "cpu", after_leaving=True) == tables.free("n1", "cpu", after_leaving=False) == 2000
    )
    changed = pod("p", node="n1", deleting=True, conditions=[{"type": "Ready", "status": "False"}])
    assert tables.upsert_pod(changed) is Change.NOTHING, "a heartbeat does not make it leave again"
    tables.upsert_pod(pod("p", node="n1", deleting="2026-01-01T01:00:01Z"))
    assert used(tables, "n1", "leaving") == {"cpu": 1000, "pods": 1}
    assert tables.tell_time(when + 1) == ["uid-default-p"]
    assert tables.tell_time(when) == ["uid-default-p"], "the clock was corrected"
    assert used(tables, "n1", "leaving") == {"cpu": 1000, "pods": 1}
    tables.delete_pod("default", "p")
    assert tables.tell_time(when + 1) == []


def test_a_pod_that_comes_overdue_never_leaves() -> None:
    tables = Tables()
    tables.tell_time(parse_rfc3339("2026-01-01T02:00:00Z"))
    tables.upsert_node(node("n1"))
    tables.upsert_pod(pod("p", node="n1", deleting=True))
    assert used(tables, "n1") == {"cpu": 1000, "pods": 1}
    assert used(tables, "n1", "leaving") == {}


def test_a_deletion_time_that_cannot_be_read_changes_nothing() -> None:
    tables = Tables()
    tables.upsert_pod(pod("p", node="n1"))
    with pytest.raises(ValueError, match=r"metadata\.deletionTimestamp: 'soon' is not"):
        tables.upsert_pod(pod("p", node="n1", deleting="soon"))
    assert tables.snapshot().pod_flags.tolist() == [UNSTARTED]


def test_a_pod_on_a_node_is_not_started_until_its_status_says_so() -> None:
    tables = Tables()
    tables.upsert_pod(pod("waits"))
    tables.upsert_pod(pod("p", node="n1"))
    assert tables.snapshot().pod_flags.tolist() == [0, UNSTARTED]
    tables.upsert_pod(pod("p", node="n1", started="2026-01-01T00:00:30Z"))
    assert tables.snapshot().pod_flags.tolist() == [0, 0]


def test_a_nomination_decides_where_its_node_exists() -> None:
    tables = Tables()
    tables.upsert_node(node("n1"))
    tables.upsert_pod(pod("p"))
    assert tables.upsert_pod(pod("p", nominated="nowhere")) is Change.NOTHING
    assert tables.upsert_pod(pod("p", nominated="n1")) is Change.DECISION
    assert tables.upsert_pod(pod("p", nominated="n1")) is Change.NOTHING
    snapshot = tables.snapshot()
    assert dict(snapshot.nominated) == {0: snapshot.node_names.index("n1")}
    assert tables.upsert_pod(pod("p", nominated="nowhere")) is Change.DECISION
    assert dict(snapshot.nominated) == {0: snapshot.node_names.index("n1")}, "a snapshot does not change"
    assert tables.delete_pod("default", "p") is Change.NOTHING
    tables.upsert_pod(pod("p", nominated="n1"))
    assert tables.delete_pod("default", "p") is Change.DECISION
    assert dict(tables.snapshot().nominated) == {}


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_in_no_table(phase: str) -> None:
    tables = Tables()
    tables.upsert_node(node("n1"))
    tables.upsert_pod(pod("p", node="n1", version=1))
    tables.upsert_pod(pod("p", node="n1", phase=phase, version=2))
    assert used(tables, "n1") == {}
    assert tables.pod("uid-default-p") is None
    assert not tables.snapshot().pod_live.any()


def test_a_resource_that_a_node_lacks_is_not_available_there() -> None:
    tables = Tables()
    tables.upsert_node(node("n1"))
    tables.upsert_node(node("n2", example_com__gpu="8"))
    tables.upsert_pod(pod("p", node="n1", requests={"example.com/gpu": "2"}))
    snapshot = tables.snapshot()
    assert snapshot.resources == ("cpu", "memory", "ephemeral-storage", "pods", "example.com/gpu")
    assert snapshot.allocatable[:, 4].tolist() == [0, 0]
    assert tables.free("n1", "example.com/gpu", after_leaving=False) == -2
    assert tables.free("n3", "cpu", after_leaving=False) == 0
    assert tables.free("n1", "unheard-of", after_leaving=False) == 0


def test_the_order_of_resources_does_not_depend_on_which_came_first() -> None:
    amounts = {"a.io/x": "1", "b.io/y": "2"}
    orders = []
    for names in (sorted(amounts), sorted(amounts, reverse=True)):
        tables = Tables()
        for name in names:
            tables.upsert_pod(pod(f"p-{name[0]}", requests={name: amounts[name]}))
        snapshot = tables.snapshot()
        orders.append((snapshot.resources, sorted(snapshot.class_requests.tolist())))
    assert orders[0] == orders[1]


def test_a_pod_may_be_bound_to_a_node_that_is_not_there() -> None:
    tables = Tables()
    tables.upsert_pod(pod("p", node="later"))
    snapshot = tables.snapshot()
    assert not snapshot.node_live.any()
    assert snapshot.node_names[snapshot.pod_node[0]] == "later"
    tables.upsert_node(node("later"))
    assert used(tables, "later") == {"cpu": 1000, "pods": 1}
    tables.delete_node("later")
    assert tables.nodes.find("later") is None
    assert used(tables, "later") == {"cpu": 1000, "pods": 1}
    tables.delete_pod("default", "p")
    assert len(tables.nodes.names) == 0


def test_a_freed_row_is_clean_for_the_next_owner() -> None:
    tables = Tables()
    tables.upsert_node(node("old", cpu="64"))
    tables.upsert_pod(pod("p", node="old"))
    tables.delete_node("old")
    tables.delete_pod("default", "p")
    tables.upsert_pod(pod("q", node="new"))
    snapshot = tables.snapshot()
    assert snapshot.node_names == ["new"]
    assert snapshot.allocatable.sum() == 0
    assert snapshot.used[0].tolist() == [1000, 0, 0, 1]


def test_a_recreated_pod_is_another_pod() -> None:
    tables = Tables()
    tables.upsert_node(node("n1"))
    tables.upsert_node(node("n2"))
    tables.upsert_pod(pod("p", node="n1", uid="old", version=5))
    tables.upsert_pod(pod("p", node="n2", uid="new", version=9))
    assert (used(tables, "n1"), used(tables, "n2")) == ({}, {"cpu": 1000, "pods": 1})
    assert tables.pod("old") is None
    assert tables.pod("new") is not None
    assert tables.delete_pod("default", "p") is Change.DECISION
    assert tables.delete_pod("default", "p") is Change.NOTHING


def test_an_object_that_cannot_be_read_changes_nothing() -> None:
    tables = Tables()
    tables.upsert_pod(pod("p", node="n1", version=1))
    with pytest.raises(ValueError, match="containers"):
        tables.upsert_pod(pod("p", node="n2", requests={"cpu": "lots"}, version=2))
    with pytest.raises(ValueError, match=r"status\.startTime"):
        tables.upsert_pod(pod("p", node="n2", started="yesterday", version=2))
    assert used(tables, "n1") == {"cpu": 1000, "pods": 1}
    assert len(tables.nodes.names) == len(tables.classes.classes) == len(tables.label_sets.keys) == 1


def test_version_grows_with_what_matters_alone() -> None:
    tables = Tables()
    scheduled = [{"type": "PodScheduled", "status": "False", "message": "no room"}]
    steps: list[tuple[Change, Any]] = [
        (Change.DECISION, lambda: tables.upsert_node(node("n1"))),
        (Change.NOTHING, lambda: tables.upsert_node(node("n1"))),
        (Change.DECISION, lambda: tables.upsert_node(node("n1", labels={"zone": "a"}))),
        (Change.DECISION, lambda: tables.upsert_node(node("n1", labels={"zone": "a"}, unschedulable=True))),
        (Change.NOTHING, lambda: tables.upsert_pod(pod("ordinary"))),
        (Change.NOTHING, lambda: tables.upsert_pod(pod("ordinary", priority=7))),
        (Change.DECISION, lambda: tables.upsert_pod(pod("ordinary", priority=7, node="n1"))),
        (Change.NOTHING, lambda: tables.upsert_pod(pod("ordinary", priority=7, node="n1", phase="Running"))),
        (Change.DECISION, lambda: tables.upsert_pod(pod("member", group="g"))),
        (Change.STATUS, lambda: tables.upsert_pod(pod("member", group="g", conditions=scheduled))),
        (Change.NOTHING, lambda: tables.upsert_pod(pod("member", group="g", conditions=scheduled))),
        (Change.DECISION, lambda: tables.upsert_group(group("g"))),
        (Change.NOTHING, lambda: tables.upsert_group(group("g", status={"conditions": []}))),
        (Change.DECISION, lambda: tables.upsert_group(group("g", minimum=3))),
        (Change.DECISION, lambda: tables.upsert_budget(budget("b", selector={}))),
        (Change.NOTHING, lambda: tables.upsert_budget(budget("b", selector={}))),
        (Change.DECISION, lambda: tables.upsert_budget(budget("b", selector={}, allowed=1))),
        (Change.DECISION, lambda: tables.upsert_budget(budget("b", selector={}, allowed=1, disrupted=["p"]))),
        (Change.DECISION, lambda: tables.upsert_priority_class(priority_class("high", 10))),
        (Change.NOTHING, lambda: tables.upsert_priority_class(priority_class("high", 10))),
        (Change.DECISION, lambda: tables.delete_priority_class("high")),
        (Change.DECISION, lambda: tables.delete_node("n1")),
        (Change.NOTHING, lambda: tables.delete_node("n1")),
    ]
    for index, (expected, step) in enumerate(steps):
        before = tables.version
        assert (index, step()) == (index, expected)
        assert tables.version - before == (expected is Change.DECISION)


def test_flags_times_and_priority() -> None:
    tables = Tables()
    tables.upsert_pod(pod("a", node="n", mirror=True, deleting=True, started="2026-01-01T00:00:30Z"))
    tables.upsert_pod(pod("b", gated=True, priority=-5))
    snapshot = tables.snapshot()
    assert snapshot.pod_flags.tolist() == [KEPT | TERMINATING, GATED]
    assert snapshot.pod_priority.tolist() == [0, -5]
    assert (snapshot.pod_start - snapshot.pod_created).tolist() == [30, 0]
    assert snapshot.pod_created[0] == 1767225600


def test_who_schedules_a_pod() -> None:
    tables = Tables()
    for name, scheduler in (("a", "other"), ("b", ""), ("c", "default-scheduler")):
        tables.upsert_pod(pod(name, schedulerName=scheduler))
    snapshot = tables.snapshot()
    by_name = dict(zip(snapshot.pod_names, snapshot.pod_scheduler, strict=True))
    named = {name: snapshot.schedulers[row] for name, row in by_name.items()}
    assert named == {"a": "other", "b": "default-scheduler", "c": "default-scheduler"}
    row = tables.pod("uid-default-a")
    assert row is not None
    assert tables.view(row).scheduler == "other"


def test_members_and_their_status() -> None:
    tables = Tables()
    waiting = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no"}]
    tables.upsert_pod(pod("m", group="g", conditions=waiting))
    tables.upsert_pod(pod("o", conditions=waiting))
    key = ("default", "g")
    (member,) = map(tables.view, tables.members(key))
    assert (member.name, member.group) == ("m", key)
    assert member.status is not None
    assert member.status.scheduled is not None
    assert member.status.scheduled.message == "no"
    assert tables.groups.find(*key) is None
    ordinary = tables.pod("uid-default-o")
    assert ordinary is not None
    assert tables.view(ordinary).status is None
    tables.upsert_pod(pod("m", conditions=waiting))
    assert not tables.members(key)
    assert not tables.pods.status
    assert len(tables.groups.keys) == 0


def test_budgets_select_by_namespace_and_labels_in_any_order_of_arrival() -> None:
    tables = Tables()
    web = {"matchLabels": {"app": "web"}}
    odd = {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["back"]}]}
    tables.upsert_budget(budget("web", selector=web))
    tables.upsert_pod(pod("p", labels={"app": "web", "tier": "back"}))
    tables.upsert_pod(pod("p", namespace="other", labels={"app": "web"}))
    tables.upsert_pod(pod("bare"))
    tables.upsert_budget(budget("odd", selector=odd))
    tables.upsert_budget(budget("all", selector={}))
    tables.upsert_budget(budget("none"))
    tables.upsert_budget(budget("invalid", selector={"matchLabels": {"app": "not a value!"}}))

    def selecting(namespace: str, name: str) -> set[str]:
        snapshot = tables.snapshot()
        named = zip(snapshot.pod_namespaces, snapshot.pod_names, strict=True)
        row = list(named).index((namespace, name))
        rows = snapshot.label_budgets[snapshot.pod_labels[row]]
        return {found.name for row in rows if (found := snapshot.budgets[row]) is not None}

    assert selecting("default", "p") == {"web", "all"}
    assert selecting("default", "bare") == {"odd", "all"}
    assert selecting("other", "p") == set()
    tables.upsert_budget(budget("odd", selector=web))
    tables.delete_budget("default", "all")
    assert selecting("default", "p") == {"web", "odd"}
    assert selecting("default", "bare") == set()


def test_a_snapshot_does_not_move() -> None:
    tables = Tables()
    tables.upsert_node(node("n1"))
    tables.upsert_pod(pod("p", node="n1"))
    snapshot = tables.snapshot()
    tables.delete_pod("default", "p")
    tables.upsert_node(node("n1", cpu="1"))
    tables.upsert_priority_class(priority_class("late", 1))
    assert snapshot.pod_live.tolist() == [True]
    assert [*snapshot.pod_names] == ["p"]
    assert snapshot.allocatable[0, 0] == 4000
    assert snapshot.used[0, 0] == 1000
    assert snapshot.priority_classes == {}


def test_columns_keep_their_rows_when_they_grow() -> None:
    tables = Tables()
    for index in range(300):
        tables.upsert_node(node(f"n{index}", cpu=str(index + 1)))
        tables.upsert_pod(pod(f"p{index}", node=f"n{index}", requests={f"r.io/{index % 40}": "1"}))
    snapshot = tables.snapshot()
    assert snapshot.allocatable[:, 0].tolist() == [1000 * (index + 1) for index in range(300)]
    assert snapshot.pod_node.tolist() == list(range(300))
    np.testing.assert_array_equal(snapshot.used.sum(axis=1), np.full(300, 2))


def test_a_snapshot_keeps_its_rows_by_uid() -> None:
    """Whatever comes, goes or takes a row over after it was taken."""
    tables = Tables()
    tables.upsert_pod(pod("a", uid="uid-a"))
    tables.upsert_pod(pod("b", uid="uid-b"))
    before = tables.snapshot()
    tables.delete_pod("default", "a")
    tables.upsert_pod(pod("c", uid="uid-c"))
    after = tables.snapshot()
    assert before.pod_rows == {"uid-a": 0, "uid-b": 1}
    assert after.pod_rows == {"uid-b": 1, "uid-c": 0}


def test_our_own_scheduling_gate_makes_no_pod_gated() -> None:
    """Members wait for one another with it. Nothing is decided anew when it is removed."""
    tables = Tables()
    ours, other = {"name": SCHEDULING_GATE}, {"name": "example.com/wait"}
    tables.upsert_pod(pod("a", group="gang", schedulingGates=[ours]))
    tables.upsert_pod(pod("b", group="gang", schedulingGates=[other, ours]))
    assert tables.snapshot().pod_flags.tolist() == [0, GATED]
    version = tables.version
    tables.upsert_pod(pod("a", group="gang"))
    assert tables.version == version
    tables.upsert_pod(pod("b", group="gang", schedulingGates=[ours]))
    assert tables.version > version


def test_members_that_succeeded_are_kept_until_their_pod_is_deleted() -> None:
    key = ("default", "g")
    mirror = filled(group("g"), pod("a", group="g", node="n"), pod("b", group="g", node="n"))
    before = mirror.version, mirror.touched(key)
    assert mirror.upsert_pod(pod("a", group="g", node="n", phase="Succeeded")) is Change.DECISION
    assert mirror.touched(key) > before[1]
    assert mirror.succeeded(key) == {"uid-default-a"}
    assert len(mirror.members(key)) == 1
    assert mirror.upsert_pod(pod("a", group="g", node="n", phase="Succeeded")) is Change.NOTHING
    mirror.upsert_pod(pod("b", group="g", node="n", phase="Failed"))
    assert mirror.count_succeeded(key) == 1
    mirror.delete_group("default", "g")
    assert mirror.count_succeeded(key) == 0
    mirror.upsert_group(group("g"))
    assert mirror.count_succeeded(key) == 1
    assert mirror.delete_pod("default", "a") is Change.DECISION
    assert mirror.succeeded(key) == set()


def test_whether_a_group_has_run_is_a_matter_of_decisions() -> None:
    mirror = filled(gang())
    assert mirror.upsert_group(gang(has_run=True)) is Change.DECISION
    assert mirror.upsert_group(gang(has_run=True)) is Change.NOTHING

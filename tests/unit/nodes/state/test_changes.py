"""Counters of changes: each grows with what it counts, with nothing else, and never back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from nodes.state.tables import Tables
from tests.kit.objects import node, pod

TAINT = {"key": "a", "value": "b", "effect": "NoSchedule"}


def counters(tables: Tables, name: str = "n1") -> tuple[int, int, int]:
    return tables.node_changes(name), tables.node_pod_changes(name), tables.nomination_changes(name)


def grown(tables: Tables, before: tuple[int, int, int], name: str = "n1") -> tuple[bool, bool, bool]:
    """Which of (the node, its pods, its nominations) have changed; none has gone back."""
    after = counters(tables, name)
    assert all(high >= low for low, high in zip(before, after, strict=True))
    node_, pods, nominations = (high > low for low, high in zip(before, after, strict=True))
    return node_, pods, nominations


@pytest.mark.parametrize(
    ("changed", "counts"),
    [
        ({}, False),
        ({"labels": {"zone": "b"}}, True),
        ({"taints": [TAINT]}, True),
        ({"unschedulable": True}, True),
        ({"cpu": "8"}, True),
        ({"example.com__gpu": "1"}, True),
    ],
)
def test_a_node_changes_with_what_filters_see_of_it(changed: dict[str, Any], counts: bool) -> None:
    tables = Tables()
    tables.upsert_node(node("n1", version=1))
    tables.upsert_node(node("n2", version=1))
    before, other = counters(tables), counters(tables, "n2")
    tables.upsert_node(node("n1", version=2, **changed))
    assert grown(tables, before) == (counts, False, False)
    assert counters(tables, "n2") == other


def test_a_node_that_comes_again_has_changed_and_never_counts_back() -> None:
    tables = Tables()
    seen = [tables.node_changes("n1")]
    for cpu in ("4", "8", "4"):
        tables.upsert_node(node("n1", cpu=cpu))
        seen.append(tables.node_changes("n1"))
        tables.delete_node("n1")
        seen.append(tables.node_changes("n1"))
    assert seen == sorted(seen)
    # Every coming is a change; a deletion is one, too.
    assert len(set(seen)) == len(seen)


def test_a_row_that_another_node_had_does_not_take_a_counter_back() -> None:
    tables = Tables()
    tables.upsert_node(node("n1"))
    for number in range(5):
        tables.upsert_node(node("n1", cpu=str(number + 1)))
    before = counters(tables)
    tables.delete_node("n1")
    tables.upsert_node(node("n2"))
    tables.upsert_node(node("n1"))
    assert grown(tables, before)[0]


def test_pods_count_when_they_take_or_give_back_room() -> None:
    tables = Tables()
    tables.upsert_node(node("n1"))

    def counts(**fields: Any) -> bool:
        before = counters(tables)
        tables.upsert_pod(pod("p", **fields))
        changed = grown(tables, before)
        assert changed[0] is changed[2] is False
        return changed[1]

    assert not counts()
    assert counts(node="n1")
    assert not counts(node="n1", phase="Running", started="2026-01-01T00:00:00Z")
    assert not counts(node="n1", conditions=[{"type": "Ready", "status": "True"}])
    assert not counts(node="n1", labels={"app": "web"}, priority=5)
    assert not counts(node="n1", tolerations=[{"key": "a", "operator": "Exists"}])
    assert counts(node="n1", requests={"cpu": "2"})
    assert counts(node="n1", requests={"cpu": "2"}, deleting=True)
    assert not counts(node="n1", requests={"cpu": "2"}, deleting=True, phase="Running")
    assert counts(node="n1", requests={"cpu": "2"}, deleting=True, phase="Failed")
    before = counters(tables)
    tables.delete_pod("default", "p")
    assert counters(tables) == before


def test_a_pod_of_the_same_name_on_another_node_counts_on_both() -> None:
    tables = Tables()
    tables.upsert_node(node("n1"))
    tables.upsert_node(node("n2"))
    tables.upsert_pod(pod("p", node="n1", uid="first"))
    before, other = counters(tables), counters(tables, "n2")
    tables.upsert_pod(pod("p", node="n2", uid="second"))
    assert grown(tables, before) == (False, True, False)
    assert grown(tables, other, "n2") == (False, True, False)


def test_a_nomination_is_followed_until_it_ends() -> None:
    tables = Tables()
    tables.upsert_node(node("n1"))
    tables.upsert_node(node("n2"))

    def seen(**fields: Any) -> tuple[list[str], bool, bool]:
        """Who is nominated to n1, and whether that changed for n1 and for n2."""
        before, other = counters(tables), counters(tables, "n2")
        tables.upsert_pod(pod("p", **fields))
        names = [tables.view(row).name for row in tables.nominated("n1")]
        return names, grown(tables, before)[2], grown(tables, other, "n2")[2]

    assert seen() == ([], False, False)
    assert seen(nominated="n1") == (["p"], True, False)
    assert seen(nominated="n1", labels={"a": "b"}) == (["p"], False, False)
    assert seen(nominated="n1", priority=7) == (["p"], True, False)
    assert seen(nominated="n1", priority=7, requests={"cpu": "2"}) == (["p"], True, False)
    assert seen(nominated="n2") == ([], True, True)
    assert seen(nominated="n1") == (["p"], True, True)
    assert seen() == ([], True, False)
    assert seen(nominated="n1") == (["p"], True, False)
    # 1.34 leaves the nomination on a bound pod: it is no pending pod any more.
    assert seen(nominated="n1", node="n1") == ([], True, False)
    assert seen(nominated="n1", node="n1", phase="Running") == ([], False, False)


@pytest.mark.parametrize(
    "end",
    [
        lambda tables: tables.upsert_pod(pod("p", nominated="n1", uid="first", deleting=True)),
        lambda tables: tables.upsert_pod(pod("p", nominated="n1", uid="first", phase="Failed")),
        lambda tables: tables.upsert_pod(pod("p", uid="second")),
        lambda tables: tables.delete_pod("default", "p"),
    ],
    ids=["deleting", "failed", "replaced", "deleted"],
)
def test_a_nomination_ends_with_its_pod(end: Callable[[Tables], object]) -> None:
    tables = Tables()
    tables.upsert_node(node("n1"))
    tables.upsert_pod(pod("p", nominated="n1", uid="first"))
    before = counters(tables)
    end(tables)
    assert tables.nominated("n1") == set()
    assert grown(tables, before) == (False, False, True)


def test_a_nomination_to_a_node_that_does_not_exist_is_forgotten_with_it() -> None:
    tables = Tables()
    tables.upsert_pod(pod("p", nominated="nowhere"))
    assert len(tables.nominated("nowhere")) == 1
    before = counters(tables, "nowhere")
    tables.upsert_pod(pod("p"))
    assert grown(tables, before, "nowhere")[2]
    assert tables.nominated("nowhere") == set()
    assert len(tables.nodes.names) == 0


def test_other_labels_of_a_pod_may_let_others_onto_its_node() -> None:
    """Only while some pod keeps others away. Neither its room nor who may evict it has changed."""
    tables = Tables()
    tables.upsert_node(node("n1"))
    tables.upsert_pod(pod("p", node="n1", labels={"app": "a"}))

    def relabelled(app: str) -> list[str]:
        since = tables.last_change
        tables.upsert_pod(pod("p", node="n1", labels={"app": app}))
        assert tables.nodes.changed_since(since) == []
        return tables.nodes.released_since(since)

    assert relabelled("b") == []
    port = [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    tables.upsert_pod(pod("picky", containers=port))
    assert relabelled("c") == ["n1"]
    assert relabelled("c") == []


def test_nodes_that_are_gone_are_named() -> None:
    """Also if another node has their row already."""
    tables = Tables()
    tables.upsert_node(node("n1"))
    since = tables.last_change
    tables.delete_node("n1")
    tables.upsert_node(node("n2"))
    assert tables.nodes.find("n2") == 0
    assert tables.nodes.names_since(since) == {"n1", "n2"}
    assert tables.nodes.names_since(tables.last_change) == set()
    assert tables.nodes.names_since(-1) is None

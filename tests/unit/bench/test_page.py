"""What the tables of the page are made of, and the cluster that it is measured with."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from typing import Any

import msgspec
from rich.console import Console

from api.core import Node, Pod
from api.groups import POD_GROUP_LABEL, PodGroup
from api.kueue import ClusterQueue, LocalQueue, ResourceFlavor
from api.workloads import Workload
from bench.page_apiserver import may_list
from bench.page_figures import Figure, delays, table_of
from bench.page_trace import Tasks
from bench.page_world import GANGS, KUEUE, Size, World, namespaces_of
from nodes.state.tables import Tables
from quota.state.state import QuotaState

SMALL = World(Size(20, 15, 10))


def test_ratios_come_first_and_each_figure_is_beside_its_aim() -> None:
    console = Console(file=io.StringIO(), width=200, record=True)
    figures = [
        Figure("time", 17.25, 16, "ms"),
        Figure("size", 12, None, "kB", remark="gzipped"),
        Figure("frames", 0.95, 0.9, at_least=True),
        Figure("heap", math.nan, 150, "MB"),
    ]
    console.print(table_of("title", figures))
    lines = [line for line in console.export_text().splitlines() if line.startswith("│")]
    assert [[cell.strip() for cell in line.strip("│").split("│")] for line in lines] == [
        ["frames", "0.95", "at least 0.90", "met", ""],
        ["time", "17.2 ms", "at most 16 ms", "missed", ""],
        ["size", "12 kB", "", "", "gzipped"],
        ["heap", "not measured", "at most 150 MB", "missed", ""],
    ]


def test_a_change_counts_until_the_last_stream_has_all_of_it() -> None:
    heard = [[0.5, 1.25, 1.5, 2.25], [1.125, 2.75]]
    assert delays([1.0, 2.0, 3.0], heard) == [0.5, 0.75]


def test_a_stream_that_is_late_has_a_change_with_the_next_event_or_never() -> None:
    assert delays([1.0, 2.0, 3.0], [[2.5]]) == [1.5, 0.5]
    assert delays([1.0, 2.0, 3.0], [[]]) == [2.0, 1.0]


def event(name: str, begins: float, length: float = 0, thread: int = 1) -> dict[str, Any]:
    times = {"ts": 1000 * begins, "tdur": 1000 * length, "dur": 2000 * length}
    return {"name": name, "pid": 1, "tid": thread, **times}


def test_the_work_of_a_frame_is_that_of_all_tasks_until_the_next_one() -> None:
    tasks = Tasks.of(
        [
            event("RunTask", 30, 5),
            event("RunTask", 0, 4),
            event("RunTask", 10, 2),
            event("RunTask", 50, 1),
            event("RunTask", 20, 100, thread=2),
            *(event("FireAnimationFrame", at) for at in (1, 2, 31, 50.5)),
        ]
    )
    assert tasks.by_frame() == [6.0, 5.0]
    assert (tasks.longest, tasks.longest_span, tasks.whole) == (5.0, 10.0, 12.0)


def test_the_cluster_is_one_that_the_tables_can_read() -> None:
    tables = Tables()
    kinds: tuple[tuple[str, Any, Callable[[Any], object]], ...] = (
        ("/api/v1/nodes", Node, tables.upsert_node),
        (GANGS, PodGroup, tables.upsert_group),
        ("/api/v1/pods", Pod, tables.upsert_pod),
    )
    for path, kind, store in kinds:
        make, total = SMALL.lists[path]
        for number in range(total):
            store(msgspec.json.decode(make(number, 1), type=kind))
    snapshot = tables.snapshot()
    bound = snapshot.pod_live & (snapshot.pod_node >= 0)
    assert int(bound.sum()) == SMALL.bound == 300
    assert int((snapshot.pod_live & ~bound).sum()) == 8 * SMALL.with_members
    assert int((snapshot.used <= snapshot.allocatable).all())
    groups = {each.metadata.name for each in snapshot.groups if each is not None}
    assert {"app-0", "app-2", "wait-0", "wait-39"} <= groups


def test_a_pod_that_moves_is_the_same_pod_on_another_node() -> None:
    before, after = (msgspec.json.decode(SMALL.pod(7, 1, moved=moved), type=Pod) for moved in (False, True))
    assert before.metadata.uid == after.metadata.uid
    assert before.spec.node_name != after.spec.node_name
    assert (before.metadata.labels or {})[POD_GROUP_LABEL] == "app-0"


def test_the_pods_of_a_namespace_are_those_of_the_whole_list() -> None:
    make, total = SMALL.lists["/api/v1/pods"]
    pods = [msgspec.json.decode(make(number, 1), type=Pod).metadata for number in range(total)]
    found = [msgspec.json.decode(each, type=Pod).metadata for each in SMALL.of_namespace("namespace-3")]
    assert {each.name for each in found} == {each.name for each in pods if each.namespace == "namespace-3"}
    assert found


def test_half_of_the_queues_have_borrowed_from_the_others() -> None:
    state = QuotaState()
    kinds: tuple[tuple[str, Any], ...] = (
        ("resourceflavors", ResourceFlavor),
        ("clusterqueues", ClusterQueue),
        ("localqueues", LocalQueue),
        ("workloads", Workload),
    )
    for plural, kind in kinds:
        make, total = SMALL.lists[f"{KUEUE}/{plural}"]
        for number in range(total):
            state.apply(msgspec.json.decode(make(number, 1), type=kind))
    assert not state.strays()
    assert {each.queue for each in state._holders.values()} == {f"team-{odd}" for odd in range(1, 20, 2)}


def test_readers_of_a_kind_may_list_in_their_namespaces_alone() -> None:
    own = namespaces_of(3)[0]
    pods = {"resource": "pods"}
    assert may_list("reader-53", {**pods, "namespace": own})
    assert not may_list("reader-53", pods)
    assert not may_list("reader-4", {**pods, "namespace": own})
    assert may_list("reader-4", {"resource": "nodes"})
    assert may_list("reader-0", pods)
    assert may_list("administrator-7", pods)

"""The engines' states as stores of views."""

from __future__ import annotations

import asyncio
from typing import Any

from api.meta import ObjectMeta
from quota.state import QuotaState, Thing
from runtime.views import View
from runtime.watched_quota import WatchedQuota
from runtime.watched_tables import WatchedTables
from tests.kit.objects import node, pod
from tests.kit.quota import cluster_queue, cpu, flavor, held, local_queue, workload
from tests.kit.views import listed, unconnected


async def test_tables_tell_of_decisions_and_of_every_state_of_a_pod() -> None:
    views = unconnected()
    watched = WatchedTables(views)
    changes: list[int] = []
    told: list[tuple[str, bool]] = []
    watched.on_change(lambda: changes.append(watched.tables.version))
    watched.on_pod(lambda uid, item: told.append((uid, item is not None)))
    assert not watched.synced
    listed(views)
    await watched.wait_synced()
    watched.nodes.upsert(node("n", version=1), listed=False)
    watched.pods.upsert(pod("p", node="n", version=2), listed=False)
    await asyncio.sleep(0)
    assert changes == [2]
    watched.pods.upsert(pod("p", node="n", phase="Running", version=3), listed=False)
    await asyncio.sleep(0)
    assert changes == [2]  # no decision depends on it
    watched.pods.upsert(pod("p", node="n", phase="Succeeded", version=4), listed=False)
    await asyncio.sleep(0)
    assert changes == [2, 3]  # its room is free
    watched.pods.delete(ObjectMeta("p", "default", "uid-default-p"))
    watched.nodes.delete(ObjectMeta("n"))
    await asyncio.sleep(0)
    assert changes == [2, 3, 4]
    assert told == [("uid-default-p", True)] * 2 + [("uid-default-p", False)] * 2


def test_the_quota_state_follows_and_keeps_what_it_could_read() -> None:
    watched = WatchedQuota(unconnected())
    queues, _, flavors, checks, local_queues, workloads = watched.views
    expected = QuotaState()
    things: list[tuple[View[Any], Thing]] = [
        (queues, cluster_queue("a", cpu(4))),
        (flavors, flavor("default")),
        (local_queues, local_queue("lq", "a")),
        (workloads, held(workload("w", "a", 3), 0)),
    ]
    for view, thing in things:
        view.upsert(thing, listed=True)
        expected.apply(thing)
    assert watched.state.snapshot().layout.names == expected.snapshot().layout.names
    before = watched.state.snapshot().ledger.usage(0, 0)
    assert before == 3000
    broken = held(workload("w", "a", 3), 0)
    broken.metadata.creation_timestamp = "yesterday"
    workloads.upsert(broken, listed=False)
    assert watched.state.snapshot().ledger.usage(0, 0) == before
    workloads.delete(ObjectMeta("w", "ns"))
    local_queues.delete(ObjectMeta("lq", "ns"))
    assert watched.state.snapshot().ledger.usage(0, 0) == 0
    assert not watched.state.workloads
    queues.replaced(set(), "")
    assert not watched.state.snapshot().queues

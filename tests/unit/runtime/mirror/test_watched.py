"""The engines' states as stores of views."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from api.checks import AdmissionCheck
from api.meta import ObjectMeta
from api.workloads import Workload
from quota.state.state import QuotaState, Thing
from quota.state.workloads import holds_quota
from runtime.mirror.views import View
from runtime.mirror.watched_quota import WatchedQuota
from runtime.mirror.watched_tables import WatchedTables
from tests.kit.objects import node, pod
from tests.kit.quota.objects import cluster_queue, cpu, flavor, held, local_queue, workload
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
    queues, _, flavors, checks, local_queues, *_, workloads = watched.views
    expected = QuotaState()
    things: list[tuple[View[Any], Thing]] = [
        (queues, cluster_queue("a", cpu(4))),
        (flavors, flavor("default")),
        (checks, AdmissionCheck(metadata=ObjectMeta("c"))),
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
    assert set(watched.state.checks) == {"c"}
    checks.delete(ObjectMeta("c"))
    assert not watched.state.checks
    queues.replaced(set(), "")
    assert not watched.state.snapshot().queues


# ---- Workloads that are assumed


def version(item: Workload, number: int) -> Workload:
    meta = msgspec.structs.replace(item.metadata, resource_version=str(number))
    return msgspec.structs.replace(item, metadata=meta)


def assuming() -> tuple[WatchedQuota, list[tuple[bool, bool]]]:
    """A Workload that is assumed to hold quota, and whether it held quota before and after each change."""
    watched, told = WatchedQuota(unconnected()), list[tuple[bool, bool]]()
    watched.workloads.upsert(version(workload("w", "a", 3), 1), listed=True)
    watched.on_workload(
        lambda _, before, after: told.append(
            (before is not None and holds_quota(before), after is not None and holds_quota(after))
        )
    )
    watched.assume(version(held(workload("w", "a", 3), 0), 1))
    return watched, told


def holds(watched: WatchedQuota) -> bool:
    return holds_quota(watched.state.workloads["ns/w"])


def test_what_is_assumed_counts_until_it_is_resolved() -> None:
    watched, told = assuming()
    assert holds(watched)
    watched.resolve("ns/w")
    assert not holds(watched)
    assert told == [(False, True), (True, False)]


def test_a_state_that_the_watch_shows_meanwhile_does_not_end_the_assumption() -> None:
    watched, _ = assuming()
    watched.workloads.upsert(version(workload("w", "a", 4), 2), listed=False)
    assert holds(watched)
    watched.resolve("ns/w")
    assert watched.state.workloads["ns/w"].metadata.resource_version == "2"


def test_the_answer_to_the_write_counts() -> None:
    watched, _ = assuming()
    watched.workloads.upsert(version(workload("w", "a", 4), 2), listed=False)
    watched.workloads.apply(version(held(workload("w", "a", 3), 0), 3))
    watched.resolve("ns/w")
    assert holds(watched)
    watched.workloads.upsert(version(workload("w", "a", 4), 2), listed=False)  # the watch is behind
    assert holds(watched)


def test_a_workload_that_is_gone_is_assumed_no_longer() -> None:
    watched, told = assuming()
    watched.workloads.delete(ObjectMeta("w", "ns"))
    watched.resolve("ns/w")
    assert not watched.state.workloads
    assert told[-1] == (True, False)


def test_another_workload_of_the_name_ends_the_assumption() -> None:
    watched, _ = assuming()
    watched.workloads.upsert(version(workload("w", "a", 3, uid="other"), 5), listed=False)
    assert not holds(watched)
    watched.resolve_all()
    assert watched.state.workloads["ns/w"].metadata.uid == "other"


def test_what_was_never_readable_counts_as_far_as_its_admission_says() -> None:
    watched, told = WatchedQuota(unconnected()), list[tuple[bool, bool]]()
    watched.on_remains(lambda _, before, after: told.append((before is not None, after is not None)))
    queues, *_, workloads = watched.views
    queues.upsert(cluster_queue("a", cpu(4)), listed=True)

    def used() -> int:
        return watched.state.snapshot().ledger.usage(0, 0)

    broken = version(held(workload("w", "a", 3), 0), 1)
    broken.metadata.creation_timestamp = "yesterday"
    workloads.upsert(broken, listed=True)
    assert used() == 3000
    assert told == [(False, True)]
    raw = msgspec.json.encode(held(workload("w", "a", 2), 0))
    workloads.unreadable(version(broken, 2).metadata, ValueError("no shape"), listed=False, raw=raw)
    assert used() == 2000
    workloads.upsert(version(held(workload("w", "a", 1), 0), 3), listed=False)
    assert used() == 1000
    assert told[1:] == [(True, True), (True, False)]
    broken = version(broken, 4)
    workloads.upsert(broken, listed=False)
    assert used() == 1000, "the last readable state counts"
    assert not watched.state.remains
    other = msgspec.structs.replace(
        broken, metadata=msgspec.structs.replace(broken.metadata, uid="x", resource_version="5")
    )
    workloads.upsert(other, listed=False)
    assert used() == 3000, "another object has the name now"
    workloads.delete(version(other, 6).metadata)
    assert used() == 0
    assert told[3:] == [(False, True), (True, False)]

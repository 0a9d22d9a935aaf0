"""Which listeners hear of changes, and for how long."""

from __future__ import annotations

from api.kueue import ClusterQueue
from api.meta import ObjectMeta
from runtime.mirror.changes import Changes
from runtime.mirror.objects import Objects
from runtime.mirror.resources import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from tests.kit.quota.objects import cluster_queue, cpu, local_queue, workload
from tests.kit.views import unconnected


def test_listeners_are_told_until_they_stop_listening() -> None:
    views, changes = unconnected(), Changes()
    kept: Objects[ClusterQueue] = Objects()
    queues = views.watch(CLUSTER_QUEUES, kept)
    assert changes.follow(views, CLUSTER_QUEUES) is queues
    locals_ = changes.follow(views, LOCAL_QUEUES)
    told: list[tuple[str, str, int]] = []
    queues.upsert(cluster_queue("before", cpu(1)), listed=True)
    with changes.told(lambda kind, key: told.append((kind, key, len(kept)))):
        queues.upsert(cluster_queue("q", cpu(1)), listed=True)
        locals_.upsert(local_queue("l", "q"), listed=True)
        queues.delete(ObjectMeta("q"))
        changes.changed("Other", "x")
    queues.delete(ObjectMeta("before"))
    assert told == [
        ("ClusterQueue", "q", 2),
        ("LocalQueue", "ns/l", 2),
        ("ClusterQueue", "q", 1),
        ("Other", "x", 1),
    ]


def test_only_some_states_are_told_of() -> None:
    views, changes = unconnected(), Changes()
    view = changes.follow(views, WORKLOADS, only=lambda item: bool(item.spec.priority))
    told: list[str] = []
    with changes.told(lambda _kind, key: told.append(key)):
        view.upsert(workload("low", "l", 1), listed=True)
        view.upsert(workload("high", "l", 1, priority=1), listed=True)
        view.delete(ObjectMeta("low", "ns"))
    assert told == ["ns/high", "ns/low"]

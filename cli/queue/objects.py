"""What `reprieve queue` reads: the quota objects, and the labels of namespaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from answers.errors import InputError
from answers.reading.documents import Kind
from answers.reading.quota_objects import QuotaObjects
from api.core import Namespace
from api.kueue import LocalQueue
from quota.state.snapshot import Queue, QuotaSnapshot

__all__ = ["QueueObjects"]


class QueueObjects(QuotaObjects):
    """Every method raises InputError for an object that cannot be used."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        **QuotaObjects.kinds,
        ("v1", "Namespace"): Kind(Namespace, False),
    }

    def __init__(self) -> None:
        super().__init__()
        self.namespaces: dict[str, Mapping[str, str]] = {}
        """The labels of each."""

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        if isinstance(thing, Namespace):
            self.namespaces[thing.metadata.name] = thing.metadata.labels or {}
        else:
            super().keep(thing, place)

    def named(self, name: str, snapshot: QuotaSnapshot) -> tuple[Queue, LocalQueue | None]:
        """The ClusterQueue NAME, or that of the LocalQueue NAMESPACE/NAME, and that one."""
        local = self.state.local_queues.get(name) if "/" in name else None
        if "/" in name and local is None:
            raise InputError(f"there is no LocalQueue {name}")
        queue = snapshot.queues.get(name if local is None else local.spec.cluster_queue)
        if queue is None and local is not None:
            raise InputError(
                f"LocalQueue {name}: spec.clusterQueue: there is no ClusterQueue {local.spec.cluster_queue!r}"
            )
        if queue is None:
            raise InputError(f"there is no ClusterQueue {name} (a LocalQueue is NAMESPACE/NAME)")
        return queue, local

"""What `reprieve clusters` reads: the objects of a manager that are about worker clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from answers.clusters import AllClusters, clusters
from answers.reading.documents import Kind, Reader
from answers.worker_clusters import WorkerClusters
from api.checks import MultiKueueCluster, MultiKueueConfig
from api.dispatch import DispatchPlan
from api.groups import API_VERSION
from api.kueue import API_VERSION as QUOTA
from api.workloads import Workload

__all__ = ["ClusterObjects"]

CLUSTER = (QUOTA, "MultiKueueCluster")


class ClusterObjects(Reader):
    """Only the MultiKueueClusters are needed. Without the others, less is said of them."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        CLUSTER: Kind(MultiKueueCluster, False),
        (QUOTA, "MultiKueueConfig"): Kind(MultiKueueConfig, False),
        (QUOTA, "Workload"): Kind(Workload, True),
        (API_VERSION, "DispatchPlan"): Kind(DispatchPlan, True),
    }
    matter: ClassVar[str] = "worker clusters"

    def __init__(self) -> None:
        super().__init__()
        self._clusters: dict[str, MultiKueueCluster] = {}
        self._configs: dict[str, MultiKueueConfig] = {}
        self._workloads: list[Workload] = []
        self._turns: list[DispatchPlan] = []

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`."""
        match thing:
            case MultiKueueCluster():
                self._clusters[thing.metadata.name] = thing
            case MultiKueueConfig():
                self._configs[thing.metadata.name] = thing
            case Workload():
                self._workloads.append(thing)
            case DispatchPlan():
                self._turns.append(thing)
            case _:
                pass

    def do_without(self, kind: tuple[str, str], problem: str) -> bool:
        """See `Reader`."""
        if kind != CLUSTER:
            self.notes.append(f"Not read: {problem}")
        return kind != CLUSTER

    def answer(self, name: str | None) -> AllClusters:
        """What was read. Call it after the last object was read. Raises InputError if there is no such cluster."""
        known = WorkerClusters(self._clusters, self._turns)
        return clusters(known, self._configs, self._workloads, name)

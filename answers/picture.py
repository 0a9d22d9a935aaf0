"""What an answer is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from answers.errors import InputError
from answers.native_gangs import NativeSaid
from answers.worker_clusters import WorkerClusters
from api.kueue import API_VERSION as QUOTA_VERSION
from api.kueue import WorkloadPriorityClass
from nodes.answers.picture import NodesPicture
from quota.answers.picture import QuotaPicture

__all__ = ["JOB", "POD_GROUP", "WORKLOAD", "Picture"]

JOB: Final = ("batch/v1", "Job")
POD_GROUP: Final = ("reprieve.dev/v1alpha1", "PodGroup")
WORKLOAD: Final = (QUOTA_VERSION, "Workload")


@dataclass(frozen=True, slots=True)
class Picture:
    """A cluster at one moment. Nothing changes it."""

    moment: int
    """In microseconds since 1970."""
    quota: QuotaPicture
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The labels of namespaces."""
    workload_classes: Mapping[str, WorkloadPriorityClass] = field(default_factory=dict)
    """By name."""
    refused: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The right that is missing, by apiVersion and kind of what could not be read."""
    without_nodes: str = ""
    """Which rights are missing to ask about nodes; empty if none is."""
    without_quota: str = ""
    """Which rights are missing to ask about quota; empty if none is."""
    worker_clusters: WorkerClusters = field(default_factory=WorkerClusters)
    """What a manager of several clusters says of them."""
    native: NativeSaid = field(default_factory=NativeSaid)
    """What the leader says of gangs of kube-scheduler's own kind."""
    looked: NodesPicture | None = None
    """None if nodes could not be looked at: see `nodes`."""
    why_not: str = ""
    """Why `looked` is None."""

    @property
    def nodes(self) -> NodesPicture:
        """Nodes and pods. Not every answer needs them.

        Raises InputError if nothing can be said of them, such as for a pod whose PriorityClass does not exist.
        """
        if self.looked is None:
            raise InputError(self.why_not)
        return self.looked

"""What others listen to: each change in a worker cluster, and of a connection to one."""

from __future__ import annotations

from dataclasses import dataclass, field

from runtime.listeners import Listenable

__all__ = ["ClusterChanges", "Hooks", "KeyChanges"]


class KeyChanges(Listenable[[str, str]]):
    """Listeners get the name of a cluster and a key, `namespace/name`."""

    def changed(self, cluster: str, key: str) -> None:
        """Tell the listeners."""
        self._tell(cluster, key)


class ClusterChanges(Listenable[[str]]):
    """Listeners get the name of a cluster; it may be gone."""

    def changed(self, cluster: str) -> None:
        """Tell the listeners."""
        self._tell(cluster)


@dataclass(frozen=True, slots=True)
class Hooks:
    """All of them."""

    workloads: KeyChanges = field(default_factory=KeyChanges)
    """A copy, its cost, or a Job that uses it has changed, for the Workload of that key."""
    jobs: KeyChanges = field(default_factory=KeyChanges)
    """A Job of that key has changed."""
    clusters: ClusterChanges = field(default_factory=ClusterChanges)
    """A cluster came, went, or its reach or one of its properties has changed."""
    configs: ClusterChanges = field(default_factory=ClusterChanges)
    """Not of a cluster: the AdmissionCheck of that name has other clusters, or is gone."""

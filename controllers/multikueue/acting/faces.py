"""What this room needs of the connections to worker clusters (`controllers/multikueue/clusters`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from controllers.multikueue.life.seen import Copy, Cost, Reach, RemoteJob
from kube.client import ApiClient
from kube.sender import Sender

__all__ = ["ClusterHook", "Clusters", "Connection", "KeyHook"]

KeyHook = Callable[[str, str], None]
"""Called with a cluster and the key (`namespace/name`) of a Workload: a copy, Job or cost of it has changed there."""
ClusterHook = Callable[[str], None]
"""Called with a cluster: it is reached, or no longer, or honours gates, or a config has changed."""


class Connection(Protocol):
    """One MultiKueueCluster. What is asked of it is answered from what was seen last."""

    @property
    def name(self) -> str:
        """Of the MultiKueueCluster."""

    @property
    def client(self) -> ApiClient:
        """Raises ApiError (status 0) for a request while there is no connection."""

    @property
    def sender(self) -> Sender:
        """Fenced by the term."""

    @property
    def reach(self) -> Reach:
        """See `life.seen.Reach`."""

    @property
    def why(self) -> str:
        """Why it is not connected."""

    @property
    def honours_gates(self) -> bool:
        """Whether its quota controller honours preemption gates."""

    @property
    def is_prompt(self) -> bool:
        """Whether it has answered within a second lately."""

    def copy(self, key: str) -> Copy | None:
        """The copy with our origin of this key."""

    def job(self, key: str, job_name: str) -> RemoteJob | None:
        """The Job with our origin that uses the Workload of this key, or has this name in its namespace."""

    def cost(self, key: str) -> Cost | None:
        """What a preemption for the copy would cost."""

    def copies(self) -> Iterable[Copy]:
        """All of them."""

    def jobs(self) -> Iterable[RemoteJob]:
        """All of them."""

    def apply_copy(self, answer: bytes) -> None:
        """Take the answer to a write before the watch shows it."""

    def apply_job(self, answer: bytes) -> None:
        """Take the answer to a write before the watch shows it."""

    def deleted(self, thing: Copy | RemoteJob, answer: bytes) -> None:
        """Take the answer to a deletion: the object, which waits for finalizers, or a Status: it is gone."""


class Clusters(Protocol):
    """All MultiKueueClusters, in one term."""

    def get(self, name: str) -> Connection | None:
        """The connection of this MultiKueueCluster, if the object exists."""

    def __iter__(self) -> Iterator[Connection]:
        """All of them."""

    def config_of(self, check: str) -> tuple[str, ...] | None:
        """The clusters of the check's MultiKueueConfig, in its order; None if there is no such config."""

    def is_check(self, name: str) -> bool:
        """Whether an AdmissionCheck of this name is MultiKueue's."""

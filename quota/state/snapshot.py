"""The input of one decision: the tree, the holders of quota, and the objects that say what a workload may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from api.kueue import ClusterQueueSpec, LocalQueue, ResourceFlavor
from api.workloads import Workload
from native.quota._quota import Ledger
from quota.state.activity import Activity
from quota.state.amounts import QuotaError
from quota.state.surroundings import NO_SURROUNDINGS, Surroundings
from quota.state.tree import FlavorResource, Layout
from quota.state.workloads import local_queue_key, subject_of

__all__ = ["Group", "Holder", "Queue", "QuotaSnapshot"]


@dataclass(frozen=True, slots=True, eq=False)
class Holder:
    """A Workload that holds quota, as the search sees it."""

    key: str
    """`namespace/name`."""
    workload: Workload
    queue: str
    """The ClusterQueue whose quota it holds."""
    priority: int
    reserved: int
    """When it got its quota, in microseconds."""
    queued: int
    """Its queue timestamp, in microseconds."""
    order: int
    """A number; the numbers of two holders compare as their UIDs do."""
    evicting: bool
    usage: Mapping[FlavorResource, int]


@dataclass(frozen=True, slots=True)
class Group:
    """Resources that get the same flavor."""

    resources: tuple[str, ...]
    flavors: tuple[str, ...]
    """In the order in which they are tried."""


@dataclass(frozen=True, slots=True, eq=False)
class Queue:
    """A ClusterQueue, with what the search needs of it."""

    name: str
    node: int
    spec: ClusterQueueSpec
    group_of: Mapping[str, Group]
    """By resource."""
    min_admit: int | None
    """withinClusterQueueConfig.minAdmitDuration (KEP-8522) in microseconds."""
    activity: Activity
    dispatches: bool = False
    """Whether a manager sends its Workloads to other clusters (MultiKueue): their pods do not run here."""

    @property
    def inactive(self) -> str:
        """Why the ClusterQueue admits nothing; "" if it is active."""
        return self.activity.problem


@dataclass(frozen=True, slots=True, eq=False)
class QuotaSnapshot:
    """The state of all quotas at one time. Later events do not change it. Only one search at a time may use its
    ledger."""

    ledger: Ledger
    layout: Layout
    queues: Mapping[str, Queue]
    """By name."""
    flavors: Mapping[str, ResourceFlavor]
    """By name."""
    local_queues: Mapping[str, LocalQueue]
    """By `namespace/name`."""
    closed: tuple[int, ...]
    """Nodes of ClusterQueues that are not active. Usage there counts, but no workload there is preempted."""
    surroundings: Surroundings = NO_SURROUNDINGS

    def fr(self, flavor: str, resource: str) -> int | None:
        """The number of a flavor-resource; None if nobody has quota for it and nobody uses it."""
        return self.layout.frs.get((flavor, resource))

    def path(self, node: int) -> str:
        """From the root Cohort to the node, `/root/team/queue`."""
        return self.layout.path(node)

    def tree(self, node: int) -> str:
        """The name of the root Cohort above the node; the node's own name if there is none."""
        return self.layout.tree(node)

    def queue_of(self, workload: Workload) -> Queue:
        """The ClusterQueue that the workload waits for. Raises QuotaError if it has no LocalQueue, or that has no
        ClusterQueue."""
        name, subject = workload.spec.queue_name, subject_of(workload)
        if not name:
            raise QuotaError(subject, "spec.queueName", "is not set: it does not wait for quota")
        key = local_queue_key(workload)
        local = self.local_queues.get(key)
        if local is None:
            raise QuotaError(subject, "spec.queueName", f"there is no LocalQueue {key}")
        queue = self.queues.get(local.spec.cluster_queue)
        if queue is None:
            problem = f"there is no ClusterQueue {local.spec.cluster_queue!r}"
            raise QuotaError(f"LocalQueue {key}", "spec.clusterQueue", problem)
        return queue

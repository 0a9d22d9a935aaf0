"""Everything the quota search knows. Each event updates it in place.

The event of a workload changes the holders of its ClusterQueue and the usage above it. Quotas and cohorts change
rarely. After such a change the tree is laid out again, once, when a snapshot is next needed.

See docs/decisions/0012.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from api.durations import DurationError, parse_duration
from api.kueue import MIN_ADMIT_DURATION_ANNOTATION, ClusterQueue, Cohort, LocalQueue, ResourceFlavor
from api.selectors import check_selector
from api.workloads import Workload
from quota.amounts import QuotaError
from quota.holdings import Holdings, holder_of
from quota.snapshot import Group, Holder, Queue, QuotaSnapshot
from quota.tree import Layout, Member, lay_out, read_cluster_queue, read_cohort
from quota.workloads import key_of, queue_timestamp, requeue_at

__all__ = ["QuotaState", "Thing"]

Thing = ClusterQueue | Cohort | ResourceFlavor | LocalQueue | Workload

LEAST_MIN_ADMIT: Final = 60_000_000
"""One minute, in microseconds (KEP-8522, Webhook Validation)."""


class QuotaState:
    """The objects of the quota plane; `snapshot` copies them. Not safe for several threads."""

    def __init__(self) -> None:
        self._cluster_queues: dict[str, ClusterQueue] = {}
        self._cohorts: dict[str, Cohort] = {}
        self._flavors: dict[str, ResourceFlavor] = {}
        self._local_queues: dict[str, LocalQueue] = {}
        self._workloads: dict[str, Workload] = {}
        self._queue_members: dict[str, Member] = {}
        self._cohort_members: dict[str, Member] = {}
        self._min_admits: dict[str, int | None] = {}
        self._holders: dict[str, Holder] = {}
        self._holdings: Holdings | None = None
        """None: the layout is out of date."""
        self._queues: dict[str, Queue] | None = None
        self._lent: tuple[Mapping[str, ResourceFlavor], Mapping[str, LocalQueue]] | None = None
        """Copies that snapshots share. None: they are out of date."""
        self.structure = 0
        """Grows with each change of queues, cohorts and flavors, their status aside."""
        self.changes = 0
        """Grows with each change."""

    @property
    def cluster_queues(self) -> Mapping[str, ClusterQueue]:
        """Every ClusterQueue by name. This is a live view."""
        return MappingProxyType(self._cluster_queues)

    @property
    def local_queues(self) -> Mapping[str, LocalQueue]:
        """Every LocalQueue by `namespace/name`. This is a live view."""
        return MappingProxyType(self._local_queues)

    @property
    def queues(self) -> Mapping[str, Queue]:
        """Every ClusterQueue by name, with what the search needs of it."""
        return self._laid()[1]

    def path(self, queue: str) -> str:
        """From the root Cohort to the ClusterQueue of this name, `/root/team/queue`."""
        holdings, queues = self._laid()
        return holdings.layout.path(queues[queue].node)

    @property
    def workloads(self) -> Mapping[str, Workload]:
        """Every Workload by `namespace/name`. This is a live view."""
        return MappingProxyType(self._workloads)

    def strays(self) -> list[Holder]:
        """Workloads that hold quota of a ClusterQueue that does not exist. They count once the ClusterQueue comes."""
        return [holder for holder in self._holders.values() if holder.queue not in self._cluster_queues]

    def apply(self, thing: Thing) -> None:
        """Add an object, or replace the one with its name. Raises QuotaError, and then changes nothing."""
        match thing:
            case Workload():
                self._apply_workload(thing)
            case ClusterQueue():
                self._apply_cluster_queue(thing)
            case Cohort():
                self._apply_cohort(thing)
            case ResourceFlavor():
                self._apply_flavor(thing)
            case LocalQueue():
                self._apply_local_queue(thing)
        self.changes += 1

    def delete(self, kind: str, key: str) -> None:
        """Forget an object, if it is here. `kind` is such as ClusterQueue; `key` is its name or `namespace/name`."""
        self.changes += 1
        self.structure += kind != "Workload"
        match kind:
            case "Workload":
                self._workloads.pop(key, None)
                self._drop(key)
            case "ClusterQueue":
                self._cluster_queues.pop(key, None)
                self._queue_members.pop(key, None)
                self._holdings = None
            case "Cohort":
                self._cohorts.pop(key, None)
                self._cohort_members.pop(key, None)
                self._holdings = None
            case "ResourceFlavor":
                self._flavors.pop(key, None)
                self._queues = self._lent = None
            case "LocalQueue":
                self._local_queues.pop(key, None)
                self._lent = None
            case _:
                raise ValueError(f"no kind that matters for quota: {kind}")

    def snapshot(self) -> QuotaSnapshot:
        """The present state. Raises QuotaError if the usage is too much to be counted."""
        holdings, queues = self._laid()
        if self._lent is None:
            self._lent = dict(self._flavors), dict(self._local_queues)
        flavors, local_queues = self._lent
        return QuotaSnapshot(
            ledger=holdings.ledger.snapshot(),
            layout=holdings.layout,
            queues=queues,
            flavors=flavors,
            local_queues=local_queues,
            closed=tuple(queue.node for queue in queues.values() if queue.inactive),
        )

    # ---- workloads

    def _apply_workload(self, workload: Workload) -> None:
        # An invalid time is an error here, even of a workload that waits. So one such workload cannot stop a cycle.
        queue_timestamp(workload)
        requeue_at(workload)
        holder, key = holder_of(workload), key_of(workload)
        before = self._holders.get(key)
        self._drop(key)
        if holder is not None:
            try:
                self._hold(holder)
            except QuotaError:
                if before is not None:
                    self._hold(before)
                raise
        self._workloads[key] = workload

    def _hold(self, holder: Holder) -> None:
        holdings = self._holdings
        if holdings is not None and holder.queue in holdings.layout.queues and not holdings.admit(holder):
            self._holdings = None
        self._holders[holder.key] = holder

    def _drop(self, key: str) -> None:
        if self._holders.pop(key, None) is not None and self._holdings is not None:
            self._holdings.release(key)

    # ---- quotas

    def _apply_cluster_queue(self, queue: ClusterQueue) -> None:
        name, before = queue.metadata.name, self._cluster_queues.get(queue.metadata.name)
        member, min_admit = read_cluster_queue(queue), _min_admit(queue)
        _check_namespace_selector(queue)
        if member != self._queue_members.get(name):
            self._holdings = None
        if before is None or before.spec != queue.spec or min_admit != self._min_admits[name]:
            self._queues = None
            self.structure += 1
        self._cluster_queues[name] = queue
        self._queue_members[name] = member
        self._min_admits[name] = min_admit

    def _apply_cohort(self, cohort: Cohort) -> None:
        name, member = cohort.metadata.name, read_cohort(cohort)
        if member != self._cohort_members.get(name):
            self._holdings = None
            self.structure += 1
        self._cohorts[name] = cohort
        self._cohort_members[name] = member

    def _apply_flavor(self, flavor: ResourceFlavor) -> None:
        name = flavor.metadata.name
        before, self._flavors[name] = self._flavors.get(name), flavor
        if before is None or before.spec != flavor.spec:
            self._queues = self._lent = None
            self.structure += 1

    def _apply_local_queue(self, queue: LocalQueue) -> None:
        key = f"{queue.metadata.namespace}/{queue.metadata.name}"
        before, self._local_queues[key] = self._local_queues.get(key), queue
        if before is None or before.spec != queue.spec:
            self._lent = None
            self.structure += 1

    def _laid(self) -> tuple[Holdings, dict[str, Queue]]:
        """The holdings and the queues of the present layout. Raises QuotaError."""
        if self._holdings is None:
            self._holdings = self._laid_out()
            self._queues = None
        if self._queues is None:
            layout = self._holdings.layout
            self._queues = {name: self._queue(name, layout) for name in self._cluster_queues}
        return self._holdings, self._queues

    def _laid_out(self) -> Holdings:
        counted = [each for each in self._holders.values() if each.queue in self._cluster_queues]
        layout = lay_out(
            self._queue_members.values(),
            self._cohort_members.values(),
            {fr for holder in counted for fr in holder.usage},
        )
        return Holdings(layout, counted)

    def _queue(self, name: str, layout: Layout) -> Queue:
        spec = self._cluster_queues[name].spec
        groups = [
            Group(tuple(group.covered_resources), tuple(flavor.name for flavor in group.flavors))
            for group in spec.resource_groups or ()
        ]
        return Queue(
            name=name,
            node=layout.queues[name],
            spec=spec,
            group_of={resource: group for group in groups for resource in group.resources},
            min_admit=self._min_admits[name],
            inactive=self._inactive(name, layout),
        )

    def _inactive(self, name: str, layout: Layout) -> str:
        spec = self._cluster_queues[name].spec
        if name in layout.broken:
            return f"spec.cohortName: {layout.broken[name]}"
        if spec.stop_policy != "None":
            return f"spec.stopPolicy: is {spec.stop_policy}"
        for i, group in enumerate(spec.resource_groups or ()):
            for j, flavor in enumerate(group.flavors):
                if flavor.name not in self._flavors:
                    return f"spec.resourceGroups[{i}].flavors[{j}].name: there is no ResourceFlavor {flavor.name}"
        return ""


def _check_namespace_selector(queue: ClusterQueue) -> None:
    if queue.spec.namespace_selector is None:
        return
    try:
        check_selector(queue.spec.namespace_selector, "")
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        path = f"spec.namespaceSelector{field}"
        raise QuotaError(f"ClusterQueue {queue.metadata.name}", path, problem) from None


def _min_admit(queue: ClusterQueue) -> int | None:
    """KEP-8522's minAdmitDuration in microseconds; None if it is not set.

    It is also read from an annotation, because Kueue's own CRD drops the field.
    """
    config = queue.spec.preemption.within_cluster_queue_config
    if config is not None and config.min_admit_duration is not None:
        text, path = config.min_admit_duration, "spec.preemption.withinClusterQueueConfig.minAdmitDuration"
    elif MIN_ADMIT_DURATION_ANNOTATION in (queue.metadata.annotations or {}):
        text = (queue.metadata.annotations or {})[MIN_ADMIT_DURATION_ANNOTATION]
        path = f"metadata.annotations[{MIN_ADMIT_DURATION_ANNOTATION}]"
    else:
        return None
    subject = f"ClusterQueue {queue.metadata.name}"
    try:
        duration = parse_duration(text)
    except DurationError as error:
        raise QuotaError(subject, path, str(error)) from None
    if duration < LEAST_MIN_ADMIT:
        raise QuotaError(subject, path, f"must be at least 1m, not {text}")
    return duration

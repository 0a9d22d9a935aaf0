"""Everything the quota search knows. Each event updates it in place.

The event of a workload changes the holders of its ClusterQueue and the usage above it. Quotas and cohorts change
rarely. After such a change the tree is laid out again, once, when a snapshot is next needed.

See docs/decisions/0012.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeGuard

from api.checks import AdmissionCheck
from api.kueue import ClusterQueue, Cohort, LocalQueue, ResourceFlavor
from api.limits import LimitRange, RuntimeClass
from api.workloads import Workload
from quota.state.activity import cluster_queue_activity, controller_of, is_check_active, manager_checks
from quota.state.amounts import QuotaError
from quota.state.holdings import Holdings, holder_of
from quota.state.overlap import fits, without
from quota.state.queue_settings import check_namespace_selector, min_admit_of
from quota.state.remains import Remains
from quota.state.snapshot import Group, Holder, Queue, QuotaSnapshot
from quota.state.surroundings import KnownSurroundings, Surroundings
from quota.state.tree import FlavorResource, Layout, Member, Quota, lay_out, read_cluster_queue, read_cohort
from quota.state.workloads import key_of, queue_timestamp, requeue_at

__all__ = ["QuotaState", "Thing"]

Thing = (
    ClusterQueue
    | Cohort
    | ResourceFlavor
    | LocalQueue
    | AdmissionCheck
    | LimitRange
    | RuntimeClass
    | Workload
)


class QuotaState:
    """The objects of the quota plane; `snapshot` copies them. Not safe for several threads."""

    def __init__(self, *, partial: bool = False, deactivated_hold: bool = True) -> None:
        """`partial`: the objects come from files, which may leave out kinds. As long as there is no AdmissionCheck at
        all, every check that is named is taken as active. Topologies are taken as present.

        `deactivated_hold`: the quota of a deactivated Workload counts until it is given back. Kueue frees it at once.
        """
        self._partial, self._deactivated_hold = partial, deactivated_hold
        self._cluster_queues: dict[str, ClusterQueue] = {}
        self._cohorts: dict[str, Cohort] = {}
        self._flavors: dict[str, ResourceFlavor] = {}
        self._local_queues: dict[str, LocalQueue] = {}
        self._checks: dict[str, AdmissionCheck] = {}
        self._surroundings = KnownSurroundings(partial=partial)
        self._workloads: dict[str, Workload] = {}
        self._queue_members: dict[str, Member] = {}
        self._cohort_members: dict[str, Member] = {}
        self._min_admits: dict[str, int | None] = {}
        self._holders: dict[str, Holder] = {}
        self._remains: dict[str, Remains] = {}
        self._holdings: Holdings | None = None
        """None: the layout is out of date."""
        self._queues: dict[str, Queue] | None = None
        self._lent: tuple[Mapping[str, ResourceFlavor], Mapping[str, LocalQueue]] | None = None
        """Copies that snapshots share. None: they are out of date."""
        self.structure = 0
        """Grows with each change of queues, cohorts and flavors, their status aside."""

    def copied(self) -> QuotaState:
        """The same objects in a state of its own. Later events of one do not change the other."""
        other = QuotaState(partial=self._partial, deactivated_hold=self._deactivated_hold)
        other._cluster_queues = dict(self._cluster_queues)
        other._cohorts = dict(self._cohorts)
        other._flavors = dict(self._flavors)
        other._local_queues = dict(self._local_queues)
        other._checks = dict(self._checks)
        other._surroundings = self._surroundings.copied()
        other._workloads = dict(self._workloads)
        other._queue_members = dict(self._queue_members)
        other._cohort_members = dict(self._cohort_members)
        other._min_admits = dict(self._min_admits)
        other._holders = dict(self._holders)
        other._remains = dict(self._remains)
        other.structure = self.structure
        return other

    def path(self, queue: str) -> str:
        """From the root Cohort to the ClusterQueue of this name, `/root/team/queue`."""
        layout = self._current().layout
        return layout.path(layout.queues[queue])

    def tree(self, queue: str) -> str:
        """The name of the root Cohort above the ClusterQueue of this name; its own name if it has no Cohort."""
        layout = self._current().layout
        return layout.tree(layout.queues[queue])

    @property
    def workloads(self) -> Mapping[str, Workload]:
        """Every Workload by `namespace/name`. This is a live view."""
        return MappingProxyType(self._workloads)

    @property
    def cluster_queues(self) -> Mapping[str, ClusterQueue]:
        """Every ClusterQueue by name. This is a live view, as are the next ones."""
        return MappingProxyType(self._cluster_queues)

    @property
    def cohorts(self) -> Mapping[str, Cohort]:
        """Every Cohort by name."""
        return MappingProxyType(self._cohorts)

    @property
    def flavors(self) -> Mapping[str, ResourceFlavor]:
        """Every ResourceFlavor by name."""
        return MappingProxyType(self._flavors)

    @property
    def surroundings(self) -> Surroundings:
        """What the requests of a Workload depend on besides its templates."""
        return self._surroundings.now

    @property
    def local_queues(self) -> Mapping[str, LocalQueue]:
        """Every LocalQueue by `namespace/name`."""
        return MappingProxyType(self._local_queues)

    @property
    def checks(self) -> Mapping[str, AdmissionCheck]:
        """Every AdmissionCheck by name."""
        return MappingProxyType(self._checks)

    def quotas(self, cluster_queue: str) -> Mapping[FlavorResource, Quota]:
        """The quotas of a ClusterQueue. Raises KeyError."""
        return self._queue_members[cluster_queue].quotas

    @property
    def remains(self) -> Mapping[str, Remains]:
        """What is left of Workloads that cannot be read, by `namespace/name`. Their quota counts."""
        return MappingProxyType(self._remains)

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
            case AdmissionCheck():
                self._apply_check(thing)
            case LimitRange() | RuntimeClass():
                self.structure += self._surroundings.apply(thing)

    def keep(self, remains: Remains) -> None:
        """There is a Workload that cannot be read, and no state of it is known. It stays until it can be read
        (`apply`), or is deleted."""
        self._drop(remains.key)
        self._remains[remains.key] = remains
        holdings = self._holdings
        if holdings is not None and remains.cluster_queue in holdings.layout.queues:
            self._holdings = holdings if holdings.reserve(remains) else None

    def delete(self, kind: str, key: str) -> None:
        """Forget an object, if it is here. `kind` is such as ClusterQueue; `key` is its name or `namespace/name`."""
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
            case "AdmissionCheck":
                self._checks.pop(key, None)
                self._queues = None
            case "LimitRange" | "RuntimeClass":
                self._surroundings.delete(kind, key)
            case _:
                raise ValueError(f"no kind that matters for quota: {kind}")

    @property
    def queues(self) -> Mapping[str, Queue]:
        """Every ClusterQueue by name, as a snapshot has it. Raises QuotaError if the usage is too much to be
        counted."""
        holdings = self._current()
        if self._queues is None:
            self._queues = {name: self._queue(name, holdings.layout) for name in self._cluster_queues}
        return self._queues

    def weighted_share(self, name: str, *, cohort: bool = False) -> float:
        """The share of a ClusterQueue or Cohort in fair sharing, in thousandths; infinite if it borrows at weight 0.

        Raises KeyError if there is no such object, and QuotaError if the usage is too much to be counted.
        """
        holdings = self._current()
        nodes = holdings.layout.cohorts if cohort else holdings.layout.queues
        return holdings.ledger.share(nodes[name])[2]

    def above(self, cluster_queue: str) -> list[str]:
        """The Cohorts above a ClusterQueue, the next one first. Raises KeyError and QuotaError as `weighted_share`."""
        layout = self._current().layout
        names, node = [], int(layout.quotas.parent[layout.queues[cluster_queue]])
        while node >= 0:
            names.append(layout.names[node])
            node = int(layout.quotas.parent[node])
        return names

    def fits_beside_others(self, key: str) -> bool:
        """Whether the quota that a holder (`namespace/name`) has would be free for it if it had none."""
        holder, snapshot = self._holders.get(key), self.snapshot()
        queue = snapshot.queues.get(holder.queue) if holder is not None else None
        if holder is None or queue is None:
            return True
        counted = next(each for each in snapshot.ledger.holders(queue.node) if _is_holder(each, key))
        with without(snapshot, [counted]):
            return fits(snapshot, queue, holder.usage)

    def snapshot(self) -> QuotaSnapshot:
        """The present state. Raises QuotaError if the usage is too much to be counted."""
        holdings, queues = self._current(), self.queues
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
            surroundings=self._surroundings.now,
        )

    def _current(self) -> Holdings:
        if self._holdings is None:
            self._holdings = self._laid_out()
            self._queues = None
        return self._holdings

    # ---- workloads

    def _apply_workload(self, workload: Workload) -> None:
        # An invalid time is an error here, even of a workload that waits. So one such workload cannot stop a cycle.
        queue_timestamp(workload)
        requeue_at(workload)
        counts = self._deactivated_hold or workload.spec.active
        holder, key = holder_of(workload) if counts else None, key_of(workload)
        before, remains = self._holders.get(key), self._remains.get(key)
        self._drop(key)
        if holder is not None:
            try:
                self._hold(holder)
            except QuotaError:
                if before is not None:
                    self._hold(before)
                if remains is not None:
                    self.keep(remains)
                raise
        self._workloads[key] = workload

    def _hold(self, holder: Holder) -> None:
        holdings = self._holdings
        if holdings is not None and holder.queue in holdings.layout.queues and not holdings.admit(holder):
            self._holdings = None
        self._holders[holder.key] = holder

    def _drop(self, key: str) -> None:
        holdings, remains = self._holdings, self._remains.pop(key, None)
        if self._holders.pop(key, None) is not None and holdings is not None:
            holdings.release(key)
        if remains is not None and holdings is not None and remains.cluster_queue in holdings.layout.queues:
            holdings.unreserve(remains)

    # ---- quotas

    def _apply_cluster_queue(self, queue: ClusterQueue) -> None:
        name, before = queue.metadata.name, self._cluster_queues.get(queue.metadata.name)
        member, min_admit = read_cluster_queue(queue), min_admit_of(queue)
        check_namespace_selector(queue)
        if member != self._queue_members.get(name):
            self._holdings = None
        if (
            before is None
            or before.spec != queue.spec
            or before.metadata.deletion_timestamp != queue.metadata.deletion_timestamp
            or min_admit != self._min_admits[name]
        ):
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

    def _apply_check(self, check: AdmissionCheck) -> None:
        name, before = check.metadata.name, self._checks.get(check.metadata.name)
        same_activity = before is not None and is_check_active(before) == is_check_active(check)
        if not same_activity or controller_of(before) != controller_of(check):
            self._queues = None
            self.structure += 1
        self._checks[name] = check

    def _laid_out(self) -> Holdings:
        counted = [each for each in self._holders.values() if each.queue in self._cluster_queues]
        left = [each for each in self._remains.values() if each.cluster_queue in self._cluster_queues]
        used = {fr for holder in counted for fr in holder.usage} | {
            fr for each in left for fr in each.usage or ()
        }
        holdings = Holdings(
            lay_out(self._queue_members.values(), self._cohort_members.values(), used), counted
        )
        for each in left:
            holdings.reserve(each)
        return holdings

    def _queue(self, name: str, layout: Layout) -> Queue:
        queue = self._cluster_queues[name]
        spec = queue.spec
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
            activity=cluster_queue_activity(
                queue,
                self._flavors,
                None if self._partial and not self._checks else self._checks,
                layout.broken.get(name, ""),
                topologies=self._partial,
            ),
            dispatches=bool(manager_checks(spec, self._checks)),
        )


def _is_holder(thing: object, key: str) -> TypeGuard[Holder]:
    return isinstance(thing, Holder) and thing.key == key

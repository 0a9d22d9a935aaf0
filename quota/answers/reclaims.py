"""Who could take quota back from others: how much, by which rule, and whose quota it would be.

Nothing is guessed: the search is asked about a Workload that is supposed to want that much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from api.core import Container, PodSpec, ResourceRequirements, Toleration
from api.kueue import LocalQueue, LocalQueueSpec
from api.meta import ObjectMeta
from api.podsets import PodSet, PodTemplate
from api.requests import PODS
from api.workloads import PreemptionReason, Workload, WorkloadSpec
from native.quota.quotas import UNLIMITED
from quota.search.decision import Decision, Options, Target, decide
from quota.state.snapshot import Queue, QuotaSnapshot
from quota.state.surroundings import NO_SURROUNDINGS
from quota.state.tree import FlavorResource

__all__ = ["HIGHEST", "Reclaim", "could_take_back", "reclaims", "supposed"]

HIGHEST: Final = 2**31 - 1
"""The highest priority that there is."""
MOST: Final = 2**62 - 1
"""The most that a Workload may ask for."""
NAME: Final = "supposed"
POD_SET: Final = "main"


@dataclass(frozen=True, slots=True)
class Reclaim:
    """What a ClusterQueue could get for one Workload by preemption. Amounts are in canonical units."""

    queue: str
    flavor: str
    resource: str
    amount: int
    """The most that the Workload could get."""
    free: int
    """The part of it that is free already."""
    within_nominal: bool
    """Whether the ClusterQueue then holds no more than its nominal quota of it."""
    above: int | None
    """The Workload must have a higher priority than this; None if any priority does."""
    targets: tuple[Target, ...]
    """The victims, sorted by key. None of them is of the ClusterQueue itself."""

    @property
    def rules(self) -> tuple[PreemptionReason, ...]:
        """The rules by which they would be preempted."""
        return tuple(sorted({target.reason for target in self.targets}))


def reclaims(snapshot: QuotaSnapshot, now: int, options: Options, priority: int = HIGHEST) -> list[Reclaim]:
    """What each ClusterQueue could take back from others, by its name, then by flavor and resource."""
    return [
        each
        for name in sorted(snapshot.queues)
        for each in could_take_back(snapshot, snapshot.queues[name], now, options, priority)
    ]


def could_take_back(
    snapshot: QuotaSnapshot, queue: Queue, now: int, options: Options, priority: int = HIGHEST
) -> Iterator[Reclaim]:
    """What a ClusterQueue could take back from others for a Workload of this priority. `now` is in microseconds.

    Each flavor and resource is asked for alone. There are at most two answers: within its nominal quota, and the most
    that it could get at all. Nobody is asked about the number of pods, because the search does not count it.
    """
    if queue.inactive or queue.spec.preemption.reclaim_within_cohort == "Never":
        return
    for resource, group in sorted(queue.group_of.items()):
        for flavor in group.flavors if resource != PODS else ():
            if (flavor, resource) in snapshot.layout.frs:
                yield from _Asked(snapshot, queue, (flavor, resource), now, options, priority).answers()


def supposed(
    snapshot: QuotaSnapshot, queue: Queue, pair: FlavorResource, amount: int, priority: int
) -> tuple[QuotaSnapshot, Workload]:
    """A Workload of the ClusterQueue that wants `amount` of one flavor and resource, and the world in which it is
    tried. In that world, the ClusterQueue preempts none of its own Workloads."""
    flavor, resource = pair
    group = replace(queue.group_of[resource], flavors=(flavor,))
    preemption = msgspec.structs.replace(queue.spec.preemption, within_cluster_queue="Never")
    alone = replace(
        queue, spec=msgspec.structs.replace(queue.spec, preemption=preemption), group_of={resource: group}
    )
    local = LocalQueue(metadata=ObjectMeta(name=NAME), spec=LocalQueueSpec(cluster_queue=queue.name))
    world = replace(
        snapshot,
        queues={**snapshot.queues, queue.name: alone},
        local_queues={f"/{NAME}": local},
        surroundings=NO_SURROUNDINGS,
    )
    return world, _workload(resource, amount, priority)


def _workload(resource: str, amount: int, priority: int) -> Workload:
    quantity = f"{amount}m" if resource == "cpu" else str(amount)
    container = Container("main", ResourceRequirements(requests={resource: quantity}))
    pod = PodSpec(containers=[container], tolerations=[Toleration(operator="Exists")])
    return Workload(
        metadata=ObjectMeta(name=NAME),
        spec=WorkloadSpec(
            pod_sets=[PodSet(PodTemplate(spec=pod), name=POD_SET, count=1)],
            queue_name=NAME,
            priority=priority,
        ),
    )


class _Asked:
    """Questions about one flavor and resource of one ClusterQueue."""

    def __init__(
        self,
        snapshot: QuotaSnapshot,
        queue: Queue,
        pair: FlavorResource,
        now: int,
        options: Options,
        priority: int,
    ) -> None:
        self.snapshot = snapshot
        self.queue = queue
        self.pair = pair
        self.now = now
        self.options = options
        self.priority = priority
        fr, node, ledger = snapshot.layout.frs[pair], queue.node, snapshot.ledger
        self.free = ledger.available(node, fr)
        self.nominal = _left(int(snapshot.layout.quotas.nominal[node, fr]), ledger.usage(node, fr))
        self.all = _left(ledger.potential(node, fr), ledger.usage(node, fr))

    def answers(self) -> Iterator[Reclaim]:
        """Within the nominal quota, and beyond it."""
        first = self._most(self.free, self.nominal)
        if first is not None:
            yield self._reclaim(*first, within=True)
        # Who could not have all of its own quota may still get more than that: but not by the same rules.
        beyond = self._most(max(self.free, self.nominal), self.all)
        if beyond is not None:
            yield self._reclaim(*beyond, within=False)

    def _most(self, low: int, high: int) -> tuple[int, Decision] | None:
        """The largest amount above `low`, up to `high`, that preemption makes free; None if there is none."""
        best = None
        if high <= low:
            return None
        for amount in (high, low + 1):
            decision = self._ask(amount)
            if decision.targets:
                best = amount, decision
                break
        if best is None or best[0] == high:
            return best
        while high - best[0] > 1:
            middle = (best[0] + high) // 2
            decision = self._ask(middle)
            if decision.targets:
                best = middle, decision
            else:
                high = middle
        return best

    def _ask(self, amount: int) -> Decision:
        world, workload = supposed(self.snapshot, self.queue, self.pair, amount, self.priority)
        return decide(world, workload, self.now, self.options)

    def _reclaim(self, amount: int, decision: Decision, *, within: bool) -> Reclaim:
        return Reclaim(
            self.queue.name,
            *self.pair,
            amount=amount,
            free=self.free,
            within_nominal=within,
            above=self._above(decision),
            targets=decision.targets,
        )

    def _above(self, decision: Decision) -> int | None:
        reclaim = self.queue.spec.preemption.reclaim_within_cohort
        bound: Mapping[str, bool] = {"InCohortReclaimWhileBorrowing": True}
        priorities = [
            target.holder.priority
            for target in decision.targets
            if reclaim == "LowerPriority" or bound.get(target.reason)
        ]
        return max(priorities, default=None)


def _left(quota: int, used: int) -> int:
    return min(MOST, quota if quota >= UNLIMITED else max(0, quota - used))

"""The last look before an eviction: whether the newest state still needs it.

A plan is older than its writes. Others have finished meanwhile, and so have victims. What is free by now, and what the
victims of active plans that are on their way out will free, may be enough.

All promises to others that the preemptor respects are kept, in full. So two plans never count on the same room.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from api.plan_names import PlanKey
from api.workloads import EVICTED, PREEMPTED, Workload
from controllers.quota.life.planned import Planned
from quota.state.amounts import QuotaError
from quota.state.overlap import Usage, fits, numbered
from quota.state.snapshot import QuotaSnapshot
from quota.state.state import QuotaState
from quota.state.workloads import holds_quota, key_of, true_condition, usage

__all__ = ["Need", "Spared"]

Pair = tuple[str, str]
"""Flavor and resource."""


class Need:
    """Answers from the state as it will be once all that is being written is written. A look costs the same, however
    many victims there are."""

    def __init__(self, state: QuotaState) -> None:
        self._state = state
        self._going: defaultdict[str, Counter[Pair]] = defaultdict(Counter)
        """By ClusterQueue: what victims that are preempted will give back."""
        self._plans: Counter[str] = Counter()
        """By victim (key): how many plans name it."""

    def begins(self, plan: Planned) -> None:
        """The plan is carried out from now on."""
        for victim in plan.victims.values():
            self._plans[victim.key] += 1
            if self._plans[victim.key] == 1:
                self._count(self._state.workloads.get(victim.key), 1)

    def ends(self, plan: Planned) -> None:
        """The plan is forgotten."""
        for victim in plan.victims.values():
            self._plans[victim.key] -= 1
            if not self._plans[victim.key]:
                del self._plans[victim.key]
                self._count(self._state.workloads.get(victim.key), -1)

    def workload_changed(self, key: str, before: Workload | None, after: Workload | None) -> None:
        """The Workload came, changed or went, or is assumed to be so."""
        if key in self._plans:
            self._count(before, -1)
            self._count(after, 1)

    def fits_now(self, plan: Planned, others: Iterable[Planned]) -> bool:
        """Whether the quota of the preemptor is free at this moment. `others`: the plans whose promises it respects."""
        return self._fits(plan, others, {})

    def is_needed(self, plan: Planned, victim: Workload, others: Iterable[Planned]) -> bool:
        """Whether the quota of the preemptor will not be free unless the victim goes. `others`: see `fits_now`."""
        going = {queue: Counter(used) for queue, used in self._going.items()}
        for queue, used in _gives_back(self._state.workloads.get(key_of(victim))):
            going[queue].subtract(used)
        return not self._fits(plan, others, going)

    def _fits(self, plan: Planned, others: Iterable[Planned], going: dict[str, Counter[Pair]]) -> bool:
        try:
            snapshot = self._state.snapshot()
        except QuotaError:
            return False
        queue = snapshot.queues.get(plan.queue)
        if queue is None or queue.inactive or not _has(snapshot, plan.usage):
            return False
        for name, used in going.items():
            if name in snapshot.queues and _has(snapshot, used):
                snapshot.ledger.unreserve(snapshot.queues[name].node, *numbered(snapshot, used))
        for each in others:
            if each.queue in snapshot.queues and _has(snapshot, each.usage):
                snapshot.ledger.reserve(snapshot.queues[each.queue].node, *numbered(snapshot, each.usage))
        return fits(snapshot, queue, plan.usage)

    def _count(self, workload: Workload | None, times: int) -> None:
        for queue, used in _gives_back(workload):
            going = self._going[queue]
            for pair, amount in used.items():
                going[pair] += times * amount
            if not any(going.values()):
                del self._going[queue]


class Spared:
    """The victims that a plan did not need when they were looked at."""

    def __init__(self, need: Need, look: Callable[[str], None]) -> None:
        """`look`: have a Workload (key) looked at."""
        self._need, self._look_at = need, look
        self._victims: dict[PlanKey, dict[str, Workload]] = {}

    def add(self, plan: Planned, victim: Workload) -> None:
        """The plan does not need that victim now."""
        self._victims.setdefault(plan.key, {})[key_of(victim)] = victim

    def look_again(self, plan: Planned, others: Iterable[Planned]) -> None:
        """Have all of them looked at, if one of them is needed by now. `others`: see `Need.fits_now`."""
        spared = self._victims.get(plan.key, {})
        if any(self._need.is_needed(plan, each, others) for each in spared.values()):
            del self._victims[plan.key]
            for key in spared:
                self._look_at(key)

    def forget(self, plan: Planned) -> None:
        """The plan is over."""
        self._victims.pop(plan.key, None)


def _gives_back(workload: Workload | None) -> Iterable[tuple[str, Usage]]:
    """The ClusterQueue of a preempted Workload, and what it will give back; nothing for any other one."""
    evicted = true_condition(workload, EVICTED) if workload is not None else None
    if workload is None or evicted is None or evicted.reason != PREEMPTED or not holds_quota(workload):
        return
    try:
        used = usage(workload)
    except QuotaError:
        return
    if workload.status.admission is not None:
        yield workload.status.admission.cluster_queue, used


def _has(snapshot: QuotaSnapshot, used: Usage) -> bool:
    """Whether there is a number for each flavor and resource."""
    return all(pair in snapshot.layout.frs for pair in used)

"""Which pods of a plan the API server is asked about, by a dry run, before one of them is evicted.

All that a webhook or an admission policy may refuse, and one of each sort of the others. See docs/decisions/0150.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from api.plan_names import PlanKey
from api.plans import Victim, VictimPod
from controllers.gangs.lifecycle.life import ActivePlan
from controllers.gangs.metrics import DRY_RUNS_SKIPPED
from controllers.gangs.mirror.eviction_requests import EvictionRequests, Sort
from kube.breath import Breath

__all__ = ["Chosen", "Due", "Pods", "Rehearsals"]

Pods = Sequence[tuple[Victim, VictimPod]]


@dataclass(slots=True)
class Chosen:
    """The pods of a plan, before its first eviction."""

    changes: int
    """`EvictionRequests.changes` when they were chosen."""
    asked: list[tuple[Victim, VictimPod]] = field(default_factory=list)
    """The API server is asked about these, one of each sort included."""
    skipped: dict[Sort, list[tuple[Victim, VictimPod]]] = field(default_factory=lambda: defaultdict(list))
    """It is not asked about these."""
    samples: dict[str, Sort] = field(default_factory=dict)
    """Pods (UIDs) that stand for all of their sort."""

    def alike(self, refused: Container[str]) -> Pods:
        """The API server is asked about these, too, once it has refused these pods (UIDs)."""
        sorts = [sort for uid, sort in self.samples.items() if uid in refused]
        return [pod for sort in sorts for pod in self.skipped.pop(sort, ())]

    @property
    def left_out(self) -> int:
        """The number of pods that it is not asked about."""
        return sum(map(len, self.skipped.values()))


class Due(NamedTuple):
    """What the API server has to be asked about before another unit begins."""

    changes: int
    pods: Pods


@dataclass(slots=True)
class _Asked:
    changes: int
    """What was asked counts as long as this is `EvictionRequests.changes`."""
    pods: set[str]
    """UIDs."""
    left_out: int = 0


class Rehearsals:
    """What the API server was asked about for each plan of this term."""

    def __init__(self, requests: EvictionRequests) -> None:
        self._requests = requests
        self._asked: dict[PlanKey, _Asked] = {}

    async def choose(self, plan: ActivePlan, remains: Callable[[VictimPod], bool]) -> Chosen:
        """`remains`: whether the pod is still to be evicted."""
        chosen, breath = Chosen(self._requests.changes), Breath()
        seen = set[Sort]()
        for victim in plan.spec.victims:
            for pod in victim.pods:
                if remains(pod):
                    self._place(chosen, seen, plan, (victim, pod))
                if breath.is_due:
                    await breath.take()
        return chosen

    def _place(
        self, chosen: Chosen, seen: set[Sort], plan: ActivePlan, pod: tuple[Victim, VictimPod]
    ) -> None:
        uid = pod[1].uid
        sort = self._requests.sort(uid)
        if sort is None or self._may_be_refused(plan, uid):
            chosen.asked.append(pod)
        elif sort in seen:
            chosen.skipped[sort].append(pod)
        else:
            seen.add(sort)
            chosen.samples[uid] = sort
            chosen.asked.append(pod)

    def rehearsed(self, plan: ActivePlan, chosen: Chosen, more: Pods) -> None:
        """The API server has answered about all that was chosen, and about `more`."""
        asked = {pod.uid for _, pod in [*chosen.asked, *more]}
        self._asked[_key(plan)] = _Asked(chosen.changes, asked, chosen.left_out)
        DRY_RUNS_SKIPPED.inc(chosen.left_out)

    def left_out(self, plan: ActivePlan) -> int:
        """How many pods of the plan the API server was not asked about when it was rehearsed."""
        asked = self._asked.get(_key(plan))
        return asked.left_out if asked is not None else 0

    async def due(self, plan: ActivePlan, unit: Victim, begun: Set[str]) -> Due:
        """What has to be asked before the unit begins. `begun`: units (UIDs) that have begun.

        When a webhook or a policy has come or changed, it is asked about all units that have not begun. Otherwise only
        about pods of this one that could not be refused when the plan was rehearsed. Their labels have changed.
        """
        changes, asked = self._requests.changes, self._asked.get(_key(plan))
        if asked is None and not self._requests.is_known:  # a former process or term has rehearsed it
            asked = self._asked[_key(plan)] = _Asked(changes, set(plan.victims))
        if asked is not None and asked.changes == changes:
            return Due(changes, await self._refusable(plan, [unit], asked.pods))
        units = [victim for victim in plan.spec.victims if victim.uid not in begun]
        return Due(changes, await self._refusable(plan, units, ()))

    async def _refusable(self, plan: ActivePlan, units: Iterable[Victim], but: Container[str]) -> Pods:
        found, breath = list[tuple[Victim, VictimPod]](), Breath()
        for victim in units:
            for pod in victim.pods:
                if pod.uid not in but and self._may_be_refused(plan, pod.uid):
                    found.append((victim, pod))
                if breath.is_due:
                    await breath.take()
        return found

    def answered(self, plan: ActivePlan, due: Due) -> None:
        """The API server has allowed all that was due."""
        asked = self._asked.setdefault(_key(plan), _Asked(due.changes, set()))
        asked.changes = due.changes
        asked.pods.update(pod.uid for _, pod in due.pods)

    def forget(self, plan: ActivePlan) -> None:
        """The plan has ended."""
        self._asked.pop(_key(plan), None)

    def _may_be_refused(self, plan: ActivePlan, uid: str) -> bool:
        return self._requests.may_be_refused(uid, by_eviction=plan.respects_budgets)


def _key(plan: ActivePlan) -> PlanKey:
    return plan.namespace, plan.name

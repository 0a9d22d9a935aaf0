"""The lives of plans: by plan, by Workload, and by preemptor."""

from __future__ import annotations

from typing import NamedTuple

from api.plan_names import PlanKey
from controllers.quota.life.plan_life import Life
from controllers.quota.life.planned import FormerVictims, Planned
from quota.search.decision import Options

__all__ = ["Lives", "PlanRules"]


class PlanRules(NamedTuple):
    """What holds for all plans."""

    options: Options
    deadline: int
    """A plan ends after this time, in microseconds."""


class Lives(dict[PlanKey, Life]):
    """Plans that are not forgotten. Use `add` and `remove` for whole plans; their lives change in place."""

    def __init__(self) -> None:
        super().__init__()
        self.former = FormerVictims()
        self._by_workload: dict[str, set[PlanKey]] = {}
        """The plans that a Workload (key) is preemptor or victim of."""
        self._current: dict[str, PlanKey] = {}
        """The plan that counts of each preemptor (key)."""

    def add(self, life: Life) -> None:
        """A plan that counts for its preemptor, unless another one is active."""
        plan = life.plan
        self[plan.key] = life
        if self.active(plan.preemptor) is None:
            self._current[plan.preemptor] = plan.key
        for each in _concerned(plan):
            self._by_workload.setdefault(each, set()).add(plan.key)

    def remove(self, plan: Planned) -> Life:
        """Forget the plan. Returns its life."""
        life = self.pop(plan.key)
        if self._current.get(plan.preemptor) == plan.key:
            del self._current[plan.preemptor]
        for each in _concerned(plan):
            keys = self._by_workload[each]
            keys.discard(plan.key)
            if not keys:
                del self._by_workload[each]
        return life

    def counts(self, plan: Planned) -> None:
        """From now on this plan counts for its preemptor, if it is not forgotten."""
        if plan.key in self:
            self._current[plan.preemptor] = plan.key

    def current(self, preemptor: str) -> Life | None:
        """The life of the plan that counts for the preemptor (key)."""
        key = self._current.get(preemptor)
        return self[key] if key is not None else None

    def active(self, preemptor: str) -> Life | None:
        """The same if its quota is promised."""
        life = self.current(preemptor)
        return life if life is not None and life.is_active else None

    def promised(self) -> list[str]:
        """The keys of the preemptors to whom quota is promised."""
        return [key for key in self._current if self.active(key) is not None]

    def of(self, workload: str) -> list[PlanKey]:
        """The plans that the Workload (key) is preemptor or victim of."""
        return list(self._by_workload.get(workload, ()))

    def respected(self, plan: Planned) -> list[Planned]:
        """The plans whose promises the preemptor leaves alone: see `quota.cycle.promises.Promises.respects`."""
        key = plan.preemptor
        active = [self[self._current[each]].plan for each in self.promised() if each != key]
        is_victim = any(self[each].plan.preemptor != key for each in self.of(key))
        if is_victim or any(self.former.has(each.preemptor, key) for each in active):
            return active
        return [each for each in active if each.priority >= plan.priority]


def _concerned(plan: Planned) -> set[str]:
    """Keys of Workloads. The name of a victim that is gone may be unknown."""
    return {plan.preemptor, *(victim.key for victim in plan.victims.values())} - {""}

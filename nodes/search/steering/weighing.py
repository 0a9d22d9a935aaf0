"""What victims that the search has not chosen would cost by its score, and the plan with them."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import msgspec
import numpy as np

from api import plans
from api.words import counted
from native.codes import PREEMPTS
from native.nodes.problem import SCORE_COLUMNS
from nodes.search.cluster import Cluster, lay_out
from nodes.search.comparison import score_of
from nodes.search.counted import counting
from nodes.search.preemptors.preemptor import Preemptor
from nodes.search.problem import Built, build
from nodes.search.victims import victims_of, violations_of
from nodes.state.snapshot import Snapshot

__all__ = ["Weighing"]

PRIORITY_BASE: Final = 2**31
"""Added to each priority in the sum of them, as in the search."""
HIGHEST: Final = SCORE_COLUMNS.index("highest")
NOBODY: Final = [0] * len(SCORE_COLUMNS)


class Weighing:
    """Sets of pods as victims of one preemptor in one snapshot."""

    def __init__(self, snapshot: Snapshot, preemptor: Preemptor) -> None:
        self._snapshot, self._preemptor = counting(snapshot, preemptor.budgets), preemptor

    @cached_property
    def _built(self) -> Built:
        return build(self._cluster, strict=False)

    @cached_property
    def _cluster(self) -> Cluster:
        return Cluster(self._snapshot, self._preemptor, lay_out(self._snapshot, self._preemptor))

    def may_evict(self, pods: frozenset[int]) -> bool:
        """Whether these are whole units that the preemptor may evict."""
        units = self._units(pods)
        return {pod for unit in units for pod in self._built.units.members(unit)} == pods

    def cost(self, pods: frozenset[int]) -> list[int]:
        """Whether anybody is evicted, then `SCORE_COLUMNS` and the optional terms. Less is better."""
        units, chosen = self._built.units, self._units(pods)
        terms = units.terms[:, chosen].sum(axis=1).tolist()
        if not chosen:
            return [0, *NOBODY, *terms]
        priorities = units.priority[chosen]
        highest = priorities.max()
        return [
            1,
            violations_of(self._built, chosen),
            int(highest),
            int(priorities.sum()) + PRIORITY_BASE * len(chosen),
            len(chosen),
            int(units.size[chosen].sum()),
            -int(units.start[chosen][priorities == highest].min()),
            *terms,
        ]

    def with_victims(self, spec: plans.PreemptionPlanSpec, pods: frozenset[int]) -> plans.PreemptionPlanSpec:
        """The plan with these victims, which are some, and cost no more than its own."""
        built, chosen = self._built, self._units(pods)
        _, *score = self.cost(pods)
        score[len(SCORE_COLUMNS) :] = (
            score[len(SCORE_COLUMNS) :] + built.problem.domain_terms[:, 0]
        ).tolist()
        victims, evicted = counted(len(chosen), "victim"), counted(len(pods), "pod")
        return msgspec.structs.replace(
            spec,
            reason=f"it fits with {victims} ({evicted}) gone",
            priority_cutoff=score[HIGHEST],
            victims=victims_of(self._snapshot, built, chosen),
            pod_disruption_budget_violations=violations_of(built, chosen),
            domains=[
                msgspec.structs.replace(each, score=score_of(self._cluster, PREEMPTS, score))
                if each.outcome == "Preempts"
                else each
                for each in spec.domains
            ],
        )

    def _units(self, pods: frozenset[int]) -> list[int]:
        """The units of these pods, most important first."""
        units: list[int] = self._built.units.of_pods(np.array(sorted(pods), np.intp).tolist()).tolist()
        return units

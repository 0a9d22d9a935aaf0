"""What the configuration says of the cost of evictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from api.disruption import BUDGET_POLICIES, COST_MOST, BudgetPolicy, DaemonSetPods, ScoreTerm, budget_policy
from api.groups import PodGroup

__all__ = ["CostRules"]


@dataclass(frozen=True, slots=True)
class CostRules:
    """The optional terms of the score (`nodes.search.costs`), what bounds them, how far budgets count, and who
    stays whatever it costs."""

    terms: tuple[ScoreTerm, ...] = ("DisruptionCost",)
    """Those that count, after the score's own columns, the most important one first."""
    most: int = COST_MOST
    """A disruption cost above this counts as this."""
    most_in: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """The same for the pods of single namespaces."""

    budgets: BudgetPolicy = "Prefer"
    """For preemptors that say nothing else."""
    daemon_set_pods: DaemonSetPods = "Keep"
    """Whether pods of DaemonSets may be evicted."""
    looser_in: frozenset[str] = frozenset()
    """Namespaces whose PodGroups may ask for a looser policy than that. A stricter one may be asked for everywhere."""

    def budget_policy(self, namespace: str, group: PodGroup | None) -> BudgetPolicy:
        """What counts for a preemptor of the namespace. `group`: the one that it is, or that it belongs to."""
        said = budget_policy(group.metadata.annotations) if group is not None else None
        if said is None or namespace in self.looser_in:
            return said or self.budgets
        return max(said, self.budgets, key=BUDGET_POLICIES.index)

    def most_of(self, namespace: str) -> int:
        """The highest disruption cost that counts in the namespace."""
        return self.most_in.get(namespace, self.most)

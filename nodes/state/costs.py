"""What the configuration says of the cost of evictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from api.disruption import COST_MOST, ScoreTerm

__all__ = ["CostRules"]


@dataclass(frozen=True, slots=True)
class CostRules:
    """The optional terms of the score (`nodes.search.costs`), and what bounds them."""

    terms: tuple[ScoreTerm, ...] = ("DisruptionCost",)
    """Those that count, after the score's own columns, the most important one first."""
    most: int = COST_MOST
    """A disruption cost above this counts as this."""
    most_in: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """The same for the pods of single namespaces."""

    def most_of(self, namespace: str) -> int:
        """The highest disruption cost that counts in the namespace."""
        return self.most_in.get(namespace, self.most)

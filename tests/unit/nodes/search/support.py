"""What the tests of decisions share: one gang, and what is decided for it."""

from __future__ import annotations

from typing import Any, Final

from api.plans import PreemptionPlanSpec
from nodes.search.decision import decide_group
from nodes.state.costs import CostRules
from tests.kit.objects import tables

__all__ = ["NS", "decide", "names"]

NS: Final = "default"


def decide(*objects: Any, costs: CostRules | None = None, **how: Any) -> PreemptionPlanSpec:
    """The plan for the group `gang` in a cluster of these objects; `how` are options of `decide_group`."""
    return decide_group(tables(*objects, costs=costs).snapshot(), NS, "gang", **how)


def names(plan: PreemptionPlanSpec) -> list[str]:
    """Names of the victims, in the plan's order."""
    return [victim.name for victim in plan.victims]

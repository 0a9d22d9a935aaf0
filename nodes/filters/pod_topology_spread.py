"""PodTopologySpread: not modelled. Constraints with ScheduleAnyway refuse no node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from api.core import Pod
from nodes.filters.filter import Filter

__all__ = ["PodTopologySpread"]


class PodTopologySpread(Filter[Any]):
    """Names hard constraints (DoNotSchedule)."""

    name: ClassVar[str] = "PodTopologySpread"

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name the topology spread of a pod that has a constraint with DoNotSchedule."""
        constraints = pod.spec.topology_spread_constraints or ()
        hard = any(each.when_unsatisfiable == "DoNotSchedule" for each in constraints)
        return ("topology spread (DoNotSchedule)",) if hard else ()

"""Reads stored plans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from answers.reading.documents import Kind, Reader
from api.compression import expand
from api.groups import API_VERSION
from api.plan_names import whole_plan_name
from api.plans import ClusterPreemptionPlan, PreemptionPlan, PreemptionPlanSpec

__all__ = ["Plans", "with_whole_names"]


class Plans(Reader):
    """PreemptionPlans, and those that name what they withhold."""

    kinds: ClassVar[Mapping[tuple[str, str], Kind]] = {
        (API_VERSION, "PreemptionPlan"): Kind(PreemptionPlan, True),
        (API_VERSION, "ClusterPreemptionPlan"): Kind(ClusterPreemptionPlan, False),
    }
    matter: ClassVar[str] = "evictions"

    def __init__(self) -> None:
        super().__init__()
        self._plans: list[PreemptionPlan] = []
        self._whole: dict[str, PreemptionPlanSpec] = {}

    def keep(self, thing: Any, place: str) -> None:
        """See `Reader`. Raises ValueError for damaged compressed victims."""
        thing.spec = expand(thing.spec)
        if isinstance(thing, ClusterPreemptionPlan):
            self._whole[thing.metadata.name] = thing.spec
        else:
            self._plans.append(thing)

    def plans(self) -> Sequence[PreemptionPlan]:
        """With the names that their namespaces may not read, if they were read. Call it after the last object was
        read."""
        return with_whole_names(self._plans, self._whole)


def with_whole_names(
    plans: Sequence[PreemptionPlan], whole: Mapping[str, PreemptionPlanSpec]
) -> Sequence[PreemptionPlan]:
    """The plans, with the names that their namespaces may not read. `whole`: by the name of ClusterPreemptionPlans."""
    for plan in plans:
        name = whole_plan_name(plan.metadata.namespace, plan.metadata.name)
        plan.spec = whole.get(name, plan.spec)
    return plans

"""ClusterPreemptionPlans: whole decisions, beside the PreemptionPlans that withhold names of other namespaces.

No process resumes work from these objects. They are written before anything is done, and deleted after their
PreemptionPlan.

See docs/decisions/0037.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

import structlog

from api.clock import Clock
from api.meta import ObjectMeta
from api.plan_names import PlanKey, whole_plan_name
from api.plans import ClusterPreemptionPlan, PreemptionPlanSpec
from kube.errors import ApiError
from runtime.plans.plan_writer import PlanWriter

__all__ = ["SWEEP_SECONDS", "WholePlans"]

log = structlog.get_logger(__name__)

SWEEP_SECONDS: Final = 3600.0
"""How often objects without a plan are looked for. They are listed whole, so it is not done often."""
NEW_SECONDS: Final = 600.0
"""An object that was written so lately may not have its plan yet."""


class WholePlans:
    """Writes them, and deletes those whose plan has gone, in whatever way it went."""

    def __init__(
        self, writer: PlanWriter, known: Callable[[], Iterable[PlanKey]], clock: Clock, *, selector: str
    ) -> None:
        """`selector`: the labels of those that are swept here. `known`: all plans that may have one of those."""
        self._writer, self._known, self._clock, self._selector = writer, known, clock, selector
        self._written: dict[str, float] = {}
        """When this process wrote it, in monotonic seconds, by name."""
        self._swept = float("-inf")
        self._alone = asyncio.Lock()
        """The same decision may be made again while its former object is being deleted."""

    async def write(self, key: PlanKey, spec: PreemptionPlanSpec, labels: dict[str, str] | None) -> None:
        """Store the whole decision of the plan. One that is stored already is no error. Raises ApiError."""
        name = whole_plan_name(*key)
        async with self._alone:
            self._written[name] = self._clock.monotonic()
            try:
                plan = ClusterPreemptionPlan(metadata=ObjectMeta(name=name, labels=labels), spec=spec)
                await self._writer.create_whole_plan(plan)
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise

    async def sweep(self) -> None:
        """Delete the objects whose plan has gone, if it is time. Faults are logged: the next sweep tries again."""
        now = self._clock.monotonic()
        if now - self._swept < SWEEP_SECONDS:
            return
        self._swept = now
        self._written = {name: at for name, at in self._written.items() if now - at < NEW_SECONDS}
        try:
            stored = await self._writer.whole_plans(self._selector)
            for name in stored - {whole_plan_name(*key) for key in self._known()}:
                async with self._alone:
                    if name not in self._written:
                        await self._writer.delete_whole_plan(name)
        except ApiError as error:
            log.warning("ClusterPreemptionPlans could not be put in order", error=str(error))

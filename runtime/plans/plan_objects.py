"""Stores decisions as PreemptionPlans, for every controller that decides. Nothing is done for a plan before.

A decision that names objects of other namespaces is stored twice. See docs/decisions/0037.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from api.compression import compress
from api.meta import ObjectMeta
from api.plan_names import PlanKey, plan_name
from api.plans import (
    PREEMPTOR_KIND,
    PROPOSAL,
    PreemptionPlan,
    PreemptionPlanSpec,
    PreemptionPlanStatus,
)
from api.withholding import readable
from kube.errors import ApiError
from runtime.plans.plan_writer import PlanWriter
from runtime.plans.whole_plans import WholePlans

__all__ = ["PlanNotStoredError", "PlanObjects"]

COMPRESS_ABOVE_PODS: Final = 500
"""Victim pods above which the stored object holds its long lists compressed (etcd's limit is 1.5 MiB a request)."""


class PlanNotStoredError(Exception):
    """The API server did not take a plan or its progress: the plan must not be acted on.

    `for_good`: another try would end the same.
    """

    def __init__(self, key: PlanKey, problem: str, *, for_good: bool) -> None:
        super().__init__(f"{'/'.join(key)}: {problem}")
        self.for_good = for_good

    @classmethod
    def of(cls, key: PlanKey, error: ApiError) -> PlanNotStoredError:
        """The API server's answer."""
        for_good = not error.is_retriable and error.status != HTTPStatus.UNAUTHORIZED
        return cls(key, str(error), for_good=for_good)


class PlanObjects:
    """One object per decision, in the preemptor's namespace, and a whole one where that withholds names."""

    def __init__(
        self, writer: PlanWriter, whole: WholePlans, apply: Callable[[PreemptionPlan], object]
    ) -> None:
        """`apply` gets every object that the API server answers with: it is newer than what the watch shows."""
        self._writer, self.whole, self._apply = writer, whole, apply

    async def store(self, spec: PreemptionPlanSpec, *, finalizer: str | None = None) -> PlanKey:
        """Store the decision. One that is stored already is no error. Raises PlanNotStoredError.

        One that is only proposed has no whole object: nobody is evicted for it.
        """
        key = (spec.preemptor.namespace, plan_name(spec))
        brief, labels = readable(spec), labels_of(spec)
        stored = compress(brief, above_pods=COMPRESS_ABOVE_PODS)
        try:
            if brief is not spec and spec.outcome != "Proposes":
                await self.whole.write(key, compress(spec, above_pods=COMPRESS_ABOVE_PODS), labels)
            plan = await self._create(key, stored, labels, finalizer)
            self._apply(plan)
        except ApiError as error:
            raise PlanNotStoredError.of(key, error) from error
        if plan.spec != stored:
            raise PlanNotStoredError(key, "another plan has this name", for_good=True)
        return key

    async def patch(self, key: PlanKey, status: PreemptionPlanStatus) -> None:
        """Write the fields of the status that are set; the others stay. Raises PlanNotStoredError."""
        try:
            self._apply(await self._writer.patch_plan_status(*key, status))
        except ApiError as error:
            raise PlanNotStoredError.of(key, error) from error

    async def delete(self, key: PlanKey) -> None:
        """Delete the plan; one that is gone is no error. Raises PlanNotStoredError."""
        try:
            await self._writer.delete_plan(*key)
        except ApiError as error:
            raise PlanNotStoredError.of(key, error) from error

    async def _create(
        self, key: PlanKey, spec: PreemptionPlanSpec, labels: dict[str, str] | None, finalizer: str | None
    ) -> PreemptionPlan:
        namespace, name = key
        finalizers = [finalizer] if finalizer is not None else None
        meta = ObjectMeta(name=name, namespace=namespace, labels=labels, finalizers=finalizers)
        try:
            return await self._writer.create_plan(PreemptionPlan(metadata=meta, spec=spec))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        plan = await self._writer.find_plan(namespace, name)
        if plan is None:
            raise ApiError(409, "Conflict", "a plan of this name has just been deleted")
        if finalizer is not None and finalizer not in (plan.metadata.finalizers or ()):
            return await self._writer.add_plan_finalizer(plan.metadata, finalizer)
        return plan


def labels_of(spec: PreemptionPlanSpec) -> dict[str, str] | None:
    """The labels of a plan, and of its whole decision. Each plane finds its own by them."""
    if spec.preemptor.kind != "Workload":
        return None
    proposal = {PROPOSAL: "true"} if spec.outcome == "Proposes" else {}
    return {PREEMPTOR_KIND: "Workload", **proposal}

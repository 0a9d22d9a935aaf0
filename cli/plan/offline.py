"""Makes plans from objects in files, with the engine of the live planner and without a cluster."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from api.groups import API_VERSION
from api.meta import Condition
from api.plan_names import plan_name
from api.plans import PreemptionPlanSpec, PreemptionPlanStatus
from cli.common.documents import InputError, split_key
from cli.plan.objects import Objects
from nodes.search.decision import DecisionError, decide_group, decide_pod
from nodes.search.unmodelled import why_blocked
from nodes.state.snapshot import Snapshot

__all__ = ["decide", "plain"]

BLOCKED: Final[Literal["Blocked"]] = "Blocked"


def decide(objects: Objects, preemptor: str, *, pod: bool = False) -> tuple[PreemptionPlanSpec, Snapshot]:
    """The plan for `NAMESPACE/NAME`, and the snapshot that it was made from. Raises InputError."""
    namespace, name = split_key(preemptor, "for")
    snapshot = objects.snapshot()
    try:
        return (decide_pod if pod else decide_group)(snapshot, namespace, name), snapshot
    except DecisionError as error:
        if place := objects.place(error.subject):
            field = error.field and f"{error.field}: "
            raise InputError(f"{place}: {field}{error.problem}") from None
        hint = (
            " (there is a Pod of that name: --pod)" if not pod and objects.place(f"Pod {preemptor}") else ""
        )
        raise InputError(f"{error}{hint}") from None


def plain(spec: PreemptionPlanSpec) -> dict[str, Any]:
    """The PreemptionPlan object as plain data, with every field of the decision.

    Only a Blocked plan has a status. It is the status that the cluster stores for such a plan, without the time.
    """
    plan = {
        "apiVersion": API_VERSION,
        "kind": "PreemptionPlan",
        "metadata": {"name": plan_name(spec), "namespace": spec.preemptor.namespace},
        "spec": msgspec.to_builtins(spec),
    }
    if message := why_blocked(spec):
        condition = Condition(type=BLOCKED, status="True", reason=BLOCKED, message=message)
        plan["status"] = msgspec.to_builtins(PreemptionPlanStatus(phase=BLOCKED, conditions=[condition]))
    return plan

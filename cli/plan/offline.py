"""Makes plans from objects in files, with the engine of the live planner and without a cluster."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, Literal

import msgspec

from api.groups import API_VERSION
from api.meta import Condition
from api.plan_names import plan_name
from api.plans import PreemptionPlanSpec, PreemptionPlanStatus
from cli.common.documents import InputError, split_key
from cli.common.objects import Objects
from nodes.groups.failing_jobs import why_it_fails
from nodes.search.decision import DecisionError, decide_group, decide_pod
from nodes.search.unmodelled import why_blocked
from nodes.state.snapshot import Snapshot

__all__ = ["decide", "failing_jobs", "plain"]

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


def failing_jobs(objects: Objects, spec: PreemptionPlanSpec) -> list[tuple[str, str]]:
    """The Jobs that fail for good by the plan: NAMESPACE/NAME, and why. Only Jobs that were read are known."""
    evicted: Counter[tuple[str, str]] = Counter()
    for pod in (pod for victim in spec.victims for pod in victim.pods):
        row = objects.tables.pod(pod.uid)
        controller = objects.tables.view(row).controller if row is not None else None
        job = objects.jobs.get((pod.namespace, controller.name)) if controller is not None else None
        if job is not None and controller is not None and controller.uid == job.metadata.uid:
            evicted[pod.namespace, controller.name] += 1
    found = ((key, why_it_fails(objects.jobs[key], pods)) for key, pods in sorted(evicted.items()))
    return [("/".join(key), why) for key, why in found if why]


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

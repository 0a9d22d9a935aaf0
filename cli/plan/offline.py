"""Makes plans from objects in files, with the engine of the live planner and without a cluster."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, Literal

import msgspec

from answers.errors import InputError
from answers.reading.documents import split_key
from answers.reading.node_objects import NodeObjects
from api.groups import API_VERSION
from api.meta import Condition
from api.plan_names import plan_name
from api.plans import PreemptionPlanSpec, PreemptionPlanStatus
from nodes.answers.failing_jobs import why_it_fails
from nodes.groups.keys import SEPARATOR, is_foreign, short_name
from nodes.search.decision import DecisionError, decide_group, decide_pod
from nodes.search.unmodelled import why_blocked
from nodes.state.snapshot import Snapshot

__all__ = ["decide", "failing_jobs", "plain"]

BLOCKED: Final[Literal["Blocked"]] = "Blocked"


def decide(objects: NodeObjects, preemptor: str, *, pod: bool = False) -> tuple[PreemptionPlanSpec, Snapshot]:
    """The plan for `NAMESPACE/NAME`, and the snapshot that it was made from. Raises InputError."""
    namespace, name = split_key(preemptor, "for")
    snapshot = objects.snapshot()
    try:
        if pod:
            return decide_pod(snapshot, namespace, name), snapshot
        return decide_group(snapshot, namespace, _whole_name(snapshot, namespace, name)), snapshot
    except DecisionError as error:
        if place := objects.place(error.subject):
            field = error.field and f"{error.field}: "
            raise InputError(f"{place}: {field}{error.problem}") from None
        hint = (
            " (there is a Pod of that name: --pod)" if not pod and objects.place(f"Pod {preemptor}") else ""
        )
        raise InputError(f"{error}{hint}") from None


def _whole_name(snapshot: Snapshot, namespace: str, name: str) -> str:
    """The group's name in plans. A group of another kind may be called by less: its kind and name, or its name alone.

    Raises InputError if several groups are called so. A PodGroup of ours comes before all others of its name.
    """
    named = zip(snapshot.group_keys, snapshot.groups, strict=True)
    there = [key[1] for key, group in named if key[0] == namespace and group is not None]
    if name in there:
        return name
    found = sorted(
        each
        for each in there
        if is_foreign(each) and name in (short_name(each), short_name(each).partition(SEPARATOR)[2])
    )
    if len(found) > 1:
        raise InputError(f"for: several groups are called {namespace}/{name}: {', '.join(found)}")
    return found[0] if found else name


def failing_jobs(objects: NodeObjects, spec: PreemptionPlanSpec) -> list[tuple[str, str]]:
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

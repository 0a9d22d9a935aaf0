"""Who would be preempted for a PodGroup or a pod, by the engine of the live planner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import msgspec

from answers.errors import InputError, UnreadError
from answers.names import Names
from answers.picture import Picture
from answers.withholding import Reader, stripped
from api.foreign_owners import OwningJob
from api.groups import API_VERSION
from api.meta import Condition
from api.plan_names import plan_name
from api.plans import PreemptionPlanSpec, PreemptionPlanStatus
from nodes.answers.asking import decide_group, decide_pod
from nodes.answers.failing_jobs import why_it_fails
from nodes.answers.picture import NodesPicture
from nodes.answers.verdicts import PLACED, plain, verdict
from nodes.groups.keys import SEPARATOR, is_foreign, short_name
from nodes.search.preemptors.preemptor import DecisionError
from nodes.search.unmodelled import why_blocked
from nodes.state.snapshot import Snapshot

__all__ = ["PlanAnswer", "PlanKind", "failing_jobs", "plan", "plan_for"]

PlanKind = Literal["podgroup", "pod"]
BLOCKED: Final[Literal["Blocked"]] = "Blocked"


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """The plan, and the snapshot that it was made from."""

    spec: PreemptionPlanSpec
    snapshot: Snapshot
    missing: tuple[str, ...] = ()
    """The rights that would show more."""

    @property
    def placed(self) -> bool:
        """Whether it is known that the preemptor gets room, and the cluster would carry the plan out."""
        return verdict(self.spec) in PLACED

    def plain(self) -> dict[str, Any]:
        """The PreemptionPlan object as plain data, with every field of the decision.

        The outcome is Unknown if what is not modelled could make it another one. Only a Blocked plan has a status. It
        is the status that the cluster stores for such a plan, without the time.
        """
        spec = self.spec
        plan = {
            "apiVersion": API_VERSION,
            "kind": "PreemptionPlan",
            "metadata": {"name": plan_name(spec), "namespace": spec.preemptor.namespace},
            "spec": stripped(plain(spec)),
        }
        if message := why_blocked(spec):
            condition = Condition(type=BLOCKED, status="True", reason=BLOCKED, message=message)
            plan["status"] = msgspec.to_builtins(PreemptionPlanStatus(phase=BLOCKED, conditions=[condition]))
        return plan | ({"missing": list(self.missing)} if self.missing else {})


def plan_for(picture: Picture, kind: PlanKind, namespace: str, name: str, names: Names) -> PlanAnswer:
    """The plan as a reader may know it. `names`: what the reader may list; nodes and the object are among it.

    Raises InputError if there is no such object, or if nothing can be decided about it, and UnreadError without nodes.
    """
    reader = Reader(names)
    if picture.without_nodes:
        raise UnreadError(picture.without_nodes)
    try:
        found = plan(reader.picture(picture).nodes, namespace, name, pod=kind == "pod")
    except DecisionError as error:
        raise InputError(str(error)) from None
    spec = reader.decision(found.spec)
    return replace(found, spec=spec, missing=tuple(reader.missing))


def plan(nodes: NodesPicture, namespace: str, name: str, *, pod: bool = False) -> PlanAnswer:
    """The plan for a PodGroup, or for a single pod. Raises DecisionError, and InputError if several groups are called
    so."""
    snapshot = nodes.snapshot
    if pod:
        return PlanAnswer(decide_pod(snapshot, namespace, name), snapshot)
    return PlanAnswer(decide_group(snapshot, namespace, _whole_name(snapshot, namespace, name)), snapshot)


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


def failing_jobs(
    nodes: NodesPicture, jobs: Mapping[tuple[str, str], OwningJob], spec: PreemptionPlanSpec
) -> list[tuple[str, str]]:
    """The Jobs that fail for good by the plan: NAMESPACE/NAME, and why. `jobs`: those that are known."""
    evicted: Counter[tuple[str, str]] = Counter()
    for pod in (pod for victim in spec.victims for pod in victim.pods):
        controller = nodes.controller_of(pod.uid)
        job = jobs.get((pod.namespace, controller.name)) if controller is not None else None
        if job is not None and controller is not None and controller.uid == job.metadata.uid:
            evicted[pod.namespace, controller.name] += 1
    found = ((key, why_it_fails(jobs[key], pods)) for key, pods in sorted(evicted.items()))
    return [("/".join(key), why) for key, why in found if why]

"""What `planning.mode: Enforce` has left in a cluster in which nothing is enforced any longer, and how it is withdrawn.

A process of reprieve does the same by itself, if it has the rights (`controllers.gangs.undoing`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec

from api.clock import SYSTEM_CLOCK
from api.compression import expand
from api.core import Pod
from api.lease import Lease
from api.meta import Condition
from api.plans import PreemptionPlan, PreemptionPlanStatus, Victim
from api.published import NAMESPACE, PLANNING_MODE, PROCESS
from api.times import parse_rfc3339, rfc3339
from cli.leaving.sweep import Sweep, all_of
from controllers.gangs.controller import Traces, traces_of
from controllers.gangs.lifecycle.endings import MODE_CHANGED
from controllers.gangs.lifecycle.modes import Modes
from controllers.gangs.lifecycle.stored_plan import ACTIVE, FINALIZER
from controllers.gangs.mirror.waiting import held_condition
from controllers.gangs.writing.pod_writer import PodWriter
from kube.client import MERGE_PATCH, ApiClient, get_or_none
from kube.finalizers import has_finalizer, remove_finalizer
from kube.sender import Sender
from runtime.mirror.resources import PLANS, PODS

__all__ = ["Left", "read_left", "sweeps", "who_enforces"]

LEASE: Final = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{PROCESS}"


class Left(NamedTuple):
    """What plans say, and pods alone do not."""

    nodes: Mapping[str, frozenset[str]]
    """By pod (UID): where plans of Enforce put it."""
    units: Mapping[str, str]
    """By pod (UID), of groups that are evicted whole and have lost some of their pods: the group, for people."""
    plans: frozenset[str]
    """Plans (UIDs) that say so: they are needed until those groups are finished."""


async def who_enforces(client: ApiClient) -> str:
    """The process that leads and enforces, by the Lease; empty if there is none. Raises ApiError."""
    body = await get_or_none(client, LEASE)
    lease = msgspec.json.decode(body, type=Lease) if body is not None else None
    spec = lease.spec if lease is not None else None
    if lease is None or spec is None or not spec.holder_identity or not spec.renew_time:
        return ""
    mode = (lease.metadata.annotations or {}).get(PLANNING_MODE, "Enforce")
    age = SYSTEM_CLOCK.wall() - parse_rfc3339(spec.renew_time)
    return spec.holder_identity if mode == "Enforce" and age <= (spec.lease_duration_seconds or 0) else ""


async def read_left(client: ApiClient) -> Left:
    """Reads all plans and pods. Raises ApiError."""
    nodes, begun, owners = dict[str, set[str]](), dict[str, Victim](), dict[str, str]()
    async for plans in all_of(client, PLANS.path, PreemptionPlan):
        for plan in filter(_is_open, plans):
            spec = expand(plan.spec)
            for placement in spec.placements:
                nodes.setdefault(placement.uid, set()).add(placement.node)
            units = (plan.status.begun if plan.status is not None else None) or ()
            for victim in spec.victims:
                if victim.uid in units and len(victim.pods) > 1:
                    begun[victim.uid], owners[victim.uid] = victim, plan.metadata.uid
    marked = dict[str, Pod]()
    async for pods in all_of(client, PODS.path, Pod):
        marked |= {pod.metadata.uid: pod for pod in pods if traces_of(pod).marked}
    found, open_plans = dict[str, str](), set[str]()
    for victim in begun.values():
        stay = [marked[pod.uid] for pod in victim.pods if pod.uid in marked]
        if 0 < len(stay) < len(victim.pods):
            name = victim.name or f"with the UID {victim.uid}"
            found |= {pod.metadata.uid: f"{victim.kind} {pod.metadata.namespace}/{name}" for pod in stay}
            open_plans.add(owners[victim.uid])
    return Left({uid: frozenset(each) for uid, each in nodes.items()}, found, frozenset(open_plans))


def sweeps(left: Left, *, finishes: bool) -> list[Sweep[Any]]:
    """What is done to pods and plans, in this order. `finishes`: groups that have lost some of their pods lose the
    others, too."""
    return [_units(left, finishes=finishes), _pods(left), _plans(left, finishes=finishes)]


def _is_open(plan: PreemptionPlan) -> bool:
    """Whether something of it may be left. Quota's plans and what was only observed hold nothing."""
    if plan.spec.preemptor.kind == "Workload" or plan.spec.mode == "Observe":
        return False
    phase = plan.status.phase if plan.status is not None else None
    return (phase or "Planned") in ACTIVE or has_finalizer(plan.metadata, FINALIZER)


def _writer(sender: Sender) -> PodWriter:
    return PodWriter(sender, SYSTEM_CLOCK, Modes("Enforce"), lambda *_args, **_options: None)


def _units(left: Left, *, finishes: bool) -> Sweep[Pod]:
    missing = Counter(left.units.values())

    async def free(sender: Sender, path: str, pod: Pod) -> bool:
        meta = pod.metadata
        if not finishes:
            return False
        return await _writer(sender).delete_pod(meta.namespace, meta.name, meta.uid) == "deleted"

    groups = ", ".join(sorted(missing)) or "nothing"
    return Sweep(
        kind="Pod",
        path=PODS.path,
        type=Pod,
        is_held=lambda pod: pod.metadata.uid in left.units and traces_of(pod).marked,
        free=free,
        done="deleted, as the rest of its group was",
        left=f"its group has lost some of its pods, and --finish-begun deletes the others ({groups})",
    )


def _pods(left: Left) -> Sweep[Pod]:
    def traces(pod: Pod) -> Traces:
        found = traces_of(pod, left.nodes.get(pod.metadata.uid, frozenset()))
        return found._replace(marked=False) if pod.metadata.uid in left.units else found

    async def free(sender: Sender, path: str, pod: Pod) -> bool:
        meta, found, writer = pod.metadata, traces(pod), _writer(sender)
        where, is_there = (meta.namespace, meta.name, meta.uid), True
        if found.marked:
            is_there = await writer.unmark_disruption_target(*where)
        if found.nominated:
            await writer.withdraw_nomination(*where, node=found.nominated)
        if found.held:
            said = held_condition("False", MODE_CHANGED.reason, MODE_CHANGED.message, SYSTEM_CLOCK.wall())
            is_there = await writer.patch_pod_status(*where, conditions=[said])
        if found.gated:
            is_there = await writer.remove_gate(*where)
        return is_there

    return Sweep(
        kind="Pod",
        path=PODS.path,
        type=Pod,
        is_held=lambda pod: bool(traces(pod)),
        free=free,
        done="released",
        left="the pod is marked, gated, nominated or held",
    )


def _plans(left: Left, *, finishes: bool) -> Sweep[PreemptionPlan]:
    def is_held(plan: PreemptionPlan) -> bool:
        return _is_open(plan) and (finishes or plan.metadata.uid not in left.plans)

    async def free(sender: Sender, path: str, plan: PreemptionPlan) -> bool:
        status = plan.status or PreemptionPlanStatus()
        if (status.phase or "Planned") in ACTIVE:
            now = rfc3339(SYSTEM_CLOCK.wall())
            said = Condition(
                type=MODE_CHANGED.phase,
                status="True",
                reason=MODE_CHANGED.reason,
                message=MODE_CHANGED.message,
                last_transition_time=now,
            )
            conditions = [*(each for each in status.conditions or () if each.type != said.type), said]
            ended = PreemptionPlanStatus(phase=MODE_CHANGED.phase, conditions=conditions)
            body = msgspec.json.encode({"metadata": {"uid": plan.metadata.uid}, "status": ended})
            await sender.send("plan", "PATCH", f"{path}/status", body=body, content_type=MERGE_PATCH)
        if not has_finalizer(plan.metadata, FINALIZER):
            return True
        return await remove_finalizer(sender, path, plan.metadata, FINALIZER)

    return Sweep(
        kind="PreemptionPlan",
        path=PLANS.path,
        type=PreemptionPlan,
        is_held=is_held,
        free=free,
        done="ended",
        left="the plan is active",
    )

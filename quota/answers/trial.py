"""Quota after a Workload got it: the Workload holds what the decision gives, and its victims wait again."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from api.meta import Condition
from api.podsets import PodSetAssignment
from api.workloads import ADMITTED, EVICTED, PREEMPTED, QUOTA_RESERVED, Admission, Workload
from quota.search.decision import Decision
from quota.state.amounts import shown

__all__ = ["admitted", "waiting_again"]

GONE: Final = frozenset({ADMITTED, EVICTED, PREEMPTED, QUOTA_RESERVED})


def admitted(workload: Workload, decision: Decision, now: str) -> Workload:
    """The Workload with the quota that the decision gives. `now`: RFC 3339."""
    assignments = [
        PodSetAssignment(
            name=pods.name,
            flavors={resource: each.flavor for resource, each in pods.flavors.items()},
            resource_usage={resource: shown(resource, pods.requests[resource]) for resource in pods.flavors},
            count=pods.count,
        )
        for pods in decision.assignment.pod_sets
    ]
    held = [
        Condition(kind, "True", kind, "", last_transition_time=now) for kind in (QUOTA_RESERVED, ADMITTED)
    ]
    status = replace(workload.status, admission=Admission(decision.queue, assignments), conditions=held)
    return replace(workload, status=status)


def waiting_again(workload: Workload) -> Workload:
    """A preempted holder, once nothing of it runs any longer."""
    others = [each for each in workload.status.conditions or () if each.type not in GONE]
    return replace(workload, status=replace(workload.status, admission=None, conditions=others))

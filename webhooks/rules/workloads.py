"""Workload: Kueue's rules, and those of KEP-8303 and KEP-3258."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from schema.verdict import Cause, Verdict
from webhooks.rules.admission_gates import admission_gate_causes, admission_gate_update_causes
from webhooks.rules.fields import child, entries, items
from webhooks.rules.gates import gate_name_causes, gate_transition_causes, gate_warnings, stamped
from webhooks.rules.kueue import kueue_causes
from webhooks.rules.podsets import immutable_causes, pod_set_causes
from webhooks.rules.ratchet import new_causes
from webhooks.rules.request import Object, Request
from webhooks.rules.retries import retry_causes, retry_warnings
from webhooks.rules.whole_amounts import pod_causes
from webhooks.rules.workload_status import has_quota, status_causes, transition_causes

__all__ = ["default", "validate"]

ELASTIC_ANNOTATION: Final = "kueue.x-k8s.io/elastic-job"
"""`true` on the Workloads (slices) of a job that grows and shrinks while it runs."""


def validate(request: Request) -> Verdict:
    """The faults of the Workload. Every update checks the status, too, because rules compare spec and status."""
    causes = [*kueue_causes(_kueue_causes, request), *new_causes(_own_causes, request)]
    if request.old is None:
        return Verdict.of(causes)
    causes += gate_transition_causes(request)
    causes += retry_causes(request.new, request.old)
    return Verdict.of(causes, (*gate_warnings(request), *retry_warnings(request.new, request.old)))


def default(request: Request) -> Object:
    """The Workload with the times of its preemption gates."""
    return stamped(request) if request.subresource == "status" else request.new


def _kueue_causes(request: Request) -> Iterator[Cause]:
    """Kueue's rules."""
    workload, old = request.new, request.old
    elastic = _is_elastic(workload)
    yield from pod_set_causes(child(workload, "spec"), elastic=elastic)
    yield from status_causes(workload, old, elastic=elastic)
    yield from admission_gate_causes(workload)
    if old is not None:
        if has_quota(old):
            yield from immutable_causes(child(workload, "spec"), child(old, "spec"))
        yield from transition_causes(workload, old, elastic=elastic)
        yield from admission_gate_update_causes(workload, old)


def _own_causes(workload: Object) -> Iterator[Cause]:
    """The names of gates, and amounts that no pod can have."""
    yield from gate_name_causes(workload)
    for index, pods in enumerate(items(child(workload, "spec"), "podSets")):
        yield from pod_causes(child(pods, "template", "spec"), f"spec.podSets[{index}].template.spec")


def _is_elastic(workload: Object) -> bool:
    return entries(child(workload, "metadata"), "annotations").get(ELASTIC_ANNOTATION) == "true"

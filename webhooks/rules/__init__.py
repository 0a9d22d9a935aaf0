"""Checks and completes an object when it is written. Each kind has a module.

Everything here is a function of its request: it has no clock and no client, and does not change its arguments. An API
server applies the schema, its defaults and its CEL rules first. The rules here cannot rely on that, because an API
server tolerates faults that are already stored. Rules from Kueue apply to the whole object at every update, as
Kueue's do. Our own rules do not refuse an update because of a stored fault.

Tests: admission_gates, podsets and quantities in test_workloads.py; cohorts and flavors in test_cohorts_flavors.py;
disruption in test_pods.py; kueue and metadata in test_sizes.py; quotas in test_clusterqueues.py; ratchet in
test_preemption_settings.py; request in test_dispatch.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from schema.verdict import Verdict
from webhooks.rules import clusterqueues, cohorts, flavors, jobs, podgroups, pods, workloads
from webhooks.rules.request import Object, Operation, Request

__all__ = ["KINDS", "Object", "Operation", "Request", "Rules", "default", "validate"]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one kind."""

    validate: Callable[[Request], Verdict]
    default: Callable[[Request], Object] | None = None
    """None: there are no defaults to fill in."""


KINDS: Final[Mapping[str, Rules]] = {
    "ClusterQueue": Rules(clusterqueues.validate),
    "Cohort": Rules(cohorts.validate),
    "ResourceFlavor": Rules(flavors.validate),
    "Workload": Rules(workloads.validate, workloads.default),
    "PodGroup": Rules(podgroups.validate, podgroups.default),
    "Job": Rules(jobs.validate, jobs.default),
    "Pod": Rules(pods.validate, pods.default),
}
"""The kinds that have rules."""


def validate(request: Request) -> Verdict:
    """The faults of the object after defaulting. A kind without rules has none.

    An object that is being deleted is checked only if more than its metadata changes. It must be able to lose its
    finalizers even if it has faults.
    """
    rules = KINDS.get(request.kind)
    if rules is None or (_is_deleted(request) and _only_metadata_changes(request)):
        return Verdict()
    return rules.validate(request)


def default(request: Request) -> Object:
    """The object with defaults. It is the same object if there is nothing to fill in.

    Raises NotSynced if a default depends on objects that are not mirrored yet.
    """
    rules = KINDS.get(request.kind)
    if rules is None or rules.default is None or _is_deleted(request):
        return request.new
    return rules.default(request)


def _is_deleted(request: Request) -> bool:
    metadata = (request.old or {}).get("metadata")
    return isinstance(metadata, dict) and bool(metadata.get("deletionTimestamp"))


def _only_metadata_changes(request: Request) -> bool:
    old = request.old or {}
    return {**request.new, "metadata": None} == {**old, "metadata": None}

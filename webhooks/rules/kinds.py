"""The kinds that have rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from schema.verdict import Verdict
from webhooks.rules import clusterqueues, cohorts, flavors, jobs, podgroups, pods, workloads
from webhooks.rules.request import Object, Request

__all__ = ["KINDS", "Rules"]


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

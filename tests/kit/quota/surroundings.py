"""Workloads by the resources of their containers, and the LimitRanges and RuntimeClasses around them."""

from __future__ import annotations

from typing import Any

from api.limits import LimitRange, RuntimeClass
from api.validation import convert
from api.workloads import Workload
from quota.state.surroundings import KnownSurroundings, Surroundings
from tests.kit.manifests import kueue

__all__ = ["around", "workload"]


def around(*things: LimitRange | RuntimeClass, partial: bool = False) -> Surroundings:
    """What is known once all of them have been seen."""
    known = KnownSurroundings(partial=partial)
    for each in things:
        known.apply(each)
    return known.now


def workload(*containers: Any, init: Any = (), **spec: Any) -> Workload:
    """A Workload in `team`, of two pods with these `resources` of containers; `spec` are further fields of the pods."""
    pods: Any = {
        "containers": [{"name": f"c{i}", "resources": each} for i, each in enumerate(containers)],
        "initContainers": [{"name": f"i{i}", "resources": each} for i, each in enumerate(init)],
        **spec,
    }
    sets = [{"name": "main", "count": 2, "template": {"spec": pods}}]
    made: Workload = convert(kueue("Workload", "w", "team", spec={"podSets": sets}), Workload)
    return made

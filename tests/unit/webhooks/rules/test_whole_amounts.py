"""Amounts of extended resources are whole numbers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.manifests import Pairs, created, group, kueue, pairs, pod_set, updated
from tests.kit.manifests import workload as workload_of
from webhooks.rules import Object

GPU = "example.com/gpu"
POD = "spec.podSets[0].template.spec"
QUOTA = "spec.resourceGroups[0].flavors[0].resources[0]"


def queue(amount: Any, resource: str = GPU, kind: str = "ClusterQueue") -> Object:
    groups = [group((resource,), "spot", nominalQuota=amount)]
    return kueue(kind, "q", spec={"resourceGroups": groups, "namespaceSelector": {}})


def workload(requests: Object, **more: Any) -> Object:
    made = workload_of(podSets=[pod_set("main", 1, requests)])
    made["spec"]["podSets"][0]["template"]["spec"].update(more)
    return made


WRONG: dict[str, tuple[Object, Pairs]] = {
    "a ClusterQueue": (queue("1500m"), [(f"{QUOTA}.nominalQuota", "Invalid")]),
    "a Cohort": (queue("0.5", kind="Cohort"), [(f"{QUOTA}.nominalQuota", "Invalid")]),
    "a container": (
        workload({GPU: "500m"}),
        [(f"{POD}.containers[0].resources.requests[{GPU}]", "Invalid")],
    ),
    "a pod": (
        workload({}, resources={"limits": {GPU: "1.5"}}),
        [(f"{POD}.resources.limits[{GPU}]", "Invalid")],
    ),
    "an overhead": (workload({}, overhead={GPU: "1m"}), [(f"{POD}.overhead[{GPU}]", "Invalid")]),
}
RIGHT: dict[str, Object] = {
    "whole": queue("2"),
    "whole in other words": queue("2000m"),
    "very much": queue("2Gi"),
    "cpu": queue("1500m", "cpu"),
    "of kubernetes.io": queue("1500m", "kubernetes.io/x"),
    "a container": workload({GPU: "1", "cpu": "100m"}),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_part_of_an_extended_resource_is_refused_unless_it_is_stored(case: str) -> None:
    wrong, causes = WRONG[case]
    assert pairs(created(wrong)) == causes
    assert pairs(updated(wrong, wrong)) == []


@pytest.mark.parametrize("case", RIGHT)
def test_other_amounts_are_allowed(case: str) -> None:
    assert pairs(created(RIGHT[case])) == []

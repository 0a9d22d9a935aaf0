"""A ClusterQueue, and what rules about it, and about Cohorts, differ in."""

from __future__ import annotations

import copy
from typing import Any, Final

from tests.e2e.rules.table import Edits, Json
from tests.kit.manifests import cluster_queue, condition, group, preemption

__all__ = [
    "ANNOTATION",
    "CHECKS",
    "CHECKS_FIELD",
    "CONFIG",
    "CONFIG_FIELD",
    "EXPRESSION",
    "GROUPS",
    "QUEUE",
    "QUOTA",
    "QUOTA_FIELD",
    "TIMED",
    "checks",
    "conditions",
    "doubled",
    "fungibility",
    "groups",
    "many",
    "reordered",
    "selector",
]

QUEUE: Final = cluster_queue()
GROUPS: Final = "spec/resourceGroups"
QUOTA: Final = f"{GROUPS}/0/flavors/0/resources/0"
QUOTA_FIELD: Final = "spec.resourceGroups[0].flavors[0].resources[0]"
CHECKS: Final = "spec/admissionChecksStrategy"
CHECKS_FIELD: Final = "spec.admissionChecksStrategy.admissionChecks"
EXPRESSION: Final = "spec.namespaceSelector.matchExpressions[0]"
CONFIG: Final = "spec/preemption/withinClusterQueueConfig"
CONFIG_FIELD: Final = "spec.preemption.withinClusterQueueConfig"
ANNOTATION: Final = "metadata.annotations[reprieve.dev/min-admit-duration]"
TIMED: Final = cluster_queue(
    preemption=preemption(
        withinClusterQueue="LowerOrNewerEqualPriority", withinClusterQueueConfig={"minAdmitDuration": "4h"}
    )
)


def groups(*made: Json) -> Edits:
    """These resource groups."""
    return {GROUPS: list(made)}


def many(count: int) -> Json:
    """A group of that many resources."""
    return group(tuple(f"r{number}" for number in range(count)), "many")


def doubled(made: Json, field: str) -> Json:
    """With the first of a group's flavors, or of a flavor's resources, there twice."""
    made = copy.deepcopy(made)
    if field == "flavors":
        made["flavors"].append(made["flavors"][0])
    else:
        made["coveredResources"].append("other")
        made["flavors"][0]["resources"].append(made["flavors"][0]["resources"][0])
    return made


def reordered(made: Json) -> Json:
    """With the quotas of the first flavor in another order."""
    made = copy.deepcopy(made)
    made["flavors"][0]["resources"].reverse()
    return made


def checks(*flavors: str, **more: Any) -> Edits:
    """A check for these flavors."""
    return {CHECKS: {"admissionChecks": [{"name": "check", "onFlavors": list(flavors), **more}]}}


def selector(operator: str, *values: str, key: str = "team") -> Edits:
    """A namespace selector of one expression."""
    requirement = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    return {"spec/namespaceSelector": {"matchExpressions": [requirement]}}


def fungibility(borrow: str, preempt: str, preference: str = "BorrowingOverPreemption") -> Edits:
    """How flavors are chosen."""
    chosen = {"whenCanBorrow": borrow, "whenCanPreempt": preempt, "preference": preference}
    return {"spec/flavorFungibility": chosen}


def conditions(count: int) -> Edits:
    """A status with that many."""
    return {"status": {"conditions": [condition(f"C{number}") for number in range(count)]}}

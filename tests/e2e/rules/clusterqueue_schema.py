"""Kueue's rules for ClusterQueue that the schema has."""

from __future__ import annotations

from typing import Final

from tests.e2e.rules.queues import (
    CHECKS,
    CHECKS_FIELD,
    GROUPS,
    QUEUE,
    QUOTA,
    checks,
    conditions,
    doubled,
    fungibility,
    groups,
    many,
)
from tests.e2e.rules.table import ABSENT, Rule
from tests.unit.webhooks.rules.objects import group

__all__ = ["SCHEMA"]

of = Rule.of
POLICIES: Final = (
    ("queueingStrategy", "StrictFIFO"),
    ("stopPolicy", "HoldAndDrain"),
    ("flavorFungibility/whenCanBorrow", "TryNextFlavor"),
    ("flavorFungibility/whenCanPreempt", "MayStopSearch"),
    ("preemption/reclaimWithinCohort", "Any"),
    ("preemption/withinClusterQueue", "LowerPriority"),
)
"""Fields of ClusterQueue with values to choose from."""

SCHEMA: Final = (
    *(
        of(
            f"9.1 {field}",
            QUEUE,
            {f"spec/{field}": "Sometimes"},
            f"spec.{field.replace('/', '.')} NotSupported",
            good={f"spec/{field}": value},
        )
        for field, value in POLICIES
    ),
    of(
        "9.1 borrowingLimit with a cohort",
        QUEUE,
        {f"{QUOTA}/borrowingLimit": 1, "spec/cohortName": ABSENT},
        "spec Invalid",
        good={f"{QUOTA}/borrowingLimit": 1},
    ),
    of(
        "9.1 at most 16 resource groups",
        QUEUE,
        groups(*(group((f"r{i}",), f"f{i}") for i in range(17))),
        "spec.resourceGroups TooMany",
        good=groups(*(group((f"r{i}",), f"f{i}") for i in range(16))),
    ),
    of(
        "9.1 at most 64 resources",
        QUEUE,
        groups(many(65)),
        "spec.resourceGroups[0].coveredResources TooMany",
        "spec.resourceGroups[0].flavors[0].resources TooMany",
        good=groups(many(64)),
    ),
    of(
        "9.1 some resources",
        QUEUE,
        groups(many(0)),
        "spec.resourceGroups[0].coveredResources Invalid",
        "spec.resourceGroups[0].flavors[0].resources Invalid",
        good=groups(many(1)),
    ),
    of(
        "9.1 at most 64 flavors",
        QUEUE,
        groups(group(("cpu",), *(f"f{i}" for i in range(65)))),
        "spec.resourceGroups[0].flavors TooMany",
        good=groups(group(("cpu",), *(f"f{i}" for i in range(64)))),
    ),
    of(
        "9.1 some flavors",
        QUEUE,
        groups(group(("cpu",))),
        "spec.resourceGroups[0].flavors Invalid",
        good=groups(group(("cpu",), "one")),
    ),
    of(
        "9.1 a flavor once in a group",
        QUEUE,
        groups(doubled(group(("cpu",), "a"), "flavors")),
        "spec.resourceGroups[0].flavors[1] Duplicate",
        good=groups(group(("cpu",), "a", "b")),
    ),
    of(
        "9.1 a resource once in a flavor",
        QUEUE,
        groups(doubled(group(("cpu",), "a"), "resources")),
        "spec.resourceGroups[0].flavors[0].resources[1] Duplicate",
        good=groups(group(("cpu", "other"), "a")),
    ),
    of(
        "9.1 as many resources as covered",
        QUEUE,
        {f"{GROUPS}/0/coveredResources": ["cpu"]},
        "spec.resourceGroups[0] Invalid",
        good={f"{GROUPS}/1/coveredResources": ["gpu"]},
    ),
    of(
        "9.1 cohortName",
        QUEUE,
        {"spec/cohortName": "All"},
        "spec.cohortName Invalid",
        good={"spec/cohortName": "all.example.com"},
    ),
    of(
        "9.1 cohortName's length",
        QUEUE,
        {"spec/cohortName": "a" * 254},
        "spec.cohortName TooLong",
        good={"spec/cohortName": "a" * 253},
    ),
    of(
        "9.1 names of flavors",
        QUEUE,
        {f"{GROUPS}/0/flavors/0/name": "a_b"},
        "spec.resourceGroups[0].flavors[0].name Invalid",
        good={f"{GROUPS}/0/flavors/0/name": "a-b"},
    ),
    of(
        "9.1 preference",
        QUEUE,
        fungibility("TryNextFlavor", "TryNextFlavor", "None"),
        "spec.flavorFungibility.preference NotSupported",
        good=fungibility("TryNextFlavor", "TryNextFlavor", "PreemptionOverBorrowing"),
    ),
    of(
        "9.1, 9.2 preference goes with TryNextFlavor",
        QUEUE,
        fungibility("TryNextFlavor", "MayStopSearch"),
        "spec.flavorFungibility Invalid",
        good=fungibility("TryNextFlavor", "TryNextFlavor"),
    ),
    of(
        "9.1 borrowWithinCohort.policy",
        QUEUE,
        {"spec/preemption": {"reclaimWithinCohort": "Any", "borrowWithinCohort": {"policy": "Any"}}},
        "spec.preemption.borrowWithinCohort.policy NotSupported",
        good={
            "spec/preemption": {
                "reclaimWithinCohort": "Any",
                "borrowWithinCohort": {"policy": "LowerPriority"},
            }
        },
    ),
    of(
        "9.1 maxPriorityThreshold is an int32",
        QUEUE,
        {"spec/preemption/borrowWithinCohort/maxPriorityThreshold": 2**31},
        "<nil> Invalid",
        good={"spec/preemption/borrowWithinCohort/maxPriorityThreshold": 2**31 - 1},
    ),
    of(
        "9.1 at most 64 admission checks",
        QUEUE,
        {CHECKS: {"admissionChecks": [{"name": f"c{i}"} for i in range(65)]}},
        f"{CHECKS_FIELD} TooMany",
        good={CHECKS: {"admissionChecks": [{"name": f"c{i}"} for i in range(64)]}},
    ),
    of(
        "9.1 an admission check once",
        QUEUE,
        {CHECKS: {"admissionChecks": [{"name": "c"}, {"name": "c"}]}},
        f"{CHECKS_FIELD}[1] Duplicate",
        good={CHECKS: {"admissionChecks": [{"name": "c"}, {"name": "d"}]}},
    ),
    of(
        "9.1 a check's flavor once",
        QUEUE,
        checks("spot", "spot"),
        f"{CHECKS_FIELD}[0].onFlavors[1] Duplicate",
        good=checks("spot", "on-demand"),
    ),
    of(
        "9.1 at most 16 conditions",
        QUEUE,
        conditions(17),
        "status.conditions TooMany",
        good=conditions(16),
        subresource="status",
    ),
)

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
from tests.kit.manifests import group

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
            f"CRD: {field}",
            QUEUE,
            {f"spec/{field}": "Sometimes"},
            f"spec.{field.replace('/', '.')} NotSupported",
            good={f"spec/{field}": value},
        )
        for field, value in POLICIES
    ),
    of(
        "CRD: borrowingLimit with a cohort",
        QUEUE,
        {f"{QUOTA}/borrowingLimit": 1, "spec/cohortName": ABSENT},
        "spec Invalid",
        good={f"{QUOTA}/borrowingLimit": 1},
    ),
    of(
        "CRD: at most 16 resource groups",
        QUEUE,
        groups(*(group((f"r{i}",), f"f{i}") for i in range(17))),
        "spec.resourceGroups TooMany",
        good=groups(*(group((f"r{i}",), f"f{i}") for i in range(16))),
    ),
    of(
        "CRD: at most 64 resources",
        QUEUE,
        groups(many(65)),
        "spec.resourceGroups[0].coveredResources TooMany",
        "spec.resourceGroups[0].flavors[0].resources TooMany",
        good=groups(many(64)),
    ),
    of(
        "CRD: some resources",
        QUEUE,
        groups(many(0)),
        "spec.resourceGroups[0].coveredResources Invalid",
        "spec.resourceGroups[0].flavors[0].resources Invalid",
        good=groups(many(1)),
    ),
    of(
        "CRD: at most 64 flavors",
        QUEUE,
        groups(group(("cpu",), *(f"f{i}" for i in range(65)))),
        "spec.resourceGroups[0].flavors TooMany",
        good=groups(group(("cpu",), *(f"f{i}" for i in range(64)))),
    ),
    of(
        "CRD: some flavors",
        QUEUE,
        groups(group(("cpu",))),
        "spec.resourceGroups[0].flavors Invalid",
        good=groups(group(("cpu",), "one")),
    ),
    of(
        "CRD: a flavor once in a group",
        QUEUE,
        groups(doubled(group(("cpu",), "a"), "flavors")),
        "spec.resourceGroups[0].flavors[1] Duplicate",
        good=groups(group(("cpu",), "a", "b")),
    ),
    of(
        "CRD: a resource once in a flavor",
        QUEUE,
        groups(doubled(group(("cpu",), "a"), "resources")),
        "spec.resourceGroups[0].flavors[0].resources[1] Duplicate",
        good=groups(group(("cpu", "other"), "a")),
    ),
    of(
        "CRD: as many resources as covered",
        QUEUE,
        {f"{GROUPS}/0/coveredResources": ["cpu"]},
        "spec.resourceGroups[0] Invalid",
        good={f"{GROUPS}/1/coveredResources": ["gpu"]},
    ),
    of(
        "CRD: cohortName",
        QUEUE,
        {"spec/cohortName": "All"},
        "spec.cohortName Invalid",
        good={"spec/cohortName": "all.example.com"},
    ),
    of(
        "CRD: cohortName's length",
        QUEUE,
        {"spec/cohortName": "a" * 254},
        "spec.cohortName TooLong",
        good={"spec/cohortName": "a" * 253},
    ),
    of(
        "CRD: names of flavors",
        QUEUE,
        {f"{GROUPS}/0/flavors/0/name": "a_b"},
        "spec.resourceGroups[0].flavors[0].name Invalid",
        good={f"{GROUPS}/0/flavors/0/name": "a-b"},
    ),
    of(
        "CRD: preference",
        QUEUE,
        fungibility("TryNextFlavor", "TryNextFlavor", "None"),
        "spec.flavorFungibility.preference NotSupported",
        good=fungibility("TryNextFlavor", "TryNextFlavor", "PreemptionOverBorrowing"),
    ),
    of(
        "CRD and webhook: preference goes with TryNextFlavor",
        QUEUE,
        fungibility("TryNextFlavor", "MayStopSearch"),
        "spec.flavorFungibility Invalid",
        good=fungibility("TryNextFlavor", "TryNextFlavor"),
    ),
    of(
        "CRD: borrowWithinCohort.policy",
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
        "CRD: maxPriorityThreshold is an int32",
        QUEUE,
        {"spec/preemption/borrowWithinCohort/maxPriorityThreshold": 2**31},
        "<nil> Invalid",
        good={"spec/preemption/borrowWithinCohort/maxPriorityThreshold": 2**31 - 1},
    ),
    of(
        "CRD: at most 64 admission checks",
        QUEUE,
        {CHECKS: {"admissionChecks": [{"name": f"c{i}"} for i in range(65)]}},
        f"{CHECKS_FIELD} TooMany",
        good={CHECKS: {"admissionChecks": [{"name": f"c{i}"} for i in range(64)]}},
    ),
    of(
        "CRD: an admission check once",
        QUEUE,
        {CHECKS: {"admissionChecks": [{"name": "c"}, {"name": "c"}]}},
        f"{CHECKS_FIELD}[1] Duplicate",
        good={CHECKS: {"admissionChecks": [{"name": "c"}, {"name": "d"}]}},
    ),
    of(
        "CRD: a check's flavor once",
        QUEUE,
        checks("spot", "spot"),
        f"{CHECKS_FIELD}[0].onFlavors[1] Duplicate",
        good=checks("spot", "on-demand"),
    ),
    of(
        "CRD: at most 16 conditions",
        QUEUE,
        conditions(17),
        "status.conditions TooMany",
        good=conditions(16),
        subresource="status",
    ),
)

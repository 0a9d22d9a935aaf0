"""Rules for ClusterQueue: those of Kueue's webhook, KEP-1337's and KEP-8522's."""

from __future__ import annotations

from typing import Final

from tests.e2e.rules.queues import (
    ANNOTATION,
    CHECKS_FIELD,
    CONFIG,
    CONFIG_FIELD,
    EXPRESSION,
    QUEUE,
    QUOTA,
    QUOTA_FIELD,
    TIMED,
    checks,
    groups,
    reordered,
    selector,
)
from tests.e2e.rules.table import ABSENT, Rule
from tests.kit.manifests import group

__all__ = ["KEPS", "WEBHOOK"]

of = Rule.of
WEBHOOK: Final = (
    of(
        "webhook: names of resources",
        QUEUE,
        groups(group(("c pu",), "spot")),
        "spec.resourceGroups[0].coveredResources[0] Invalid",
        good=groups(group(("c.pu",), "spot")),
    ),
    of(
        "webhook: a resource in one group",
        QUEUE,
        groups(group(("cpu",), "a"), group(("cpu",), "b")),
        "spec.resourceGroups[1].coveredResources[0] Duplicate",
        good=groups(group(("cpu",), "a"), group(("gpu",), "b")),
    ),
    of(
        "webhook: a flavor in one group",
        QUEUE,
        groups(group(("cpu",), "a"), group(("gpu",), "a")),
        "spec.resourceGroups[1].flavors[0].name Duplicate",
        good=groups(group(("cpu",), "a"), group(("gpu",), "b")),
    ),
    of(
        "webhook: the order of resources",
        QUEUE,
        groups(reordered(group(("cpu", "gpu"), "a"))),
        f"{QUOTA_FIELD}.name Invalid",
        "spec.resourceGroups[0].flavors[0].resources[1].name Invalid",
        good=groups(group(("cpu", "gpu"), "a")),
    ),
    *(
        of(
            f"webhook: {field} is not negative",
            QUEUE,
            {f"{QUOTA}/{field}": "-1m"},
            f"{QUOTA_FIELD}.{field} Invalid",
            good={f"{QUOTA}/{field}": 0},
        )
        for field in ("nominalQuota", "borrowingLimit", "lendingLimit")
    ),
    of(
        "webhook: lendingLimit with a cohort",
        QUEUE,
        {f"{QUOTA}/lendingLimit": 1, "spec/cohortName": ABSENT},
        f"{QUOTA_FIELD}.lendingLimit Invalid",
        good={f"{QUOTA}/lendingLimit": 1},
    ),
    of(
        "webhook: lendingLimit within nominalQuota",
        QUEUE,
        {f"{QUOTA}/lendingLimit": "10001m"},
        f"{QUOTA_FIELD}.lendingLimit Invalid",
        good={f"{QUOTA}/lendingLimit": "10000m"},
    ),
    of(
        "webhook: matchLabels",
        QUEUE,
        {"spec/namespaceSelector": {"matchLabels": {"a": "b c"}}},
        "spec.namespaceSelector.matchLabels Invalid",
        good={"spec/namespaceSelector": {"matchLabels": {"a": "b"}}},
    ),
    of(
        "webhook: In needs values",
        QUEUE,
        selector("In"),
        f"{EXPRESSION}.values Required",
        good=selector("In", "a"),
    ),
    of(
        "webhook: Exists has no values",
        QUEUE,
        selector("Exists", "a"),
        f"{EXPRESSION}.values Forbidden",
        good=selector("Exists"),
    ),
    of(
        "webhook: operator",
        QUEUE,
        selector("Gt", "1"),
        f"{EXPRESSION}.operator Invalid",
        good=selector("NotIn", "1"),
    ),
    of(
        "webhook: an expression's key",
        QUEUE,
        selector("Exists", key="/a"),
        f"{EXPRESSION}.key Invalid",
        good=selector("Exists", key="b/a"),
    ),
    of(
        "webhook: an expression's values",
        QUEUE,
        selector("In", "a", "-"),
        f"{EXPRESSION}.values[1] Invalid",
        good=selector("In", "a", ""),
    ),
    of(
        "webhook: weight is not negative",
        QUEUE,
        {"spec/fairSharing": {"weight": -1}},
        "spec.fairSharing Invalid",
        good={"spec/fairSharing": {"weight": 0}},
    ),
    of(
        "webhook: weight above a nano",
        QUEUE,
        {"spec/fairSharing": {"weight": "1n"}},
        "spec.fairSharing Invalid",
        good={"spec/fairSharing": {"weight": "2n"}},
    ),
    of(
        "webhook: at most 256 flavors in all",
        QUEUE,
        groups(*(group((f"r{i}",), *(f"f{i}-{j}" for j in range(43))) for i in range(6))),
        "spec.resourceGroups Invalid",
        good=groups(*(group((f"r{i}",), *(f"f{i}-{j}" for j in range(42))) for i in range(6))),
    ),
    of(
        "webhook: at most 256 resources in all",
        QUEUE,
        groups(*(group(tuple(f"r{i}-{j}" for j in range(43)), f"f{i}") for i in range(6))),
        "spec.resourceGroups Invalid",
        good=groups(*(group(tuple(f"r{i}-{j}" for j in range(42)), f"f{i}") for i in range(6))),
    ),
    of(
        "webhook: at most 512 quotas in a group",
        QUEUE,
        groups(group(tuple(f"r{i}" for i in range(27)), *(f"f{j}" for j in range(19)))),
        "spec.resourceGroups[0] Invalid",
        good=groups(group(tuple(f"r{i}" for i in range(16)), *(f"f{j}" for j in range(32)))),
    ),
    of(
        "webhook: a check's flavors are the queue's",
        QUEUE,
        checks("spot", "gone"),
        f"{CHECKS_FIELD}[0].onFlavors[1] NotSupported",
        good=checks("spot", "a100"),
    ),
    of(
        "webhook: concurrentAdmissionPolicy stays",
        QUEUE,
        {"spec/concurrentAdmissionPolicy": {"migration": {"mode": "TryPreferredFlavors"}}},
        "spec.concurrentAdmissionPolicy Invalid",
        creates=False,
    ),
    of(
        "quantities that Go can read",
        QUEUE,
        {f"{QUOTA}/nominalQuota": "1e1.5"},
        f"{QUOTA_FIELD}.nominalQuota Invalid",
        good={f"{QUOTA}/nominalQuota": "1e1"},
    ),
)

BORROWS: Final = {"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": {"policy": "LowerPriority"}}
KEPS: Final = (
    of(
        "KEP-1337 borrowing goes with reclaiming",
        QUEUE,
        {"spec/preemption": {**BORROWS, "reclaimWithinCohort": "Never"}},
        "spec.preemption Invalid",
        good={"spec/preemption": BORROWS},
    ),
    of(
        "KEP-1337 Never is the default",
        QUEUE,
        {"spec/preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}},
        "spec.preemption Invalid",
        good={"spec/preemption": {"borrowWithinCohort": {"policy": "Never"}}},
    ),
    *(
        of(
            f"KEP-8522 minAdmitDuration {bad!r}",
            TIMED,
            {f"{CONFIG}/minAdmitDuration": bad},
            f"{CONFIG_FIELD}.minAdmitDuration Invalid",
            good={f"{CONFIG}/minAdmitDuration": good},
        )
        for good, bad in (
            ("1m", "59s"),
            ("60s", "0s"),
            ("1h30m", "-1h"),
            ("90m", "90"),
            ("24h", "1d"),
            ("2m", ""),
        )
    ),
    *(
        of(
            f"KEP-8522 the configuration {config} does not go with {policy}",
            QUEUE,
            {"spec/preemption": {"withinClusterQueue": policy, "withinClusterQueueConfig": config}},
            f"{CONFIG_FIELD} Invalid",
            good={
                "spec/preemption": {
                    "withinClusterQueue": "LowerOrNewerEqualPriority",
                    "withinClusterQueueConfig": config,
                }
            },
        )
        for config, policy in (({}, "LowerPriority"), ({}, "Never"), ({"minAdmitDuration": "1h"}, "Never"))
    ),
    of(
        "KEP-8522 the annotation's duration",
        TIMED,
        {"metadata/annotations": {"reprieve.dev/min-admit-duration": "59s"}},
        f"{ANNOTATION} Invalid",
        good={"metadata/annotations": {"reprieve.dev/min-admit-duration": "4h"}},
    ),
    of(
        "KEP-8522 the annotation goes with one policy",
        QUEUE,
        {"metadata/annotations": {"reprieve.dev/min-admit-duration": "1h"}},
        f"{ANNOTATION} Invalid",
        good={
            "metadata/annotations": {"reprieve.dev/min-admit-duration": "1h"},
            "spec/preemption/withinClusterQueue": "LowerOrNewerEqualPriority",
        },
    ),
)

"""Kueue's rules for Cohort, ResourceFlavor, LocalQueue and others; ours for PreemptionPlan and DispatchPlan."""

from __future__ import annotations

from typing import Any, Final

from tests.e2e.rules.queues import (
    QUOTA,
    QUOTA_FIELD,
    groups,
    reordered,
)
from tests.e2e.rules.table import ABSENT, Edits, Json, Rule
from tests.kit.manifests import group, kueue

__all__ = ["COHORTS", "FLAVORS", "OTHERS"]

of = Rule.of
COHORT: Final = kueue(
    "Cohort", "all", spec={"parentName": "root", "resourceGroups": [group(("cpu",), "spot", "on-demand")]}
)
COHORTS: Final = (
    of(
        "a resource in one group",
        COHORT,
        groups(group(("cpu",), "a"), group(("cpu",), "b")),
        "spec.resourceGroups[1].coveredResources[0] Duplicate",
        good=groups(group(("cpu",), "a"), group(("gpu",), "b")),
    ),
    of(
        "the order of resources",
        COHORT,
        groups(reordered(group(("cpu", "gpu"), "a"))),
        f"{QUOTA_FIELD}.name Invalid",
        "spec.resourceGroups[0].flavors[0].resources[1].name Invalid",
        good=groups(group(("cpu", "gpu"), "a")),
    ),
    *(
        of(
            f"{field} with a parent",
            COHORT,
            {f"{QUOTA}/{field}": 1, "spec/parentName": ABSENT},
            f"{QUOTA_FIELD}.{field} Invalid",
            good={f"{QUOTA}/{field}": 99},
        )
        for field in ("borrowingLimit", "lendingLimit")
    ),
    of(
        "nominalQuota is not negative",
        COHORT,
        {f"{QUOTA}/nominalQuota": -1},
        f"{QUOTA_FIELD}.nominalQuota Invalid",
        good={f"{QUOTA}/nominalQuota": 0},
    ),
    of(
        "weight",
        COHORT,
        {"spec/fairSharing": {"weight": "1n"}},
        "spec.fairSharing Invalid",
        good={"spec/fairSharing": {"weight": "1"}},
    ),
    of(
        "parentName",
        COHORT,
        {"spec/parentName": ""},
        "spec.parentName Invalid",
        good={"spec/parentName": "a.b"},
    ),
)

FLAVOR: Final = kueue("ResourceFlavor", "spot", spec={})


def taints(*keys: str, effect: str = "NoSchedule") -> Edits:
    """Taints of a flavor's nodes."""
    return {"spec/nodeTaints": [{"key": key, "value": "x", "effect": effect} for key in keys]}


TOLERATIONS: Final[tuple[tuple[str, Json, Json], ...]] = (
    ("seconds", {"tolerationSeconds": 1}, {"tolerationSeconds": 1, "effect": "NoExecute"}),
    ("operator", {"operator": "Is"}, {"operator": "Equal"}),
    ("value", {"operator": "Exists", "value": "b"}, {"operator": "Equal", "value": "b"}),
    ("effect", {"effect": "Never"}, {"effect": "PreferNoSchedule"}),
)
"""(what is wrong with one, that one, and one that is right)."""
FLAVORS: Final = (
    of(
        "nodeLabels",
        FLAVOR,
        {"spec/nodeLabels": {"a": "b c"}},
        "spec.nodeLabels Invalid",
        good={"spec/nodeLabels": {"a": "b"}},
    ),
    of("a taint's key", FLAVOR, taints("a", "-"), "spec.nodeTaints[1].key Invalid", good=taints("a", "b")),
    of("a taint once", FLAVOR, taints("a", "a"), "spec.nodeTaints[1] Duplicate", good=taints("a", "b")),
    of(
        "a taint's effect",
        FLAVOR,
        taints("a", effect="Never"),
        "spec.nodeTaints Invalid",
        good=taints("a", effect="NoExecute"),
    ),
    of(
        "a toleration's key",
        FLAVOR,
        {"spec/tolerations": [{"key": "-"}]},
        "spec.tolerations[0].key Invalid",
        good={"spec/tolerations": [{"key": "a"}]},
    ),
    of(
        "a toleration without a key",
        FLAVOR,
        {"spec/tolerations": [{"operator": "Equal"}]},
        "spec.tolerations Invalid",
        good={"spec/tolerations": [{"operator": "Exists"}]},
    ),
    *(
        of(
            f"a toleration's {fault}",
            FLAVOR,
            {"spec/tolerations": [{"key": "a", **bad}]},
            "spec.tolerations Invalid",
            good={"spec/tolerations": [{"key": "a", **good}]},
        )
        for fault, bad, good in TOLERATIONS
    ),
    of(
        "topologyName stays",
        {**FLAVOR, "spec": {"nodeLabels": {"a": "b"}, "topologyName": "racks"}},
        {"spec/topologyName": "zones"},
        "spec Invalid",
        creates=False,
        good={"spec/nodeLabels": {"a": "c"}},
    ),
    of(
        "topologyName goes with labels",
        FLAVOR,
        {"spec/topologyName": "racks"},
        "spec Invalid",
        good={"spec/topologyName": "racks", "spec/nodeLabels": {"a": "b"}},
    ),
)


def named(kind: str, **spec: Any) -> Json:
    """An object of another kind."""
    return kueue(kind, "other", "default" if kind == "LocalQueue" else "", spec=spec)


LOCAL_QUEUE: Final = named("LocalQueue", clusterQueue="team-a")
CHECK: Final = named("AdmissionCheck", controllerName="example.com/check")
KUBECONFIG: Final = {"kubeConfig": {"location": "secret"}}
PROFILE: Final = {"clusterProfileRef": {"name": "profile"}}
PLAN: Final[Json] = {
    "apiVersion": "reprieve.dev/v1alpha1",
    "kind": "PreemptionPlan",
    "metadata": {"name": "plan", "namespace": "default"},
    "spec": {
        "preemptor": {
            "kind": "PodGroup",
            "apiVersion": "reprieve.dev/v1alpha1",
            "namespace": "default",
            "name": "gang",
            "uid": "1",
            "priority": 0,
        },
        "outcome": "Fits",
        "reason": "there is room",
    },
}
TURN: Final[Json] = {
    "apiVersion": "reprieve.dev/v1alpha1",
    "kind": "DispatchPlan",
    "metadata": {"name": "turn", "namespace": "default"},
    "spec": {
        "workload": {"name": "job", "uid": "1", "attempt": "2026-01-01T00:00:00Z", "priority": 0},
        "number": 1,
        "cluster": "east",
        "order": "LeastDisruption",
        "reason": "it is the only one",
        "began": "2026-01-01T00:00:05.000000Z",
        "until": "2026-01-01T00:05:05.000000Z",
        "clusters": [],
    },
}
OTHERS: Final = (
    of(
        "clusterQueue stays",
        LOCAL_QUEUE,
        {"spec/clusterQueue": "team-b"},
        "spec.clusterQueue Invalid",
        creates=False,
    ),
    of(
        "a decision stays",
        PLAN,
        {"spec/reason": "another"},
        "spec Invalid",
        good={"metadata/labels": {"a": "b"}},
        creates=False,
    ),
    of(
        "an outcome",
        PLAN,
        {"spec/outcome": "Maybe"},
        "spec.outcome NotSupported",
    ),
    of(
        "a turn stays",
        TURN,
        {"spec/until": "2026-01-01T01:00:00.000000Z"},
        "spec Invalid",
        good={"metadata/labels": {"a": "b"}},
        creates=False,
    ),
    of(
        "an order",
        TURN,
        {"spec/order": "Cheapest"},
        "spec.order NotSupported",
    ),
    of(
        "a cluster once",
        named("MultiKueueConfig", clusters=["one", "two"]),
        {"spec/clusters": ["one", "two", "one"]},
        "spec.clusters Invalid",
        good={"spec/clusters": ["two", "one"]},
    ),
    of(
        "quotaManagement",
        named("MultiKueueConfig", clusters=["one"]),
        {"spec/quotaManagement": "Shared"},
        "spec.quotaManagement NotSupported",
        good={"spec/quotaManagement": "Automated"},
    ),
    of(
        "a cluster is reached in one way",
        named("MultiKueueCluster", clusterSource=KUBECONFIG),
        {"spec/clusterSource": {**KUBECONFIG, **PROFILE}},
        "spec.clusterSource Invalid",
        good={"spec/clusterSource": PROFILE},
    ),
    of("clusterQueue", LOCAL_QUEUE, {"spec/clusterQueue": "A"}, "spec.clusterQueue Invalid"),
    of(
        "stopPolicy",
        LOCAL_QUEUE,
        {"spec/stopPolicy": "Stop"},
        "spec.stopPolicy NotSupported",
        good={"spec/stopPolicy": "Hold"},
    ),
    of(
        "controllerName stays",
        CHECK,
        {"spec/controllerName": "other"},
        "spec.controllerName Invalid",
        creates=False,
    ),
    of(
        "parameters",
        CHECK,
        {"spec/parameters": {"apiGroup": "example.com", "kind": "-", "name": "a"}},
        "spec.parameters.kind Invalid",
        good={"spec/parameters": {"apiGroup": "example.com", "kind": "Limits", "name": "a"}},
    ),
)

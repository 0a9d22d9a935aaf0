"""Rules for the spec of Workloads: Kueue's, and KEP-8303's."""

from __future__ import annotations

from typing import Any, Final

from tests.e2e.rules.table import ABSENT, Edits, Json, Rule
from tests.kit.manifests import condition, pod_set, reserved, workload

__all__ = ["SPEC", "WHILE_RESERVED"]

of = Rule.of

JOB: Final = workload()
POD_SET: Final = "spec/podSets/0"
POD_SET_FIELD: Final = "spec.podSets[0]"
CONTAINER: Final = f"{POD_SET}/template/spec/containers/0"
RESOURCES: Final = "template.spec.containers[0].resources"
GATED_BY: Final = "kueue.x-k8s.io/admission-gated-by"
GATED_BY_FIELD: Final = f"metadata.annotations[{GATED_BY}]"
MAX_GATES: Final = 8


def pod_sets(count: int, **fields: Any) -> Edits:
    """`count` pod sets."""
    return {"spec/podSets": [pod_set(f"s{number}", 1, **fields) for number in range(count)]}


def gates(*names: str) -> Edits:
    """Preemption gates."""
    return {"spec/preemptionGates": [{"name": name} for name in names]}


def gated_by(names: str) -> Edits:
    """Gates of admission."""
    return {"metadata/annotations": {GATED_BY: names}}


def reference(group: str, kind: str, name: str = "high") -> Edits:
    """A class, and the priority that goes with it."""
    return {"spec/priorityClassRef": {"group": group, "kind": kind, "name": name}, "spec/priority": 1}


KUEUES: Final = ("kueue.x-k8s.io", "WorkloadPriorityClass")

SPEC: Final = (
    of("CRD: at most 18 pod sets", JOB, pod_sets(19), "spec.podSets TooMany", good=pod_sets(18)),
    of("CRD: some pod set", JOB, pod_sets(0), "spec.podSets Invalid", good=pod_sets(1)),
    of(
        "CRD: a pod set once",
        JOB,
        {f"{POD_SET}/name": "workers"},
        "spec.podSets[1] Duplicate",
        good={f"{POD_SET}/name": "other"},
    ),
    of(
        "CRD: a pod set's name",
        JOB,
        {f"{POD_SET}/name": "a.b"},
        f"{POD_SET_FIELD}.name Invalid",
        good={f"{POD_SET}/name": "a-b"},
    ),
    of(
        "CRD: its length",
        JOB,
        {f"{POD_SET}/name": "a" * 64},
        f"{POD_SET_FIELD}.name TooLong",
        good={f"{POD_SET}/name": "a" * 63},
    ),
    of(
        "CRD: count",
        JOB,
        {f"{POD_SET}/count": -1},
        f"{POD_SET_FIELD}.count Invalid",
        good={f"{POD_SET}/count": 0},
    ),
    of(
        "CRD: minCount is positive",
        JOB,
        {f"{POD_SET}/minCount": 0},
        f"{POD_SET_FIELD}.minCount Invalid",
        good={f"{POD_SET}/minCount": 1},
    ),
    of(
        "CRD: minCount is within count",
        JOB,
        {f"{POD_SET}/minCount": 2},
        f"{POD_SET_FIELD} Invalid",
        good={f"{POD_SET}/minCount": 1},
    ),
    of(
        "CRD: maximumExecutionTimeSeconds",
        JOB,
        {"spec/maximumExecutionTimeSeconds": 0},
        "spec.maximumExecutionTimeSeconds Invalid",
        good={"spec/maximumExecutionTimeSeconds": 1},
    ),
    of(
        "CRD: queueName",
        JOB,
        {"spec/queueName": "A"},
        "spec.queueName Invalid",
        good={"spec/queueName": "a"},
    ),
    of(
        "CRD: a class goes with a priority",
        JOB,
        {**reference(*KUEUES), "spec/priority": None},
        "spec Invalid",
        good=reference(*KUEUES),
    ),
    of(
        "CRD: a class's group",
        JOB,
        reference("example.com", "WorkloadPriorityClass"),
        "spec.priorityClassRef.group NotSupported",
        good=reference("scheduling.k8s.io", "PriorityClass"),
    ),
    of(
        "CRD: a class's kind",
        JOB,
        reference("scheduling.k8s.io", "Priority"),
        "spec.priorityClassRef.kind NotSupported",
        good=reference("scheduling.k8s.io", "PriorityClass"),
    ),
    of(
        "CRD: the kind in kueue.x-k8s.io",
        JOB,
        reference("kueue.x-k8s.io", "PriorityClass"),
        "spec.priorityClassRef Invalid",
        good=reference(*KUEUES),
    ),
    of(
        "CRD: the kind in scheduling.k8s.io",
        JOB,
        reference("scheduling.k8s.io", "WorkloadPriorityClass"),
        "spec.priorityClassRef Invalid",
        good=reference("scheduling.k8s.io", "PriorityClass"),
    ),
    of(
        "KEP-8303 at most 8 gates",
        JOB,
        gates(*(f"g{number}" for number in range(MAX_GATES + 1))),
        "spec.preemptionGates TooMany",
        good=gates(*(f"g{number}" for number in range(MAX_GATES))),
    ),
    of(
        "KEP-8303 a gate once",
        JOB,
        gates("a", "a"),
        "spec.preemptionGates[1] Duplicate",
        good=gates("a", "b"),
    ),
    *(
        of(
            f"KEP-8303 the name {bad!r}",
            JOB,
            gates("a", bad),
            "spec.preemptionGates[1].name Invalid",
            good=gates("a", good),
        )
        for good, bad in (
            ("gate", "-gate"),
            ("example.com/gate", "example.com/"),
            ("kueue.x-k8s.io/multikueue", "Example.com/gate"),
            ("A_b.C-1", "a b"),
            ("a/b", "a/b/c"),
        )
    ),
    of(
        "KEP-8303 the length of a name",
        JOB,
        gates("a" * 64),
        "spec.preemptionGates[0].name TooLong",
        good=gates("a" * 63),
    ),
    of(
        "webhook: labels of pods",
        JOB,
        {f"{POD_SET}/template/metadata": {"labels": {"a": "b c"}}},
        f"{POD_SET_FIELD}.template.metadata.labels Invalid",
        good={f"{POD_SET}/template/metadata": {"labels": {"a": "b"}}},
    ),
    of(
        "webhook: annotations of pods",
        JOB,
        {f"{POD_SET}/template/metadata": {"annotations": {"/a": ""}}},
        f"{POD_SET_FIELD}.template.metadata.annotations Invalid",
        good={f"{POD_SET}/template/metadata": {"annotations": {"A": "b c"}}},
    ),
    *(
        of(
            f"webhook: {field} of pods",
            JOB,
            {f"{CONTAINER}/resources": {field: {"pods": 1}}},
            f"{POD_SET_FIELD}.{RESOURCES}.{field}[pods] Invalid",
            good={f"{CONTAINER}/resources": {field: {"example.com/pods": 1}}},
        )
        for field in ("requests", "limits")
    ),
    *(
        of(
            f"webhook: {field} are not negative",
            JOB,
            {f"{CONTAINER}/resources": {field: {"cpu": "-1m"}}},
            f"{POD_SET_FIELD}.{RESOURCES}.{field}[cpu] Invalid",
            good={f"{CONTAINER}/resources": {field: {"cpu": "0"}}},
        )
        for field in ("requests", "limits")
    ),
    of(
        "webhook: resources of init containers",
        JOB,
        {f"{POD_SET}/template/spec/initContainers": [{"name": "i", "resources": {"limits": {"cpu": -1}}}]},
        f"{POD_SET_FIELD}.template.spec.initContainers[0].resources.limits[cpu] Invalid",
        good={
            f"{POD_SET}/template/spec/initContainers": [{"name": "i", "resources": {"limits": {"cpu": 1}}}]
        },
    ),
    of(
        "webhook: resources of the pod",
        JOB,
        {f"{POD_SET}/template/spec/resources": {"requests": {"cpu": -1}}},
        f"{POD_SET_FIELD}.template.spec.resources.requests[cpu] Invalid",
        good={f"{POD_SET}/template/spec/resources": {"requests": {"cpu": 1}}},
    ),
    of(
        "webhook: one minCount",
        JOB,
        {f"{POD_SET}/minCount": 1, "spec/podSets/1/minCount": 1},
        "spec.podSets Invalid",
        good={"spec/podSets/1/minCount": 1},
    ),
    *(
        of(
            f"webhook: the gates of admission {bad!r}",
            workload(annotations={GATED_BY: f"{bad},example.com/b"}),
            gated_by(bad),
            f"{GATED_BY_FIELD} {kind}",
            good=gated_by("example.com/b"),
        )
        for bad, kind in (("example.com/a,example.com/a", "Invalid"), ("example.com/" + "x" * 52, "TooLong"))
    ),
    of(
        "webhook: no gates of admission later",
        JOB,
        gated_by("example.com/a"),
        f"{GATED_BY_FIELD} Forbidden",
        good=gated_by(""),
        creates=False,
    ),
    of(
        "webhook: the size of annotations",
        JOB,
        {f"{POD_SET}/template/metadata": {"annotations": {"a": "x" * 262144}}},
        f"{POD_SET_FIELD}.template.metadata.annotations TooLong",
        good={f"{POD_SET}/template/metadata": {"annotations": {"a": "x" * 262143}}},
    ),
    of(
        "no minCount in an elastic job",
        workload(annotations={"kueue.x-k8s.io/elastic-job": "true"}),
        {"spec/podSets/1/minCount": 1},
        "spec.podSets Invalid",
        good={"spec/podSets/1/count": 1},
    ),
    of(
        "webhook: names of gates of admission",
        workload(annotations={GATED_BY: "example.com/a,example.com/b"}),
        gated_by("example.com/a,"),
        f"{GATED_BY_FIELD} Invalid",
        on_update=f"{GATED_BY_FIELD} Forbidden, {GATED_BY_FIELD} Invalid",
        good=gated_by("example.com/a"),
    ),
    of(
        "webhook: gates of admission come with the Workload",
        workload(annotations={GATED_BY: "example.com/a,example.com/b"}),
        gated_by("example.com/a,example.com/c"),
        f"{GATED_BY_FIELD} Forbidden",
        good=gated_by("example.com/b"),
        creates=False,
    ),
    of(
        "quantities that Go can read",
        JOB,
        {f"{CONTAINER}/resources": {"requests": {"cpu": "1e1.5"}}},
        f"{POD_SET_FIELD}.{RESOURCES}.requests[cpu] Invalid",
        good={f"{CONTAINER}/resources": {"requests": {"cpu": "1e1"}}},
    ),
)

HELD: Final = workload(
    status=reserved(),
    queueName="queue",
    priority=1,
    priorityClassRef=reference("scheduling.k8s.io", "PriorityClass")["spec/priorityClassRef"],
)
ADMITTED: Final[Json] = {
    **workload(maximumExecutionTimeSeconds=60),
    "status": {**reserved(), "conditions": [condition("QuotaReserved"), condition("Admitted")]},
}


def held(name: str, bad: Edits, *causes: str, base: Json = HELD, good: Edits | None = None) -> Rule:
    """A rule about changes while quota is reserved."""
    return of(f"{name} while quota is reserved", base, bad, *causes, good=good, creates=False)


WHILE_RESERVED: Final = (
    held(
        "CRD: priorityClassRef stays",
        {"spec/priorityClassRef": ABSENT},
        "<nil> Invalid",
        good={"spec/priority": 2},
    ),
    held(
        "CRD: its group and kind stay",
        {"spec/priorityClassRef/group": KUEUES[0], "spec/priorityClassRef/kind": KUEUES[1]},
        "<nil> Invalid",
    ),
    held("CRD: the name of a PriorityClass stays", {"spec/priorityClassRef/name": "low"}, "<nil> Invalid"),
    held("CRD: queueName stays", {"spec/queueName": "other"}, "<nil> Invalid"),
    held(
        "CRD: maximumExecutionTimeSeconds stays",
        {"spec/maximumExecutionTimeSeconds": 61},
        "<nil> Invalid",
        base=ADMITTED,
        good={"spec/active": False},
    ),
    held(
        "webhook: pods do not become more",
        {"spec/podSets/1/count": 5},
        "spec.podSets.1 Invalid",
        good={"spec/podSets/1/count": 3},
    ),
    held(
        "webhook: there are no more pod sets",
        {"spec/podSets/2": pod_set("more", 1)},
        "spec.podSets Invalid",
        base=workload(status={"conditions": [condition("QuotaReserved")]}),
        good={"spec/podSets/1/count": 3},
    ),
    held(
        "webhook: pod sets stay",
        {"spec/podSets/1/template/spec/containers/0/resources/requests/cpu": "2"},
        "spec.podSets.1 Invalid",
        good={"spec/podSets/1/template/spec/containers/0/resources/requests/cpu": "1000m"},
    ),
)

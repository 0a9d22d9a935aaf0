"""Objects that are huge, or hugely wrong, get an answer of reasonable size."""

from __future__ import annotations

from schema.verdict import Verdict
from tests.kit.manifests import (
    cluster_queue,
    created,
    group,
    pairs,
    pod_set,
    reserved,
    updated,
    workload,
)
from webhooks.rules import Object
from webhooks.rules.kueue import MOST_CAUSES

MEGABYTE = 1 << 20


def size(verdict: Verdict) -> int:
    return sum(len(str(cause)) for cause in verdict.causes)


def test_a_number_without_end_is_read() -> None:
    nines = "9" * MEGABYTE
    assert created(cluster_queue(resourceGroups=[group(("cpu",), "spot", nominalQuota=nines)])).allowed
    verdict = created(cluster_queue(resourceGroups=[group(("cpu",), "spot", nominalQuota=nines + "x")]))
    assert pairs(verdict) == [("spec.resourceGroups[0].flavors[0].resources[0].nominalQuota", "Invalid")]
    assert size(verdict) < 1000


def test_numbers_without_end_that_are_stored_are_compared() -> None:
    def held(cpu: str) -> Object:
        return workload(
            podSets=[pod_set("driver", 1, {"cpu": cpu}), pod_set("workers", 4)], status=reserved()
        )

    zeros = "1" + "0" * MEGABYTE
    assert pairs(updated(held(zeros), held("1"))) == [("spec.podSets.0", "Invalid")]
    assert pairs(updated(held("1" + "0" * 4000), held("1" + "0" * 3999))) == [("spec.podSets.0", "Invalid")]
    assert updated(held("1" + "0" * 4000), held("1" + "0" * 3997 + "k")).allowed


def test_an_annotation_of_nothing_but_commas() -> None:
    verdict = created(workload(annotations={"kueue.x-k8s.io/admission-gated-by": "," * (MEGABYTE // 4)}))
    assert len(verdict.causes) == MOST_CAUSES


def test_an_annotation_of_many_gates() -> None:
    gates = ",".join(f"a.b/{n}" for n in range(MEGABYTE // 32))
    old = workload(annotations={"kueue.x-k8s.io/admission-gated-by": gates})
    assert updated(old, workload(annotations={"kueue.x-k8s.io/admission-gated-by": gates})).allowed
    verdict = updated(
        old, workload(annotations={"kueue.x-k8s.io/admission-gated-by": gates.replace("a.b", "c.d")})
    )
    assert len(verdict.causes) == 1
    assert size(verdict) < 1000


def test_checks_on_flavors_that_the_queue_does_not_have() -> None:
    groups = [group((f"r{i}",), *(f"{'x' * 240}-{i}-{j}" for j in range(64))) for i in range(4)]
    checks = [{"name": f"c{i}", "onFlavors": [f"gone-{j}" for j in range(64)]} for i in range(64)]
    queue = cluster_queue(resourceGroups=groups, admissionChecksStrategy={"admissionChecks": checks})
    verdict = created(queue)
    assert len(verdict.causes) == 64 * 64
    assert size(verdict) < 8 * MEGABYTE

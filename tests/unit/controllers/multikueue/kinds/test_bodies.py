"""What is created in a worker cluster."""

from __future__ import annotations

from typing import Any, Final

import pytest

from api.kueue import RESOURCE_IN_USE
from controllers.jobs.batch.workload_of import matches, pod_sets, wish_of, workload_body, workload_name
from controllers.jobs.owned_workload import Classes
from controllers.multikueue.kinds.bodies import copy_body, job_body
from controllers.multikueue.life.seen import Mark
from tests.kit.jobs import job, merge, read_job, read_workload

Json = dict[str, Any]
MARK: Final = Mark("manager", "uid", "2026-01-01T00:00:00Z")
ORIGIN: Final = "kueue.x-k8s.io/multikueue-origin"
NAME: Final = "kueue.x-k8s.io/prebuilt-workload-name"
LEAST: Final = "kueue.x-k8s.io/job-min-parallelism"
FOLLOWS: Final = "kueue.x-k8s.io/job-completions-equal-parallelism"
GATE: Final = "kueue.x-k8s.io/multikueue"


def both(body: Json, admitted: int | None = None) -> tuple[Json, Json]:
    """A Job here and its Workload, which has quota for this number of pods."""
    made = read_job(body)
    workload = workload_body(made, wish_of(made, Classes({}, {})))
    workload["metadata"]["uid"] = "w"
    if admitted is not None:
        assignment = {"name": "main", "flavors": {"cpu": "spot"}, "count": admitted}
        workload["status"] = {"admission": {"clusterQueue": "q", "podSetAssignments": [assignment]}}
    return body, workload


def sent(body: Json, admitted: int | None = None) -> tuple[Json, Json]:
    """What is created there."""
    local, workload = both(body, admitted)
    copy = copy_body(workload, MARK, "manager-1", has_gate=True)
    return job_body(local, workload, MARK, "manager-1"), copy


def test_a_copy_has_what_the_workload_asks_for_and_whose_it_is() -> None:
    _, workload = both(job())
    workload["spec"] |= {"preemptionGates": [{"name": "example.com/own"}], "active": False, "priority": 3}
    workload["metadata"] |= {"annotations": {"own": "x"}}
    workload["metadata"]["labels"]["team"] = "a"
    copy = copy_body(workload, MARK, "manager-1", has_gate=True)
    assert copy["metadata"] == {
        "name": workload["metadata"]["name"],
        "namespace": "ns",
        "labels": {"team": "a", ORIGIN: "manager-1"},
        "annotations": {"own": "x", "reprieve.dev/dispatched-by": "manager/uid/2026-01-01T00:00:00Z"},
    }
    assert copy["spec"] == {**workload["spec"], "active": True, "preemptionGates": [{"name": GATE}]}
    assert "status" not in copy
    assert "preemptionGates" not in copy_body(workload, MARK, "manager-1", has_gate=False)["spec"]
    assert workload["metadata"]["finalizers"] == [RESOURCE_IN_USE], "nothing was changed in place"


def test_a_job_there_is_suspended_and_belongs_to_that_cluster() -> None:
    """14734: a TTL would delete it before its end is known here, and it would run again."""
    body = job(
        suspend=False,
        managedBy=GATE,
        ttlSecondsAfterFinished=5,
        selector={"matchLabels": {"own": "x"}},
        manualSelector=True,
        backoffLimit=4,
    )
    body["metadata"] |= {"ownerReferences": [{"kind": "CronJob"}], "finalizers": ["example.com/own"]}
    made, copy = sent(body)
    assert made["spec"] == {
        "suspend": True,
        "parallelism": 2,
        "completions": 2,
        "backoffLimit": 4,
        "template": {"metadata": {"labels": {"app": "train"}}, "spec": body["spec"]["template"]["spec"]},
    }
    name = copy["metadata"]["name"]
    assert made["metadata"] == {
        "name": "train",
        "namespace": "ns",
        "labels": {"kueue.x-k8s.io/queue-name": "q", ORIGIN: "manager-1", NAME: name},
        "annotations": {"reprieve.dev/dispatched-by": str(MARK), NAME: name},
    }
    assert "status" not in made


def test_a_name_that_is_no_label_is_only_an_annotation() -> None:
    body = job()
    body["metadata"]["name"] = "a" * 60
    made, copy = sent(body)
    assert len(copy["metadata"]["name"]) > 63
    assert made["metadata"]["annotations"][NAME] == copy["metadata"]["name"]
    assert NAME not in made["metadata"]["labels"]


@pytest.mark.parametrize(
    ("spec", "annotations", "admitted", "numbers", "least"),
    [
        ({"parallelism": 8, "completions": 20}, {}, 8, (8, 20, 8), None),
        ({"parallelism": 8, "completions": 20}, {}, 3, (3, 20, 3), None),  # five are reclaimable
        ({"parallelism": 8, "completions": 20}, {LEAST: "2"}, 8, (8, 20, 8), 2),
        ({"parallelism": 8, "completions": 20}, {LEAST: "2"}, 3, (3, 20, 3), 2),
        ({"parallelism": 8, "completions": 20}, {LEAST: "3"}, 3, (3, 20, 3), None),
        ({"parallelism": 8, "completions": 3}, {}, 3, (8, 3, 3), None),
        (
            {"parallelism": 8, "completions": 8, "completionMode": "Indexed"},
            {LEAST: "2", FOLLOWS: "true"},
            5,
            (5, 5, 5),
            2,
        ),
    ],
)
def test_no_cluster_runs_more_pods_than_have_quota_here(
    spec: Json,
    annotations: dict[str, str],
    admitted: int,
    numbers: tuple[int, int, int],
    least: int | None,
) -> None:
    """The Job and the copy agree: otherwise the worker says OutOfSync."""
    body = job(**spec)
    body["metadata"]["annotations"] = annotations
    made, copy = sent(body, admitted)
    (pods,) = copy["spec"]["podSets"]
    assert (made["spec"]["parallelism"], made["spec"]["completions"], pods["count"]) == numbers
    assert pods.get("minCount") == least
    assert made["metadata"]["annotations"].get(LEAST) == (str(least) if least is not None else None)


@pytest.mark.parametrize("admitted", [None, 1, 3, 8])
@pytest.mark.parametrize("least", ["", "1", "3"])
def test_a_worker_takes_the_job_for_what_its_copy_says(admitted: int | None, least: str) -> None:
    body = job(parallelism=8, completions=20)
    body["metadata"]["annotations"] = {LEAST: least} if least else {}
    made, copy = sent(body, admitted)
    there = read_job(merge(made, {"metadata": {"uid": "there"}}))
    assert matches(there, read_workload(copy))
    assert pod_sets(there) == copy["spec"]["podSets"]
    assert workload_name(there) == copy["metadata"]["name"]

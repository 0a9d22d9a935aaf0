"""Jobs that change, workers that refuse, and people who edit what is ours. All of it on real control planes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import pytest

from api.multikueue import DISPATCHED_BY, MULTIKUEUE_GATE, ORIGIN_LABEL
from hack.controlplane.client import ApiError, Json, path_of
from tests.e2e.job_sandbox import BATCH
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import REPRIEVE, wait_for
from tests.kit.often import SELDOM
from tests.multicluster.box import Box, Boxes
from tests.multicluster.trio import MANAGER, Trio

ADMISSION: Final = "admissionregistration.k8s.io/v1"


def _said(box: Box, workload: str) -> str:
    """The message of the check."""
    body = box.manager.find(workload) or {}
    checks = body.get("status", {}).get("admissionChecks") or [{"message": ""}]
    return str(checks[0].get("message", ""))


def _until_said(box: Box, workload: str, text: str) -> None:
    wait_for(lambda: text in _said(box, workload), what=lambda: f"{_said(box, workload)}\n{box.story()}")


def _status(box: Box, job: str) -> Json:
    found: Json = (box.manager.find_job(job) or {}).get("status", {})
    return found


def _ends(box: Box, job: str) -> dict[str, str]:
    """Conditions of the Job here that are True, with their reasons."""
    conditions = _status(box, job).get("conditions") or ()
    return {each["type"]: each.get("reason", "") for each in conditions if each["status"] == "True"}


def _active(box: Box, job: str) -> list[str]:
    """The clusters that have a Job of this name which is not suspended."""
    found = {name: place.find_job(job) for name, place in box.workers.items()}
    return [name for name, body in found.items() if body is not None and not body["spec"].get("suspend")]


# ---- kinds of Jobs


@SELDOM
def test_a_job_that_goes_when_it_has_ended_shows_its_end_first(boxes: Boxes) -> None:
    """14734: neither its own time nor a worker's takes it away before."""
    box = boxes("ttl")
    box.job("train", 1, ttlSecondsAfterFinished=2)
    workload = box.workload_of("train")
    cluster = box.until_admitted(workload)
    box.places[cluster].until_running("train", 1)
    assert "ttlSecondsAfterFinished" not in box.places[cluster].get_job("train")["spec"]
    box.end(cluster, "train")
    wait_for(lambda: "Complete" in _ends(box, "train"), what=box.story)
    box.manager.client.delete(BATCH, "Job", "train", box.name)  # as the controller of such Jobs does
    box.until_no_copy(workload)
    wait_for(lambda: all(place.find_job("train") is None for place in box.workers.values()), what=box.story)


@SELDOM
def test_an_indexed_job_shows_which_indexes_failed(boxes: Boxes) -> None:
    box = boxes("indexed")
    box.job("train", 2, completionMode="Indexed", backoffLimitPerIndex=0, maxFailedIndexes=2)
    workload = box.workload_of("train")
    cluster = box.until_admitted(workload)
    place = box.places[cluster]
    place.until_running("train", 2)
    place.end_pods("train", 1, "Failed")
    wait_for(lambda: _status(box, "train").get("failedIndexes"), what=box.story)
    place.end_pods("train")
    wait_for(lambda: "Failed" in _ends(box, "train"), what=box.story)
    here, there = _status(box, "train"), place.find_job("train")
    if there is not None:
        for name in ("failedIndexes", "completedIndexes", "failed", "succeeded"):
            assert here.get(name) == there["status"].get(name), name
    box.until(workload, "Finished")
    box.until_no_copy(workload)


@SELDOM
@pytest.mark.parametrize("where", ["here", "there"])
def test_a_job_that_somebody_suspends_runs_again(boxes: Boxes, where: str) -> None:
    """As Jobs in queues do: the quota says what runs."""
    box = boxes("suspended")
    box.job("train", 2)
    workload = box.workload_of("train")
    cluster = box.until_admitted(workload)
    box.places[cluster].until_running("train", 2)
    place = box.manager if where == "here" else box.places[cluster]
    place.patch_job("train", {"spec": {"suspend": True}})
    wait_for(
        lambda: not box.manager.is_suspended("train") and len(_active(box, "train")) == 1,
        what=lambda: f"it does not run again\n{box.story()}",
    )
    winner = box.until_admitted(workload)
    box.places[winner].until_running("train", 2)


@SELDOM
def test_a_job_with_another_number_of_pods_runs_with_them_in_one_cluster(boxes: Boxes) -> None:
    box = boxes("parallel")
    box.job("train", 2, completions=8)
    box.places[box.until_admitted(box.workload_of("train"))].until_running("train", 2)
    box.manager.patch_job("train", {"spec": {"parallelism": 3}})

    def runs() -> bool:
        pods = {name: len(place.pods("train")) for name, place in box.workers.items()}
        return sorted(pods.values()) == [0, 3]

    wait_for(runs, what=lambda: f"no cluster runs three pods\n{box.story()}")
    wait_for(lambda: _status(box, "train").get("active") == 3, what=box.story)


@SELDOM
def test_a_job_that_is_made_anew_at_once_gets_nothing_of_the_former_one(boxes: Boxes) -> None:
    box = boxes("anew")
    for number in range(4):
        box.job("train", 1 + number % 2)
        if number == 1:
            box.until_admitted(box.workload_of("train"))
        elif number == 2:
            box.workload_of("train")
        if number < 3:
            box.manager.client.delete(BATCH, "Job", "train", box.name)
            wait_for(lambda: box.manager.find_job("train") is None, what=box.story)
    workload = box.workload_of("train")
    cluster = box.until_admitted(workload)
    box.places[cluster].until_running("train", 2)
    uid = box.manager.get(workload)["metadata"]["uid"]

    def is_right() -> bool:
        jobs = [body for place in box.workers.values() if (body := place.find_job("train")) is not None]
        copies = [copy for place in box.workers.values() for copy in place.copies()]
        marks = [each["metadata"]["annotations"][DISPATCHED_BY] for each in (*jobs, *copies)]
        return len(jobs) == 1 and len(copies) == 1 and all(uid in mark for mark in marks)

    wait_for(is_right, what=lambda: f"something of a former Job is left\n{box.story()}")


# ---- workers that refuse


@SELDOM
def test_a_namespace_that_is_being_deleted_there_puts_its_cluster_out(boxes: Boxes) -> None:
    box = boxes("terminating", beta=1)
    keeps = {"apiVersion": "v1", "kind": "ConfigMap"}
    box.alpha.client.create(
        {**keeps, "metadata": {"name": "keeps", "namespace": box.name, "finalizers": ["example.com/keeps"]}}
    )
    box.alpha.client.delete("v1", "Namespace", box.name)
    box.job("train", 1)
    assert box.until_admitted(box.workload_of("train")) == "beta"
    box.job("large", 3)  # beta is too small for it
    _until_said(box, box.workload_of("large"), "alpha: not in this attempt: ")
    box.alpha.client.patch("v1", "ConfigMap", "keeps", {"metadata": {"finalizers": None}}, box.name)


@SELDOM
def test_a_resource_quota_there_that_refuses_the_job_puts_its_cluster_out(boxes: Boxes) -> None:
    box = boxes("refused", beta=0)
    none = {"count/jobs.batch": "0"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": box.name}}
    box.alpha.client.create({**quota, "spec": {"hard": none}})
    status = {"status": {"hard": none, "used": none}}  # nobody counts here
    box.alpha.client.patch("v1", "ResourceQuota", "none", status, box.name, subresource="status")
    box.job("train", 1)
    workload = box.workload_of("train")
    _until_said(box, workload, "or a quota or policy refuses it (403)")
    box.beta.set_quota("q", 4)
    assert box.until_admitted(workload) == "beta"


@SELDOM
def test_a_limit_range_there_that_changes_pods_changes_no_copy(boxes: Boxes) -> None:
    """Its requests would count for the quota there, as for any Workload. Limits do not."""
    box = boxes("limits", beta=0)
    default = {"cpu": "1"}
    box.alpha.client.create(
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "cpu", "namespace": box.name},
            "spec": {"limits": [{"type": "Container", "default": default, "defaultRequest": default}]},
        }
    )
    box.job("train", 2)
    workload = box.workload_of("train")
    assert box.until_admitted(workload) == "alpha"
    box.alpha.until_running("train", 2)
    uid = box.alpha.get(workload)["metadata"]["uid"]
    time.sleep(3)
    assert box.alpha.get(workload)["metadata"]["uid"] == uid


@contextmanager
def _policy(box: Box, resource: str, group: str) -> Iterator[None]:
    """A policy in alpha that refuses what the manager creates in the namespace."""
    name, client = f"{box.name}-refuses", box.alpha.client
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [resource]}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": box.name}}
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selector},
        "validations": [{"expression": "false", "message": "a secret of alpha"}],
    }
    binding = {"policyName": name, "validationActions": ["Deny"]}
    for kind, spec in (("ValidatingAdmissionPolicy", policy), ("ValidatingAdmissionPolicyBinding", binding)):
        client.create({"apiVersion": ADMISSION, "kind": kind, "metadata": {"name": name}, "spec": spec})
    probe = {"metadata": {"generateName": "probe-", "namespace": box.name}}

    def refuses() -> bool:
        try:
            return not client.admits({**_minimal(resource), **probe})
        except ApiError as error:
            return error.status == 422

    try:
        wait_for(refuses, what=lambda: "no policy")
        yield
    finally:
        for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
            client.delete(ADMISSION, kind, name)


def _minimal(resource: str) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    if resource == "jobs":
        return {"apiVersion": BATCH, "kind": "Job", "spec": {"suspend": True, "template": template}}
    spec = {"active": False, "podSets": [{"name": "main", "count": 1, "template": template}]}
    return {"apiVersion": KUEUE, "kind": "Workload", "spec": spec}


@SELDOM
@pytest.mark.parametrize(("resource", "group"), [("workloads", "kueue.x-k8s.io"), ("jobs", "batch")])
def test_a_policy_there_that_refuses_puts_its_cluster_out_and_is_not_quoted(
    boxes: Boxes, resource: str, group: str
) -> None:
    box = boxes("policy", beta=0)
    with _policy(box, resource, group):
        box.job("train", 1)
        workload = box.workload_of("train")
        _until_said(box, workload, "alpha: not in this attempt: ")
        assert "secret" not in str(box.manager.get(workload))
        box.beta.set_quota("q", 4)
        assert box.until_admitted(workload) == "beta"


# ---- people who edit


@SELDOM
def test_gates_that_somebody_opens_and_closes_all_the_time_get_no_second_turn(boxes: Boxes) -> None:
    """And after it, one gate at a time is open."""
    box = boxes("hands", alpha=1, beta=1)
    for name in box.workers:
        box.fill(name, "low", 1, stays=True)
    box.job("train", 1, priority=10)
    workload = box.workload_of("train")
    wait_for(lambda: any(box.gate(workload, name) == "Open" for name in box.workers), what=box.story)
    stop = threading.Event()

    def play() -> None:
        position = "Open"
        while not stop.is_set():
            for place in box.workers.values():
                time_ = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                gate = {"name": MULTIKUEUE_GATE, "position": position, "lastTransitionTime": time_}
                with suppress(ApiError):
                    place.client.patch(
                        KUEUE,
                        "Workload",
                        workload,
                        {"status": {"preemptionGates": [gate]}},
                        box.name,
                        subresource="status",
                    )
            position = "Closed" if position == "Open" else "Open"
            time.sleep(0.05)

    player = threading.Thread(target=play, daemon=True)
    player.start()
    time.sleep(6)
    stop.set()
    player.join()
    plans = box.manager.client.list(REPRIEVE, "DispatchPlan", box.name)
    assert len(plans) <= 3, plans

    def is_one() -> bool:
        return [box.gate(workload, name) for name in box.workers].count("Open") == 1

    wait_for(is_one, what=box.story)
    for name in box.workers:
        box.let_go(name, "low")
    box.until_admitted(workload)


@SELDOM
def test_a_user_who_edits_marks_changes_nothing(boxes: Boxes) -> None:
    """Labels and annotations of the Workload and the Job here that copies bear, too."""
    box = boxes("marks")
    forged = {DISPATCHED_BY: "another/uid/2026-01-01T00:00:00Z", "reprieve.dev/fenced-by": "nobody/9"}
    box.job("train", 1, labels={ORIGIN_LABEL: "another"}, annotations=forged)
    workload = box.workload_of("train")
    cluster = box.until_admitted(workload)
    box.places[cluster].until_running("train", 1)
    meta = {"metadata": {"annotations": forged, "labels": {ORIGIN_LABEL: "another"}}}
    with suppress(ApiError):
        box.manager.client.patch(KUEUE, "Workload", workload, meta, box.name)
    with suppress(ApiError):
        box.manager.client.patch(KUEUE, "Workload", workload, {"metadata": {"labels": None}}, box.name)
    uid = box.places[cluster].get_job("train")["metadata"]["uid"]
    box.job("next", 1)
    box.until_admitted(box.workload_of("next"))
    assert box.places[cluster].get_job("train")["metadata"]["uid"] == uid
    copy = box.places[cluster].get(workload)["metadata"]
    assert copy["labels"][ORIGIN_LABEL] == "multikueue"
    box.end(cluster, "train")
    box.until(workload, "Finished")
    box.until_no_copy(workload)


@SELDOM
def test_plans_that_somebody_deletes_come_again_or_are_not_needed(boxes: Boxes) -> None:
    box = boxes("plans", alpha=1, beta=1)
    for name in box.workers:
        box.fill(name, "low", 1, stays=True)
    box.job("train", 1, priority=10)
    workload = box.workload_of("train")
    for _ in range(5):
        wait_for(lambda: box.manager.client.list(REPRIEVE, "DispatchPlan", box.name), what=box.story)
        with suppress(ApiError):
            box.manager.client.request("DELETE", path_of(REPRIEVE, "DispatchPlan", box.name))
        time.sleep(0.5)
    for name in box.workers:
        box.let_go(name, "low")
    box.until_admitted(workload)


@SELDOM
def test_a_cluster_with_another_name_starts_with_nothing(boxes: Boxes, trio: Trio) -> None:
    """Its MultiKueueCluster is deleted, and another one is made with the same Secret, while it runs a Job."""
    box = boxes("renamed", beta=0)
    config = box.config(["alpha", "renamed"])
    box.job("train", 1)
    workload = box.workload_of("train")
    assert box.until_admitted(workload) == "alpha"
    client = trio.client(MANAGER)
    source = {"kubeConfig": {"location": "alpha", "locationType": "Secret"}}
    body = {"apiVersion": KUEUE, "kind": "MultiKueueCluster", "metadata": {"name": "renamed"}}
    try:
        client.create({**body, "spec": {"clusterSource": source}})
        client.delete(KUEUE, "MultiKueueCluster", "alpha")
        trio.fleet.add_config(config, ["renamed"])
        wait_for(
            lambda: (box.manager.get(workload).get("status") or {}).get("clusterName") == "renamed",
            what=lambda: f"{workload} is not sent anew\n{box.story()}",
        )
        box.until_admitted(workload)
        box.alpha.until_running("train", 1)
        marks = [each["metadata"]["annotations"][DISPATCHED_BY] for each in box.alpha.copies()]
        assert len(marks) == 1
    finally:
        client.delete(KUEUE, "MultiKueueCluster", "renamed")
        trio.fleet.add_cluster("alpha")
        trio.fleet.add_config(config, ["alpha", "beta"])
        wait_for(lambda: trio.conditions("alpha").get("Active") == "True", what=lambda: "alpha is not back")

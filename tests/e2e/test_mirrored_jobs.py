"""A real API server takes every status that a Job here gets from other clusters, and the Jobs that are sent to them.

It also checks the model of its rules (tests/kit/job_status.py), with statuses that were not made to please it.
"""

from __future__ import annotations

import random
from typing import Any, Final

import pytest

from controllers.multikueue.kinds.bodies import job_body
from controllers.multikueue.kinds.job_status import mirrored_status, status_patch
from controllers.multikueue.life.seen import Mark
from hack.controlplane import objects
from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.job_sandbox import BATCH
from tests.kit.job_status import ended, refusals

MARK: Final = Mark("manager", "uid", "2026-01-01T00:00:00Z")
GATE: Final = "kueue.x-k8s.io/multikueue"
KINDS: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet", "Complete", "Failed")
SPECS: Final[tuple[Json, ...]] = (
    {"parallelism": 2, "completions": 5},
    {"parallelism": 2},
    {"parallelism": 3, "completions": 3, "completionMode": "Indexed"},
    {"parallelism": 3, "completions": 5, "completionMode": "Indexed", "backoffLimitPerIndex": 1},
)
LIVES: Final = 12
STEPS: Final = 12
BEFORE_1_36: Final = "startTime changes"
"""The only rule of the model that newer API servers do not have in full."""


def time(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def said(kind: str, second: int = 9) -> Json:
    return {
        "type": kind,
        "status": "True",
        "reason": kind,
        "message": "m",
        "lastTransitionTime": time(second),
    }


class Mirror:
    """A Job that runs elsewhere."""

    def __init__(self, client: Client, namespace: str, name: str, spec: Json) -> None:
        self.client, self.namespace, self.name = client, namespace, name
        pod = objects.pod("template", restartPolicy="Never")["spec"]
        body = {**spec, "suspend": True, "managedBy": GATE, "template": {"spec": pod}}
        meta = {"name": name, "namespace": namespace, "labels": {}}
        self.job = client.create({"apiVersion": BATCH, "kind": "Job", "metadata": meta, "spec": body})

    def suspend(self, suspend: bool) -> None:
        patch = {"spec": {"suspend": suspend}}
        self.job = self.client.patch(BATCH, "Job", self.name, patch, self.namespace)

    def show(self, remote: Json | None) -> Json:
        """Write what follows from the status there. Returns the status here."""
        status = mirrored_status(self.job, remote)
        if status is not None:
            patch = {"status": status_patch(self.job, status)}
            self.job = self.client.patch(BATCH, "Job", self.name, patch, self.namespace, "status")
            assert mirrored_status(self.job, remote) is None, "one write is enough"
        found: Json = self.job.get("status", {})
        return found

    def is_taken(self, status: Json) -> bool:
        """Whether the API server would take exactly this."""
        path = f"/apis/batch/v1/namespaces/{self.namespace}/jobs/{self.name}/status?dryRun=All"
        try:
            self.client.request("PUT", path, {**self.job, "status": status})
        except ApiError as error:
            if error.status != 422:
                raise
            return False
        return True


@pytest.fixture
def namespace(api_plane: ControlPlane) -> str:
    name = "mirrored-jobs"
    if api_plane.client.find("v1", "Namespace", name) is None:
        api_plane.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def any_status(dice: random.Random) -> Json:
    """What a cluster may say of a Job, and what none would."""

    def perhaps(value: Any) -> Any:
        return value if dice.random() < 0.5 else None

    indexes = [",".join(map(str, sorted(dice.sample(range(6), dice.randint(0, 3))))) for _ in range(2)]
    kinds = dice.sample(KINDS, dice.choice((0, 0, 0, 1, 1, 2)))
    status = {
        **{
            name: perhaps(dice.randint(0, 3))
            for name in ("active", "ready", "terminating", "succeeded", "failed")
        },
        **{name: perhaps(time(dice.randint(0, 9))) for name in ("startTime", "completionTime")},
        "completedIndexes": perhaps(indexes[0]),
        "failedIndexes": perhaps(indexes[1]),
        "uncountedTerminatedPods": perhaps({"succeeded": ["a-pod"]}),
        "conditions": [said(kind, dice.randint(0, 9)) for kind in kinds],
    }
    return {key: value for key, value in status.items() if value not in (None, [])}


@pytest.mark.parametrize("number", range(LIVES))
def test_every_status_is_taken_whatever_came_before(
    api_plane: ControlPlane, namespace: str, number: int
) -> None:
    dice = random.Random(number)
    job = Mirror(api_plane.client, namespace, f"any-{number}", SPECS[number % len(SPECS)])
    for _ in range(STEPS):
        if dice.random() < 0.3:
            job.suspend(dice.random() < 0.5)
        status = any_status(dice)
        rules = list(refusals(job.job, status))
        if not any(each.startswith(BEFORE_1_36) for each in rules):
            assert job.is_taken(status) == (not rules), (rules, job.job, status)
        done = set(status.get("completedIndexes", "").split(","))
        if "failedIndexes" in status:  # no cluster says both of one index
            status["failedIndexes"] = ",".join(
                each for each in status["failedIndexes"].split(",") if each and each not in done
            )
        job.show(dice.choice((status, status, status, None)))


def test_a_second_attempt_in_another_cluster_ends_as_it_ends_there(
    api_plane: ControlPlane, namespace: str
) -> None:
    """The first one announced that it has failed, and was lost. The second clock is behind."""
    job = Mirror(api_plane.client, namespace, "twice", SPECS[3])
    job.suspend(False)
    runs = {"active": 3, "ready": 1, "startTime": time(5), "uncountedTerminatedPods": {"failed": ["a"]}}
    assert job.show(runs)["startTime"] == time(5)
    fails = {**runs, "ready": 0, "failed": 2, "succeeded": 1, "failedIndexes": "1", "completedIndexes": "0"}
    assert job.show({**fails, "conditions": [said("FailureTarget")]})["failed"] == 2
    job.suspend(True)
    assert "startTime" not in job.show(None)
    job.suspend(False)
    again = job.show({"active": 3, "ready": 3, "startTime": time(3), "failedIndexes": ""})
    assert (again["startTime"], again["failed"], again["succeeded"]) == (time(3), 2, 1)
    assert "completedIndexes" not in again
    done = {
        "startTime": time(3),
        "completionTime": time(4),
        "succeeded": 5,
        "ready": 0,
        "terminating": 0,
        "completedIndexes": "0-4",
        "failedIndexes": "",
        "uncountedTerminatedPods": {},
        "conditions": [said("SuccessCriteriaMet", 4), said("Complete", 4)],
    }
    status = job.show(done)
    assert ended(status)
    assert (status["succeeded"], status["failed"], status["completedIndexes"]) == (5, 2, "0-4")
    assert job.show({"active": 3}) == status, "nothing changes it any longer"


@pytest.mark.parametrize("manual", [False, True])
def test_an_api_server_takes_the_job_that_is_sent_to_it(
    api_plane: ControlPlane, namespace: str, manual: bool
) -> None:
    """14734: without ttlSecondsAfterFinished. Its selector, and the labels of its pods, are made there."""
    spec: Json = {**SPECS[2], "ttlSecondsAfterFinished": 1}
    pod = objects.pod("template", restartPolicy="Never")["spec"]
    name, template = f"sent-{manual}".lower(), {"metadata": {"labels": {"own": "x"}}, "spec": pod}
    if manual:
        spec |= {"manualSelector": True, "selector": {"matchLabels": {"own": "x"}}}
    meta = {"name": name, "namespace": namespace}
    body = {"apiVersion": BATCH, "kind": "Job", "metadata": meta}
    local = api_plane.client.create({**body, "spec": {**spec, "managedBy": GATE, "template": template}})
    api_plane.client.delete(BATCH, "Job", name, namespace)
    made = api_plane.client.create(job_body(local, {"metadata": {"name": "w"}, "spec": {}}, MARK, "origin"))
    uid = made["metadata"]["uid"]
    assert uid != local["metadata"]["uid"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert made["spec"]["template"]["metadata"]["labels"] == {
        "own": "x",
        "controller-uid": uid,
        "job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
    }
    assert "managedBy" not in made["spec"]
    assert "ttlSecondsAfterFinished" not in made["spec"]
    assert made["spec"]["suspend"]

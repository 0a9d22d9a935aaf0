"""Jobs in queues, as the API server and the webhook make them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import wait_for
from tests.kit.manifests import KUEUE

QUEUE_NAME = "kueue.x-k8s.io/queue-name"
MOST_SECONDS = "kueue.x-k8s.io/max-exec-time-seconds"


@pytest.fixture
def client(webhook_plane: ControlPlane) -> Client:
    return webhook_plane.client


@pytest.fixture
def namespace(client: Client) -> str:
    name = f"jobs-{uuid.uuid4().hex[:5]}"
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def job(namespace: str, name: str, labels: Mapping[str, str] | None = None, **spec: Any) -> Json:
    template = {
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "none"}]},
    }
    metadata: Json = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"template": template, **spec},
    }


def test_a_job_in_a_queue_is_suspended_and_checked(client: Client, namespace: str) -> None:
    alone = client.create(job(namespace, "alone"))
    assert not alone["spec"].get("suspend")
    queued = client.create(job(namespace, "queued", {QUEUE_NAME: "q", MOST_SECONDS: "60"}))
    assert queued["spec"]["suspend"] is True
    with pytest.raises(ApiError, match="is no number of seconds above 0"):
        client.create(job(namespace, "bad", {QUEUE_NAME: "q", MOST_SECONDS: "0"}))

    client.patch("batch/v1", "Job", "queued", {"metadata": {"labels": {QUEUE_NAME: "other"}}}, namespace)
    client.patch("batch/v1", "Job", "queued", {"spec": {"suspend": False}}, namespace)
    for labels in ({QUEUE_NAME: "q"}, {QUEUE_NAME: None}):
        with pytest.raises(ApiError, match="cannot change while the Job is not suspended"):
            client.patch("batch/v1", "Job", "queued", {"metadata": {"labels": labels}}, namespace)


def test_a_job_without_a_queue_gets_the_default_one(client: Client, namespace: str) -> None:
    body = {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": {"name": "default", "namespace": namespace},
    }
    client.create({**body, "spec": {"clusterQueue": "none"}})

    def made() -> Json | None:
        """The webhook learns of the LocalQueue a moment later."""
        found = client.create(job(namespace, f"j-{uuid.uuid4().hex[:5]}"))
        return found if found["metadata"].get("labels", {}).get(QUEUE_NAME) else None

    found = wait_for(made)
    assert found["metadata"]["labels"][QUEUE_NAME] == "default"
    assert found["spec"]["suspend"] is True


@pytest.mark.parametrize("suspend", [True, False])
def test_a_job_whose_queue_sends_it_to_another_cluster_is_not_run_here(
    client: Client, namespace: str, suspend: bool
) -> None:
    spec = {"admissionChecksStrategy": {"admissionChecks": [{"name": namespace}]}}
    check = {"controllerName": "kueue.x-k8s.io/multikueue"}
    for kind, meta, fields in (
        ("AdmissionCheck", {"name": namespace}, check),
        ("ClusterQueue", {"name": namespace}, spec),
        ("LocalQueue", {"name": "q", "namespace": namespace}, {"clusterQueue": namespace}),
    ):
        client.create({"apiVersion": KUEUE, "kind": kind, "metadata": meta, "spec": fields})

    def made() -> Json | None:
        """The webhook learns of the objects a moment later."""
        name = f"j-{uuid.uuid4().hex[:5]}"
        found = client.create(job(namespace, name, {QUEUE_NAME: "q"}, suspend=suspend))
        return found if "managedBy" in found["spec"] else None

    found = wait_for(made)
    assert found["spec"]["managedBy"] == "kueue.x-k8s.io/multikueue"
    assert found["spec"]["suspend"] is True
    client.delete(KUEUE, "ClusterQueue", namespace)
    client.delete(KUEUE, "AdmissionCheck", namespace)


def test_a_job_may_start_with_as_few_pods_as_suffice(client: Client, namespace: str) -> None:
    """Whoever admits it lowers parallelism in the write that resumes it, and raises it once it is suspended."""
    annotations = {
        "kueue.x-k8s.io/job-min-parallelism": "2",
        "kueue.x-k8s.io/job-completions-equal-parallelism": "true",
    }
    body = job(namespace, "elastic", {QUEUE_NAME: "q"}, parallelism=4, completions=4)
    body["metadata"]["annotations"] = annotations
    with pytest.raises(ApiError, match="is for Indexed Jobs only"):
        client.create(body)
    body["spec"]["completionMode"] = "Indexed"
    client.create(body)

    def patch(**spec: Any) -> Json:
        return client.patch("batch/v1", "Job", "elastic", {"spec": spec}, namespace)

    patch(suspend=False, parallelism=2, completions=2)
    with pytest.raises(ApiError, match="cannot change while the Job is not suspended"):
        patch(parallelism=3, completions=3)
    patch(suspend=True)
    given_back = patch(parallelism=4, completions=4)
    assert (given_back["spec"]["parallelism"], given_back["spec"]["completions"]) == (4, 4)

"""Who may do what in a worker cluster (manifests/multikueue-worker), and the account of hack/multikueue-kubeconfig."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import yaml

from api.multikueue import DISPATCHED_BY, FENCED_BY, MANAGER_NAMESPACE, MULTIKUEUE_GATE, ORIGIN_LABEL
from controllers.multikueue.clusters.kubeconfigs import parse
from hack.controlplane.access import access_of
from hack.controlplane.binaries import binaries
from hack.controlplane.client import ApiError, Client, Json
from hack.controlplane.components import QUOTA_FOLDERS
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import wait_until
from tests.e2e.running import Planes
from tests.e2e.support import may
from tests.kit.clock import PATIENCE_SECONDS

KUEUE = "kueue.x-k8s.io/v1beta2"
RBAC = "rbac.authorization.k8s.io/v1"
SCRIPT = Path(__file__).parents[2] / "hack" / "multikueue-kubeconfig"
CONTROLLER = "kueue"
"""As whom Kueue's controllers act here."""
TEAM, OTHER = "team", "other"
LABELS = {ORIGIN_LABEL: "multikueue"}
GATE = [{"name": MULTIKUEUE_GATE}]


def workload(name: str, namespace: str = TEAM, *, labels: Json | None = None, gated: bool = True) -> Json:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    spec = {"active": False, "podSets": [{"name": "main", "count": 1, "template": template}]}
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": name, "namespace": namespace, "labels": labels or {}},
        "spec": spec | ({"preemptionGates": GATE} if gated else {}),
    }


def job(name: str, namespace: str = TEAM, *, labels: Json | None = None) -> Json:
    template = workload("x")["spec"]["podSets"][0]["template"]
    meta = {"name": name, "namespace": namespace, "labels": labels or {}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": {"suspend": True, "template": template},
    }


def state(position: str) -> Json:
    time = "2026-01-01T00:00:00Z"
    return {"preemptionGates": [{"name": MULTIKUEUE_GATE, "position": position, "lastTransitionTime": time}]}


def patch(client: Client, body: Json, change: Json, subresource: str = "") -> Json:
    meta = body["metadata"]
    return client.patch(
        body["apiVersion"], body["kind"], meta["name"], change, meta["namespace"], subresource
    )


@pytest.fixture(scope="module")
def worker(running: Planes) -> Iterator[ControlPlane]:
    """A plane with the manifests, and somebody who may write all that Kueue's controllers write."""
    plane = running.start(Options(nodes=False, manifests=(*QUOTA_FOLDERS, "multikueue-worker")))
    for name in (TEAM, OTHER):
        plane.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    rules = [
        {"apiGroups": ["kueue.x-k8s.io"], "resources": ["workloads", "workloads/status"], "verbs": ["*"]},
        {"apiGroups": ["batch"], "resources": ["jobs", "jobs/status"], "verbs": ["*"]},
    ]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": CONTROLLER}
    user = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": CONTROLLER}
    meta = {"metadata": {"name": CONTROLLER}}
    plane.client.create({"apiVersion": RBAC, "kind": "ClusterRole", **meta, "rules": rules})
    plane.client.create(
        {"apiVersion": RBAC, "kind": "ClusterRoleBinding", **meta, "roleRef": role, "subjects": [user]}
    )
    yield plane
    running.stop(plane)


@pytest.fixture(scope="module")
def kueue(worker: ControlPlane) -> Iterator[Client]:
    """A client as Kueue's controllers. The policies are in force."""
    client = worker.client.impersonating(CONTROLLER, "system:authenticated")
    forged = workload("forged", labels=LABELS)
    wait_until(lambda: not client.admits(forged), PATIENCE_SECONDS, lambda: "the origin is not guarded")
    yield client
    client.close()


@pytest.fixture(scope="module")
def secret(worker: ControlPlane) -> Json:
    """What the script prints."""
    kubectl = binaries(["kubectl"])["kubectl"]
    environment = os.environ | {
        "PATH": f"{kubectl.parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(worker.kubeconfig),
    }
    result = subprocess.run(
        [SCRIPT, "alpha", "--duration", "1h", TEAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    value: Json = yaml.safe_load(result.stdout)
    return value


@pytest.fixture(scope="module")
def manager(secret: Json, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client with that kubeconfig."""
    file = tmp_path_factory.mktemp("kubeconfig") / "config"
    file.write_text(secret["stringData"]["kubeconfig"])
    client = Client(*access_of(file))
    yield client
    client.close()


def forbidden(call: Callable[[], object]) -> str:
    with pytest.raises(ApiError) as caught:
        call()
    assert caught.value.status == 403
    return str(caught.value)


def test_the_script_prints_a_secret_that_a_manager_takes(secret: Json, worker: ControlPlane) -> None:
    assert secret["metadata"] == {"name": "alpha", "namespace": MANAGER_NAMESPACE}
    access = parse(secret["stringData"]["kubeconfig"].encode())
    assert access.token
    assert access.authorities.strip() == worker.layout.authority.pair.certificate.read_text().strip()


def test_the_manager_writes_only_where_a_namespace_takes_part(manager: Client, kueue: Client) -> None:
    """14755."""
    manager.list(KUEUE, "Workload")
    manager.list("batch/v1", "Job")
    manager.create(workload("copy", labels=LABELS))
    manager.create(job("copy", labels=LABELS))
    forbidden(partial(manager.create, workload("copy", OTHER, labels=LABELS)))
    forbidden(partial(manager.create, job("copy", OTHER, labels=LABELS)))
    assert not any(may(manager, "list", kind) for kind in ("secrets", "pods", "configmaps"))
    manager.create(workload("probe", MANAGER_NAMESPACE))
    manager.delete(KUEUE, "Workload", "probe", MANAGER_NAMESPACE)


@pytest.mark.parametrize("make", [workload, job])
def test_only_the_manager_says_what_is_a_copy(
    make: Callable[..., Json], manager: Client, kueue: Client
) -> None:
    own, copied = make("own-label"), make("copied-label", labels=LABELS)
    assert "only a manager" in forbidden(lambda: kueue.create(make("forged", labels=LABELS)))
    kueue.create(own)
    manager.create(copied)
    forbidden(lambda: patch(kueue, own, {"metadata": {"labels": LABELS}}))
    forbidden(lambda: patch(kueue, copied, {"metadata": {"labels": {ORIGIN_LABEL: "another"}}}))
    forbidden(lambda: patch(kueue, copied, {"metadata": {"labels": {ORIGIN_LABEL: None}}}))
    patch(kueue, copied, {"metadata": {"labels": {"kueue.x-k8s.io/job-uid": "u"}}})
    patch(kueue, copied, {"metadata": {"annotations": {"a": "b"}}})


@pytest.mark.parametrize("make", [workload, job])
@pytest.mark.parametrize("annotation", [DISPATCHED_BY, FENCED_BY])
def test_only_the_manager_says_whose_a_copy_is(
    make: Callable[..., Json], annotation: str, manager: Client, kueue: Client
) -> None:
    """A tenant of the worker could otherwise hide a Job from its manager, or keep what a former attempt left."""
    end = annotation.rpartition("/")[2]
    marked, free = make(f"marked-{end}", labels=LABELS), make(f"free-{end}")
    marked["metadata"]["annotations"] = {annotation: "here/uid/attempt"}
    manager.create(marked)
    kueue.create(free)
    for value in ("other/uid/attempt", None):
        forbidden(partial(patch, kueue, marked, {"metadata": {"annotations": {annotation: value}}}))
    forbidden(lambda: patch(kueue, free, {"metadata": {"annotations": {annotation: "here/uid/attempt"}}}))
    forged = make(f"forged-{end}")
    forged["metadata"]["annotations"] = {annotation: "here/uid/attempt"}
    forbidden(lambda: kueue.create(forged))
    # What controllers write beside them.
    patch(kueue, marked, {"metadata": {"annotations": {"a": "b"}, "finalizers": ["example.com/own"]}})
    patch(kueue, marked, {"metadata": {"finalizers": None}})
    patch(manager, marked, {"metadata": {"annotations": {annotation: "here/uid/next"}}})


def test_only_the_manager_opens_the_gate(manager: Client, kueue: Client) -> None:
    body = workload("gated", labels=LABELS)
    manager.create(body)
    patch(kueue, body, {"status": state("Closed")}, "status")
    assert "opens the preemption gate" in forbidden(
        lambda: patch(kueue, body, {"status": state("Open")}, "status")
    )
    patch(manager, body, {"status": state("Open")}, "status")
    # What Kueue's controllers write while it is open: conditions, the gate as it is, and closing it.
    condition = {
        "type": "QuotaReserved",
        "status": "False",
        "reason": "Pending",
        "message": "m",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    patch(kueue, body, {"status": {"conditions": [condition]}}, "status")
    patch(kueue, body, {"status": state("Open")}, "status")
    patch(kueue, body, {"status": state("Closed")}, "status")
    forbidden(lambda: patch(kueue, body, {"status": state("Open")}, "status"))
    forbidden(
        lambda: patch(kueue, body, {"status": {"preemptionGates": None}, "spec": {"preemptionGates": None}})
    )
    patch(kueue, body, {"metadata": {"finalizers": ["kueue.x-k8s.io/resource-in-use"]}})
    patch(kueue, body, {"metadata": {"finalizers": None}})
    kueue.delete(KUEUE, "Workload", "gated", TEAM)


def test_other_workloads_are_not_hindered(kueue: Client) -> None:
    body = workload("free", gated=False)
    kueue.create(body)
    other = {"name": "example.com/gate", "position": "Open", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    patch(kueue, body, {"spec": {"preemptionGates": [{"name": "example.com/gate"}]}})
    patch(kueue, body, {"status": {"preemptionGates": [other]}}, "status")
    kueue.delete(KUEUE, "Workload", "free", TEAM)

"""`reprieve doctor` finds faults that are made on a real API server, and finds them in a dump of it too."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Final

import pytest

from api.times import rfc3339, rfc3339_micro
from hack.controlplane.client import Client, Json
from hack.controlplane.plane import ControlPlane
from tests.e2e.pages import shell
from tests.e2e.support import REPRIEVE, Sandbox, wait_for
from webhooks.certificates.authorities import make_authority

OURS: Final = "reprieve-system"
HOOKS: Final = "reprieve-nobody-there"
ADMISSION: Final = "admissionregistration.k8s.io/v1"
LEASES: Final = "coordination.k8s.io/v1"
RBAC: Final = "rbac.authorization.k8s.io/v1"
PAGE: Final = Path("docs/doctor.md")
FAULTS: Final = {
    "SchedulerDoesNotCall",
    "NotEveryNodeIsOffered",
    "RightsMissing",
    "CertificateExpired",
    "SchedulerUnknown",
    "TwoManageQuota",
    "WebhookDown",
    "PlansOld",
}
"""The definitions stay: other tests of the plane need them."""


def faults(result: CompletedProcess[str]) -> set[str]:
    assert result.returncode in (0, 3), result.stderr
    return {each["fault"] for each in json.loads(result.stdout)["findings"] if each["fault"]}


@pytest.fixture
def sandbox(control_plane: ControlPlane, sandboxes: Callable[[ControlPlane], Sandbox]) -> Iterator[Sandbox]:
    sandbox = sandboxes(control_plane)
    client = sandbox.client
    client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OURS}})
    client.delete(RBAC, "ClusterRole", "reprieve")
    yield sandbox
    client.delete(ADMISSION, "ValidatingWebhookConfiguration", HOOKS)
    client.delete(LEASES, "Lease", "reprieve", OURS)


def test_faults_are_found_live_and_in_a_dump(
    control_plane: ControlPlane, sandbox: Sandbox, tmp_path: Path
) -> None:
    for body in (*schedulers(sandbox.namespace), *installation(sandbox.namespace)):
        sandbox.client.apply(body)
    make_plan(sandbox.client, sandbox.namespace)
    sandbox.pod("lost", schedulerName="typo")
    live = wait_for(lambda: _with_lost(shell(control_plane, "reprieve doctor -o json")), seconds=40.0)
    assert live >= FAULTS
    path = tmp_path / "cluster.json"
    (command,) = [line for line in PAGE.read_text().splitlines() if line.startswith("kubectl get")]
    dumped = shell(control_plane, command.replace("cluster.json", str(path)))
    assert dumped.returncode == 0, dumped.stderr
    assert faults(shell(control_plane, f"reprieve doctor -f {path} -o json")) == live
    without = command.replace("customresourcedefinitions,", "").replace("cluster.json", str(path))
    assert shell(control_plane, without).returncode == 0
    assert faults(shell(control_plane, f"reprieve doctor -f {path} -o json")) == live | {"DefinitionMissing"}


def test_whom_enforce_would_evict_at_once_is_said(control_plane: ControlPlane, sandbox: Sandbox) -> None:
    sandbox.node("n0", cpu="2")
    (low,) = sandbox.pods("low", 1, priority=1, cpu="2")
    sandbox.wait_bound(low)
    sandbox.gang("hero", 1, priority=100, cpu="2", schedulerName="typo")
    command = f"reprieve doctor --for Enforce -n {sandbox.namespace} -o json"

    def decided() -> list[Json]:
        result = shell(control_plane, command)
        assert result.returncode == 3, result.stderr  # it is not installed
        found: list[Json] = json.loads(result.stdout)["atOnce"]["evicting"]
        return found

    (hero,) = wait_for(decided)
    assert (hero["name"], hero["pods"], hero["state"]) == ("hero", 1, "Evicts")
    assert low in hero["victims"][0]


def _with_lost(result: CompletedProcess[str]) -> set[str] | None:
    """The faults, once the pod is old enough to be one of them."""
    found = faults(result)
    return found if "SchedulerUnknown" in found else None


def schedulers(namespace: str) -> list[Json]:
    """A scheduler with the native gate, a configuration that samples nodes, and Kueue's controller."""
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": 50,
        "extenders": [{"urlPrefix": "https://reprieve/v1", "filterVerb": "filter", "preemptVerb": "preempt"}],
    }
    command = ["kube-scheduler"]
    return [
        _named("v1", "ConfigMap", namespace, "scheduler", data={"file.yaml": json.dumps(configuration)}),
        _deployment(namespace, "scheduler", "kube-scheduler", command),
        _deployment(namespace, "kueue", "manager", ["manager"]),
    ]


def installation(namespace: str) -> list[Json]:
    """A process that leads and that nobody calls, and a webhook whose CA has ended and behind which nobody answers."""
    now = time.time()
    ca = base64.b64encode(make_authority(now - 7200, 3600).pem).decode()
    service = {"namespace": namespace, "name": "nobody"}
    hook = {
        "name": "nothing.reprieve.dev",
        "clientConfig": {"service": service, "caBundle": ca},
        "rules": [{"apiGroups": ["nothing.reprieve.dev"], "apiVersions": ["v1"], "resources": ["nothings"],
                   "operations": ["CREATE"]}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }  # fmt: skip
    annotations = {"reprieve.dev/quota-mode": "Enforce", "reprieve.dev/schedulers": "{}"}
    lease = _named(
        LEASES, "Lease", OURS, "reprieve",
        spec={"holderIdentity": "a", "leaseDurationSeconds": 600, "renewTime": rfc3339_micro(now)},
    )  # fmt: skip
    lease["metadata"]["annotations"] = annotations
    hooks = {"apiVersion": ADMISSION, "kind": "ValidatingWebhookConfiguration", "metadata": {"name": HOOKS}}
    return [lease, {**hooks, "webhooks": [hook]}]


def make_plan(client: Client, namespace: str) -> None:
    """A plan that nobody carries out or ends."""
    preemptor = {
        "kind": "Pod",
        "apiVersion": "v1",
        "namespace": namespace,
        "name": "p",
        "uid": "u",
        "priority": 1,
    }
    spec = {"preemptor": preemptor, "outcome": "Preempts", "reason": "it fits"}
    client.create(_named(REPRIEVE, "PreemptionPlan", namespace, "p-1", spec=spec))
    status = {"phase": "Evicting", "lastDecisionTime": rfc3339(time.time() - 3600)}
    client.patch(REPRIEVE, "PreemptionPlan", "p-1", {"status": status}, namespace, subresource="status")


def _named(version: str, kind: str, namespace: str, name: str, **parts: object) -> Json:
    return {"apiVersion": version, "kind": kind, "metadata": {"namespace": namespace, "name": name}, **parts}


def _deployment(namespace: str, name: str, container: str, command: list[str]) -> Json:
    labels = {"app.kubernetes.io/name": name}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": container, "image": container, "command": command}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    body = _named("apps/v1", "Deployment", namespace, name, spec=spec)
    body["metadata"]["labels"] = labels
    return body

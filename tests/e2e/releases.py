"""Releases of our charts on a plane, as people install them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from hack.controlplane.binaries import binaries
from hack.controlplane.client import Json
from hack.controlplane.manifests import MANIFESTS
from hack.controlplane.plane import ControlPlane
from tests.e2e.support import wait_for

__all__ = [
    "CLUSTER_KINDS",
    "CRDS",
    "MAIN",
    "NAMESPACE",
    "ROOT",
    "Releases",
    "account_file",
    "done",
    "environment_of",
    "installed",
    "ours",
    "pod_of_the_hook",
    "shell",
    "succeed",
    "uids_of",
]

NAMESPACE: Final = "reprieve-system"
MAIN: Final = "reprieve"
CRDS: Final = "reprieve-crds"
ROOT: Final = MANIFESTS.parent
CLUSTER_KINDS: Final = (
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"),
)
"""Rights and admission."""
KINDS: Final = (
    ("v1", "ServiceAccount"),
    ("v1", "ConfigMap"),
    ("v1", "Service"),
    ("apps/v1", "Deployment"),
    ("policy/v1", "PodDisruptionBudget"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("coordination.k8s.io/v1", "Lease"),
    *CLUSTER_KINDS,
)


class Releases:
    """What is installed from charts/. Each release has the name of its chart."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def run(self, *arguments: str, values: Json | None = None, fails: bool = False) -> str:
        """What `helm ARGUMENTS` says. `values`: given to it as a file. Fails the test unless it ends so."""
        result = self.start(*arguments, values=values)
        text, errors = result.communicate()
        said = f"helm {' '.join(arguments)}\n{text}\n{errors}"
        assert (result.returncode != 0) == fails, said
        return errors if fails else text

    def start(self, *arguments: str, values: Json | None = None) -> subprocess.Popen[str]:
        """The process of `helm ARGUMENTS`."""
        options: list[str] = []
        if values is not None:
            file = self._plane.directory / "values.yaml"
            file.write_text(yaml.safe_dump(values))
            options = ["--values", str(file)]
        command = [str(binaries(["helm"])["helm"]), *arguments, *options, "--namespace", NAMESPACE]
        environment = environment_of(self._plane)
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def install(self, name: str, *options: str, values: Json | None = None) -> str:
        """Install a chart. Returns its notes."""
        return self.run("install", name, f"charts/{name}", *options, values=values)

    def upgrade(self, name: str, *options: str, values: Json | None = None, fails: bool = False) -> str:
        """Upgrade a chart: these values count, and no others."""
        return self.run(
            "upgrade", name, f"charts/{name}", "--reset-values", *options, values=values, fails=fails
        )

    def upgrades_of_the_notes(self) -> list[str]:
        """The commands `helm upgrade` that NOTES.txt gives for what is installed, for the shell."""
        lines = [line.strip() for line in self.run("get", "notes", MAIN).splitlines()]
        return [
            line.replace(" CHART ", f" charts/{MAIN} ") for line in lines if line.startswith("helm upgrade")
        ]

    def history(self, name: str) -> list[str]:
        """The states of the release's revisions, the newest last."""
        found: list[Json] = json.loads(self.run("history", name, "--output", "json"))
        return [each["status"] for each in found]

    def remove(self, name: str) -> None:
        """Uninstall without hooks, if it is installed."""
        self.run("uninstall", name, "--no-hooks", "--ignore-not-found")


def environment_of(plane: ControlPlane) -> dict[str, str]:
    """That of an administrator at a shell."""
    programs = [binaries(["kubectl"])["kubectl"].parent, binaries(["helm"])["helm"].parent]
    folders = ("HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")
    path = [*map(str, programs), str(Path(sys.executable).parent), os.environ["PATH"]]
    return {
        "PATH": os.pathsep.join(path),
        "KUBECONFIG": str(plane.kubeconfig),
        "KUBECACHEDIR": str(plane.directory / "kubectl"),
        **{name: str(plane.directory / "helm") for name in folders},
    }


def shell(
    plane: ControlPlane, script: str, folder: Path = ROOT, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run lines in a checkout, as an administrator. `more`: of the environment."""
    return subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        env=environment_of(plane) | more,
        capture_output=True,
        text=True,
        check=False,
    )


def account_file(plane: ControlPlane, name: str) -> Path:
    """A kubeconfig with a token of a service account of the namespace."""
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{name}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = plane.client.request("POST", path, body)["status"]["token"]
    content: dict[str, Any] = yaml.safe_load(plane.kubeconfig.read_text())
    (user,) = content["users"]
    user["user"] = {"token": token}
    file = plane.directory / f"{name}.kubeconfig"
    file.write_text(yaml.safe_dump(content))
    return file


def pod_of_the_hook(plane: ControlPlane, removal: subprocess.Popen[str]) -> Json:
    """The pod that frees what is held. No kubelet runs it."""
    selector = "?labelSelector=app.kubernetes.io/name%3Dreprieve-release"

    def pods() -> list[Json]:
        found: list[Json] = plane.client.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods{selector}")[
            "items"
        ]
        return found

    return wait_for(lambda: next(iter(pods()), None), what=removal.poll)


def succeed(plane: ControlPlane, pod: Json) -> None:
    """What a kubelet says of it at its end."""
    name = pod["metadata"]["name"]
    plane.client.patch("v1", "Pod", name, {"status": {"phase": "Succeeded"}}, NAMESPACE, "status")


def done(result: subprocess.CompletedProcess[str]) -> str:
    """What a command said. Fails the test unless it ended with 0."""
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return result.stdout


def ours(plane: ControlPlane) -> dict[str, Json]:
    """The objects with reprieve's name in the cluster, but CRDs."""
    return {
        f"{kind} {each['metadata']['name']}": each
        for version, kind in KINDS
        for each in plane.client.list(version, kind)
        if each["metadata"]["name"].startswith("reprieve")
    }


def installed(plane: ControlPlane) -> dict[str, Json]:
    """The same as far as people or Helm wrote it: what is in the cluster does not count."""
    return {
        name: {field: each.get(field) for field in ("spec", "data", "rules", "webhooks", "subjects")}
        for name, each in ours(plane).items()
        if not name.startswith("Lease")
    }


def uids_of(plane: ControlPlane) -> dict[str, str]:
    """The same by UID, but for ConfigMaps, whose names change."""
    return {
        name: each["metadata"]["uid"]
        for name, each in ours(plane).items()
        if not name.startswith("ConfigMap")
    }

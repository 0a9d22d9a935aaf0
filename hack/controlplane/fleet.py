"""A manager and worker clusters: control planes on loopback, which the manager reaches through a proxy each."""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Iterable, Mapping
from typing import Final

import yaml

from api.multikueue import CONTROLLER_NAME, MANAGER_NAMESPACE
from hack.controlplane.binaries import binaries
from hack.controlplane.client import Client, Json
from hack.controlplane.components import HERE, HOST, OUTSIDE, QUOTA_FOLDERS, Options
from hack.controlplane.objects import node
from hack.controlplane.plane import ControlPlane
from hack.controlplane.proxy import Proxy

__all__ = [
    "ACCOUNT",
    "ALLOWED",
    "CHECK",
    "CONFIG",
    "Fleet",
    "let_in",
    "make_account",
    "manager_options",
    "secret_of",
    "worker_options",
]

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
RBAC: Final = "rbac.authorization.k8s.io/v1"
ALLOWED: Final = ("127.0.0.0/8",)
"""`multikueue.allowedNetworks` of a manager whose workers are on loopback."""
ACCOUNT: Final = "manager"
"""The ServiceAccount in a worker cluster as which the manager comes. Its namespace is MANAGER_NAMESPACE."""
CONFIG: Final = "all"
"""The MultiKueueConfig with all workers."""
SUBJECT: Final = {"name": ACCOUNT, "namespace": MANAGER_NAMESPACE}
BINDING: Final = "reprieve-multikueue-worker"
WRITER: Final = "reprieve-multikueue-worker-writer"
CHECK: Final = "clusters"
"""The AdmissionCheck with this config."""
SCRIPT: Final = HERE.parent / "multikueue-kubeconfig"
DURATION: Final = "24h"
"""How long a token is valid."""


def manager_options(
    settings: Mapping[str, object] | None = None, *, replicas: int = 1, start_reprieve: bool = False
) -> Options:
    """A manager's plane: no pod runs there."""
    return Options(
        reprieve=True,
        replicas=replicas,
        start_reprieve=start_reprieve,
        nodes=False,
        manifests=(*QUOTA_FOLDERS, "multikueue"),
        reprieve_settings=settings,
    )


def worker_options(settings: Mapping[str, object] | None = None, *, start_reprieve: bool = True) -> Options:
    """A worker's plane, with the manager's account, its rights, and the policies that guard copies."""
    return Options(
        reprieve=True,
        start_reprieve=start_reprieve,
        manifests=(*QUOTA_FOLDERS, "multikueue-worker"),
        reprieve_settings=settings,
    )


class Fleet:
    """Planes that run. The order of `workers` is that of the MultiKueueConfig."""

    def __init__(self, manager: ControlPlane, workers: Mapping[str, ControlPlane]) -> None:
        self.manager, self.workers = manager, dict(workers)

    @property
    def planes(self) -> dict[str, ControlPlane]:
        """All planes by name."""
        return {"manager": self.manager, **self.workers}

    def proxy(self, name: str) -> Proxy:
        """The proxy through which the manager reaches a worker. Raises LookupError before `join`."""
        found = self.workers[name].outside
        if found is None:
            raise LookupError(f"{name} is not joined")
        return found

    def join(self, *, proxies: bool = True, cpu: str = "1000") -> None:
        """Make everything by which the manager knows its workers: Secrets, MultiKueueClusters, a MultiKueueConfig, an
        AdmissionCheck. Each worker gets a node named like itself. `proxies`: the manager reaches workers through
        proxies, which end with this process."""
        for name, plane in self.workers.items():
            if proxies:
                plane.open_outside()
            plane.client.create(node(name, cpu=cpu, memory="4Ti", pods=2000))
            self.give_kubeconfig(name)
            self.add_cluster(name)
        self.add_config(CONFIG, self.workers)
        self.add_check(CHECK, CONFIG)

    def let_in(self, namespace: str) -> None:
        """Let a namespace take part in each worker."""
        for plane in self.workers.values():
            let_in(plane.client, namespace)

    def give_kubeconfig(self, name: str) -> None:
        """Write the Secret with a new token for a worker, as the script prints it."""
        self.manager.client.apply(secret_of(self.workers[name], name))

    def write_secret(self, name: str, data: Mapping[str, str]) -> None:
        """Write the Secret of a worker as it is given."""
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
        meta = {"name": name, "namespace": MANAGER_NAMESPACE}
        self.manager.client.apply({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": encoded})

    def add_cluster(self, name: str) -> None:
        """The MultiKueueCluster of a worker."""
        source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
        self._apply("MultiKueueCluster", name, {"clusterSource": source})

    def add_config(self, name: str, clusters: Iterable[str]) -> None:
        """A MultiKueueConfig, or another list of clusters in it."""
        self._apply("MultiKueueConfig", name, {"clusters": list(clusters)})

    def add_check(self, name: str, config: str) -> None:
        """An AdmissionCheck, or another config in it."""
        parameters = {"apiGroup": KUEUE.partition("/")[0], "kind": "MultiKueueConfig", "name": config}
        self._apply("AdmissionCheck", name, {"controllerName": CONTROLLER_NAME, "parameters": parameters})

    def _apply(self, kind: str, name: str, spec: Json) -> None:
        body = {"apiVersion": KUEUE, "kind": kind, "metadata": {"name": name}, "spec": spec}
        self.manager.client.apply(body)


def make_account(worker: Client) -> None:
    """Make the manager's account in a worker cluster anew. Tokens of an earlier one are not valid."""
    body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": SUBJECT}
    worker.apply(body | {"automountServiceAccountToken": False})


def let_in(worker: Client, namespace: str) -> None:
    """Let a namespace of a worker cluster take part, as the script does."""
    worker.apply(
        {
            "apiVersion": RBAC,
            "kind": "RoleBinding",
            "metadata": {"name": BINDING, "namespace": namespace},
            "roleRef": {"apiGroup": RBAC.partition("/")[0], "kind": "ClusterRole", "name": WRITER},
            "subjects": [{"kind": "ServiceAccount", **SUBJECT}],
        }
    )


def secret_of(worker: ControlPlane, name: str, *namespaces: str) -> Json:
    """What hack/multikueue-kubeconfig prints: the Secret with a kubeconfig that leads to the worker's proxy, if there
    is one. `namespaces`: those that take part from now on."""
    kubectl = binaries(["kubectl"])["kubectl"]
    environment = {"PATH": f"{kubectl.parent}:{os.environ['PATH']}", "KUBECONFIG": str(worker.kubeconfig)}
    port = worker.layout.port["kube-apiserver" if worker.outside is None else OUTSIDE]
    command = [str(SCRIPT), name, "--duration", DURATION, "--server", f"https://{HOST}:{port}", *namespaces]
    result = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        raise RuntimeError(f"{SCRIPT.name}: {result.stderr}")
    found: Json = yaml.safe_load(result.stdout)
    return found

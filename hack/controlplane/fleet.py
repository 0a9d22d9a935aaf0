"""A manager and worker clusters: control planes on loopback, which the manager reaches through a proxy each."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Final

import yaml

from api.multikueue import CONTROLLER_NAME, MANAGER_NAMESPACE
from hack.controlplane.client import Client, Json
from hack.controlplane.components import HOST, OUTSIDE, QUOTA_FOLDERS, Options
from hack.controlplane.objects import node
from hack.controlplane.plane import ControlPlane
from hack.controlplane.proxy import Proxy

__all__ = [
    "ACCOUNT",
    "ALLOWED",
    "CHECK",
    "CONFIG",
    "Fleet",
    "kubeconfig_of",
    "manager_options",
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
CHECK: Final = "clusters"
"""The AdmissionCheck with this config."""
TOKEN_SECONDS: Final = 24 * 3600
RIGHTS: Final[tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]] = (
    ("kueue.x-k8s.io", ("workloads",), ("get", "list", "watch", "create", "update", "patch", "delete")),
    ("kueue.x-k8s.io", ("workloads/status",), ("get", "update", "patch")),
    ("kueue.x-k8s.io", ("localqueues", "clusterqueues"), ("get", "list", "watch")),
    ("batch", ("jobs",), ("get", "list", "watch", "create", "update", "patch", "delete")),
    ("", ("namespaces", "pods"), ("get", "list", "watch")),
    ("reprieve.dev", ("preemptionplans", "podgroups"), ("get", "list", "watch")),
    ("reprieve.dev", ("podgroups",), ("create", "update", "patch", "delete")),
    ("coordination.k8s.io", ("leases",), ("get", "list", "watch", "create", "update", "patch", "delete")),
)
"""By API group: resources and verbs of the manager in a worker cluster."""


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
    """A worker's plane."""
    return Options(
        reprieve=True, start_reprieve=start_reprieve, manifests=QUOTA_FOLDERS, reprieve_settings=settings
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
        """Make everything by which the manager knows its workers: accounts, Secrets, MultiKueueClusters, a
        MultiKueueConfig, an AdmissionCheck. Each worker gets a node named like itself. `proxies`: the manager reaches
        workers through proxies, which end with this process."""
        self.manager.client.apply(_namespace(MANAGER_NAMESPACE))
        for name, plane in self.workers.items():
            if proxies:
                plane.open_outside()
            invite(plane.client)
            plane.client.create(node(name, cpu=cpu, memory="4Ti", pods=2000))
            self.give_kubeconfig(name)
            self.add_cluster(name)
        self.add_config(CONFIG, self.workers)
        self.add_check(CHECK, CONFIG)

    def give_kubeconfig(self, name: str) -> None:
        """Write the Secret with a new token for a worker."""
        text = yaml.safe_dump(kubeconfig_of(self.workers[name]))
        self.write_secret(name, {"kubeconfig": text})

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


def invite(worker: Client) -> None:
    """Make the manager's account and its rights in a worker cluster."""
    worker.apply(_namespace(MANAGER_NAMESPACE))
    account = {"name": ACCOUNT, "namespace": MANAGER_NAMESPACE}
    worker.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    name = f"{MANAGER_NAMESPACE}-{ACCOUNT}"
    rules = [
        {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
        for group, resources, verbs in RIGHTS
    ]
    worker.apply({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules})
    binding = {
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", **account}],
    }
    worker.apply({"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name}, **binding})


def kubeconfig_of(worker: ControlPlane) -> Json:
    """A kubeconfig with a new token of the manager's account. It leads to the worker's proxy, if there is one."""
    path = f"/api/v1/namespaces/{MANAGER_NAMESPACE}/serviceaccounts/{ACCOUNT}/token"
    request = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": TOKEN_SECONDS},
    }
    token = worker.client.request("POST", path, request)["status"]["token"]
    authority = base64.b64encode(worker.layout.authority.pair.certificate.read_bytes()).decode()
    port = worker.layout.port["kube-apiserver" if worker.outside is None else OUTSIDE]
    server = f"https://{HOST}:{port}"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "worker", "cluster": {"server": server, "certificate-authority-data": authority}}
        ],
        "users": [{"name": "manager", "user": {"token": token}}],
        "contexts": [{"name": "worker", "context": {"cluster": "worker", "user": "manager"}}],
        "current-context": "worker",
    }


def _namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}

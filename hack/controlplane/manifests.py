"""Applies the shipped manifests to the local plane, with the addresses and paths of this machine."""

from __future__ import annotations

import copy
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final

import yaml

from hack.controlplane.client import Client, Json
from hack.controlplane.components import HERE, HOST, SERVICE, Layout
from hack.controlplane.pki import Pair
from hack.controlplane.processes import wait_until

__all__ = [
    "BASE",
    "MANIFESTS",
    "SCHEDULER",
    "WEBHOOK_KINDS",
    "apply_cluster_objects",
    "apply_webhooks",
    "render",
    "render_once",
    "wait_served",
    "write_configurations",
]

MANIFESTS: Final = HERE.parent.parent / "manifests"
BASE: Final = MANIFESTS / "base"
SCHEDULER: Final = MANIFESTS / "components" / "enforce" / "kube-scheduler.yaml"
"""The scheduler's file where reprieve enforces."""
CRD: Final = "CustomResourceDefinition"
RBAC: Final = ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
POLICIES: Final = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
APPLIED: Final = frozenset({"Namespace", CRD, "ServiceAccount", "Lease", *RBAC, *POLICIES})
"""The kinds that reprieve needs in the cluster when it runs outside."""
ALONE: Final = {"leaderElect": False}
"""One process of a kind runs, unless a test says otherwise."""
SOON: Final = {
    "leaderElect": True,
    "leaseDurationSeconds": 3,
    "renewDeadlineSeconds": 2,
    "retryPeriodSeconds": 0.5,
}
"""Of several processes, another one acts soon."""
ESTABLISHED_SECONDS: Final = 10.0
WEBHOOK_KINDS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def render(program: Path, folder: Path = BASE) -> list[Json]:
    """The objects that kubectl or our kustomize prints for a folder, in the same order."""
    return _objects(_printed(program, folder))


def render_once(program: Path, folder: Path) -> list[Json]:
    """The same, for a folder that does not change: a process asks once. To render a folder takes half a second."""
    return _objects(_printed_once(program, folder))


def _objects(printed: str) -> list[Json]:
    return [document for document in yaml.load_all(printed, _LOADER) if document]


def _printed(program: Path, folder: Path) -> str:
    command: list[str | Path] = [program, *(["kustomize"] if program.name == "kubectl" else []), folder]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"{program.name} of {folder}:\n{result.stderr}")
    return result.stdout


_printed_once = cache(_printed)


def apply_cluster_objects(client: Client, objects: list[Json]) -> None:
    """Apply the namespace, CRDs, rights and policies among the objects, and KWOK's rights.

    Returns when the CRDs are served. A policy is in force some moments later.
    """
    kwok = [document for document in yaml.load_all((HERE / "rbac.yaml").read_text(), _LOADER) if document]
    crds = [body for body in objects if body["kind"] == CRD]
    for body in [*kwok, *objects]:
        if body["kind"] in APPLIED or body in kwok:
            client.apply(body)
    wait_served(client, crds)


def wait_served(client: Client, crds: Iterable[Json]) -> None:
    """Until these CRDs are served. `kubectl wait` fails while one of them has no conditions at all."""
    for body in crds:
        name = body["metadata"]["name"]
        wait_until(partial(_established, client, name), ESTABLISHED_SECONDS, f"{name} is not served".__str__)


def apply_webhooks(client: Client, objects: list[Json], layout: Layout) -> None:
    """Tell the API server the URLs of the webhooks. A Service would have no address here."""
    for body in copy.deepcopy([body for body in objects if body["kind"] in WEBHOOK_KINDS]):
        for webhook in body["webhooks"]:
            path = webhook["clientConfig"].pop("service")["path"]
            webhook["clientConfig"]["url"] = f"https://{HOST}:{layout.port['reprieve-webhooks']}{path}"
        client.apply(body)


def write_configurations(layout: Layout) -> None:
    """Write the configuration files of the scheduler, reprieve and the webhooks."""
    _write_webhooks(layout)
    authority, server, scheduler = layout.extender_certificates()
    options = layout.options
    configuration = _load(SCHEDULER)
    extenders = configuration.pop("extenders")
    configuration["clientConnection"] = {
        "kubeconfig": str(layout.kubeconfig_of("kube-scheduler")),
        "qps": 5000,
        "burst": 5000,
    }
    configuration["leaderElection"] = {"leaderElect": False}
    settings = dict(options.scheduler_settings or {})
    for name in options.schedulers:
        shared = {key: value for key, value in settings.items() if key != "extenders"}
        profile = {"profiles": [{"schedulerName": name}]}
        _dump(layout.directory / f"{name}.yaml", configuration | shared | profile)
    entrance = SERVICE if options.replicas > 1 else "reprieve"
    if options.reprieve:
        for extender in extenders:
            extender["urlPrefix"] = f"https://{HOST}:{layout.port[entrance]}/v1"
            extender["tlsConfig"] = {
                "caFile": str(authority),
                "certFile": str(scheduler.certificate),
                "keyFile": str(scheduler.key),
            }
        configuration["extenders"] = extenders
    configuration |= settings
    _dump(layout.directory / "kube-scheduler.yaml", configuration)

    for name in layout.replicas:
        _write_replica(layout, name, authority, server)


def _write_replica(layout: Layout, name: str, authority: Path, server: Pair) -> None:
    """Write the configuration file of one process of reprieve."""
    local: Json = {
        "kubeconfig": str(layout.kubeconfig_of(name)),
        "extender": {
            "bindAddress": HOST,
            "port": layout.port[name],
            "tls": {
                "certFile": str(server.certificate),
                "keyFile": str(server.key),
                "clientCAFile": str(authority),
            },
            "peers": {"host": HOST, "serverName": "localhost"},
        },
        "ops": {"bindAddress": HOST, "port": layout.port[f"{name}-ops"]},
        "leaderElection": ALONE if layout.options.replicas == 1 else SOON,
        "planning": {"mode": "Enforce"},
    }
    ours = _merged(_load(BASE / "configuration.yaml"), local)
    _dump(layout.directory / f"{name}.yaml", _merged(ours, layout.options.reprieve_settings or {}))


def _write_webhooks(layout: Layout) -> None:
    ours = _load(MANIFESTS / "webhooks" / "configuration.yaml")
    local: Json = {
        "kubeconfig": str(layout.kubeconfig_of("reprieve-webhooks")),
        "webhooks": {
            "bindAddress": HOST,
            "port": layout.port["reprieve-webhooks"],
            "certificates": {"managed": {"hosts": [HOST]}},
        },
        "ops": {"bindAddress": HOST, "port": layout.port["reprieve-webhooks-ops"]},
        "leaderElection": SOON,
    }
    settings = layout.options.webhooks_settings or {}
    _dump(layout.directory / "reprieve-webhooks.yaml", _merged(_merged(ours, local), settings))


_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _load(path: Path) -> Json:
    content: Json = yaml.safe_load(path.read_text())
    return content


def _dump(path: Path, content: Mapping[str, object]) -> None:
    path.write_text(yaml.safe_dump(dict(content), sort_keys=False))


def _merged(base: Mapping[str, object], changes: Mapping[str, object]) -> Json:
    result = copy.deepcopy(dict(base))
    for name, value in changes.items():
        old = result.get(name)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[name] = _merged(old, value) if both else copy.deepcopy(value)  # type: ignore[arg-type]  # both are mappings
    return result


def _established(client: Client, name: str) -> bool:
    found = client.get("apiextensions.k8s.io/v1", CRD, name)
    conditions = found.get("status", {}).get("conditions") or []
    return any(entry["type"] == "Established" and entry["status"] == "True" for entry in conditions)

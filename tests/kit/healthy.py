"""A cluster in which reprieve works, as a file for the command: made from the manifests that people apply."""

from __future__ import annotations

import base64
import copy
import datetime
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from api.times import rfc3339

__all__ = ["NOW", "bundle", "healthy", "only", "pod"]

Json = dict[str, Any]
MANIFESTS: Final = Path("manifests")
NOW: Final = 1_800_000_000.0
DAY: Final = 86400


def bundle(days: float) -> str:
    """A CA that ends `days` days after NOW, as a caBundle."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
    end = datetime.datetime.fromtimestamp(NOW + days * DAY, datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(end - datetime.timedelta(days=400))
        .not_valid_after(end)
        .sign(key, hashes.SHA256())
    )
    return base64.b64encode(made.public_bytes(Encoding.PEM)).decode()


def _manifests(*paths: str) -> list[Json]:
    found = [each for path in paths for each in yaml.safe_load_all((MANIFESTS / path).read_text())]
    return [each for each in found if each]


def pod(name: str, **spec: Any) -> Json:
    """A pod that was created a minute before NOW."""
    meta = {"name": name, "namespace": "team", "creationTimestamp": rfc3339(NOW - 60)}
    containers = [{"name": "main", "image": "busybox"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, **spec}}


def healthy() -> list[Json]:
    """The objects, new ones for each call."""
    return copy.deepcopy(_healthy())


@cache
def _healthy() -> list[Json]:
    definitions = _manifests(
        *(f"crds/{each.name}" for each in sorted((MANIFESTS / "crds").glob("reprieve*")))
    )
    for each in definitions:
        each["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
    hooks = _manifests("webhooks/webhooks.yaml")
    ca = bundle(100)
    for each in hooks:
        for hook in each["webhooks"]:
            hook["clientConfig"]["caBundle"] = ca
    files = ("base/rbac.yaml", "rights/rbac.yaml")
    roles = [each for each in _manifests(*files) if each["kind"].startswith("ClusterRole")]
    (deployment,) = _manifests("base/deployment.yaml")
    return [*definitions, *hooks, *roles, deployment, *_running()]


def _running() -> list[Json]:
    """What a cluster has once the process runs and a scheduler calls it."""
    configuration = (MANIFESTS / "components/second-scheduler/kube-scheduler.yaml").read_text()
    scheduler = pod("kube-scheduler-a")
    scheduler["spec"]["containers"] = [
        {"name": "kube-scheduler", "image": "kube-scheduler:v1.37.2", "command": ["kube-scheduler", "--v=2"]}
    ]
    scheduler["spec"]["nodeName"] = "a"
    return [
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": "reprieve",
                "namespace": "reprieve-system",
                "annotations": {
                    "reprieve.dev/schedulers": json.dumps({"default-scheduler": rfc3339(NOW - 5)}),
                    "reprieve.dev/quota-mode": "Enforce",
                    "reprieve.dev/planning-mode": "Enforce",
                },
            },
            "spec": {"holderIdentity": "a_1", "leaseDurationSeconds": 15, "renewTime": rfc3339(NOW - 2)},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "reprieve-webhooks-x",
                "namespace": "reprieve-system",
                "labels": {"kubernetes.io/service-name": "reprieve-webhooks"},
            },
            "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": True}}],
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "scheduler", "namespace": "reprieve-system"},
            "data": {"kube-scheduler.yaml": configuration},
        },
        scheduler,
    ]


def only(objects: list[Json], kind: str, name: str = "") -> Json:
    """The object of the kind whose name has this part."""
    (found,) = [each for each in objects if each["kind"] == kind and name in each["metadata"]["name"]]
    return found

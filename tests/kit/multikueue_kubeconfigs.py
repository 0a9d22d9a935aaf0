"""Kubeconfigs as an administrator of several clusters writes them."""

from __future__ import annotations

import base64
from typing import Any

import yaml
from cryptography.hazmat.primitives.asymmetric import ec

from tests.kit.handshakes import pair_of

__all__ = ["CERTIFICATE", "KEY", "SECRET", "encoded", "kubeconfig", "text_of"]

SECRET = "s3cr3t-t0ken"
"""The token of a kubeconfig. No message shows it."""
PAIR = pair_of(ec.generate_private_key(ec.SECP256R1()), "worker")
CERTIFICATE, _, _KEY = PAIR.partition(b"-----BEGIN PRIVATE KEY-----")
KEY = b"-----BEGIN PRIVATE KEY-----" + _KEY


def encoded(text: bytes) -> str:
    """Base64."""
    return base64.b64encode(text).decode()


def kubeconfig(
    *, cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None
) -> dict[str, Any]:
    """A kubeconfig that can be used. What is given is added to the cluster and to the user."""
    authority = encoded(CERTIFICATE)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "worker",
                "cluster": {
                    "server": "https://worker.example:6443",
                    "certificate-authority-data": authority,
                    **(cluster or {}),
                },
            }
        ],
        "users": [{"name": "manager", "user": {"token": SECRET, **(user or {})}}],
        "contexts": [{"name": "it", "context": {"cluster": "worker", "user": "manager"}}],
        "current-context": "it",
    }


def text_of(value: Any) -> bytes:
    """As a file."""
    return yaml.safe_dump(value).encode()

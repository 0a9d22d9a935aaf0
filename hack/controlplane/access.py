"""Reads from a kubeconfig how to reach its API server."""

from __future__ import annotations

import base64
import ssl
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

__all__ = ["Access", "access_of"]

Json = dict[str, Any]


class Access(NamedTuple):
    """What a kubeconfig says of its current context."""

    server: str
    """The URL."""
    context: ssl.SSLContext
    token: str | None


def access_of(path: Path) -> Access:
    """From a kubeconfig with client certificates or a token. Raises ValueError for other credentials: they need
    `kubectl proxy`."""
    config = yaml.safe_load(path.read_text())
    context = _named(config["contexts"], config["current-context"])["context"]
    cluster = _named(config["clusters"], context["cluster"])["cluster"]
    user = _named(config["users"], context["user"])["user"]
    token = user.get("token")
    if token is None and "client-certificate-data" not in user and "client-certificate" not in user:
        raise ValueError(f"{path}: this kind of credentials needs kubectl proxy")
    return Access(cluster["server"], _tls(cluster, user), token)


def _named(entries: Iterable[Json], name: str) -> Json:
    return next(entry for entry in entries if entry["name"] == name)


def _tls(cluster: Json, user: Json) -> ssl.SSLContext:
    context = ssl.create_default_context(
        cafile=cluster.get("certificate-authority"), cadata=_decoded(cluster, "certificate-authority-data")
    )
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if "client-certificate" in user:
        context.load_cert_chain(user["client-certificate"], user["client-key"])
    elif certificate := _decoded(user, "client-certificate-data"):
        with tempfile.NamedTemporaryFile("w") as file:  # the ssl module reads certificates only from files
            file.write(f"{certificate}\n{_decoded(user, 'client-key-data')}")
            file.flush()
            context.load_cert_chain(file.name)
    return context


def _decoded(entry: Json, key: str) -> str | None:
    return base64.b64decode(entry[key]).decode() if key in entry else None

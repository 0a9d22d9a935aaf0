"""The admission server of a control plane, past the API server: what it answers whom, and what it says of itself."""

from __future__ import annotations

import base64
import http.client
import ssl

from hack.controlplane.client import Client
from hack.controlplane.components import HOST
from hack.controlplane.plane import ControlPlane
from tests.kit.clock import PATIENCE_SECONDS

__all__ = ["ADMISSION", "bundle", "metrics", "status_of"]

ADMISSION = "admissionregistration.k8s.io/v1"


def bundle(client: Client) -> str:
    """What the first webhook's caBundle is."""
    found = client.get(ADMISSION, "ValidatingWebhookConfiguration", "reprieve")
    return base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"]).decode()


def status_of(plane: ControlPlane, context: ssl.SSLContext) -> int:
    """The status of a request that is no review, on a new connection. Raises OSError where no answer comes at all."""
    port = plane.layout.port["reprieve-webhooks"]
    connection = http.client.HTTPSConnection(HOST, port, timeout=PATIENCE_SECONDS, context=context)
    try:
        connection.request("POST", "/validate/cohort", "{}", {"Content-Type": "application/json"})
        return connection.getresponse().status
    finally:
        connection.close()


def metrics(plane: ControlPlane) -> dict[str, float]:
    """By name, with labels as they are written."""
    client = Client(plane.webhooks_ops_url)
    try:
        text = client.text("GET", "/metrics")
    finally:
        client.close()
    samples = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in samples}

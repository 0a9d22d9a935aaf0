"""A replica of the webhooks as far as certificates go, with a clock that tests set, and what API servers trust."""

from __future__ import annotations

import base64
from typing import Any, cast

from cryptography import x509

from kube.client import ApiClient
from serving.certificates.live_context import LiveContext
from tests.kit import apiserver
from tests.kit.clock import ManualClock
from tests.kit.handshakes import HOST, shown
from webhooks.certificates.authority_secret import AuthoritySecret
from webhooks.certificates.bundles import Bundles
from webhooks.certificates.managed import ManagedCertificates
from webhooks.configuration import ManagedConfiguration

__all__ = [
    "DAY",
    "MUTATING",
    "SECRETS",
    "START",
    "VALIDATING",
    "Api",
    "Replica",
    "certificates_of",
    "hooks",
    "signed",
    "trusted",
]

SECRETS = "/api/v1/namespaces/ns/secrets"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
MUTATING = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"

START = 2_000_000_000.0
DAY = 86400.0
CONFIGURATION = ManagedConfiguration(
    namespace="ns",
    secret_name="ca",
    hosts=[HOST],
    authority_seconds=90 * DAY,
    certificate_seconds=9 * DAY,
    overlap_seconds=600,
    validating_webhook_configurations=["hooks"],
    mutating_webhook_configurations=["hooks"],
)


class Api(apiserver.Api):
    """An API server that serves Secrets and webhook configurations."""

    def __init__(self) -> None:
        super().__init__()
        self.secrets = self.of(SECRETS)

    def bundles(self) -> list[bytes]:
        """Of all webhooks."""
        return [
            base64.b64decode(webhook["clientConfig"].get("caBundle", ""))
            for path in (VALIDATING, MUTATING)
            for configuration in self.of(path).values()
            for webhook in configuration["webhooks"]
        ]


def hooks(*names: str) -> dict[str, Any]:
    """A webhook configuration, as it is applied."""
    return {"metadata": {"name": "hooks"}, "webhooks": [{"name": name, "clientConfig": {}} for name in names]}


class Replica:
    """One process."""

    def __init__(self, api: Api, clock: ManualClock) -> None:
        client = cast(ApiClient, api)
        self.live = LiveContext()
        self.clock = clock
        self.certificates = ManagedCertificates(
            CONFIGURATION,
            AuthoritySecret(client, "ns", "ca"),
            Bundles(client, ["hooks"], ["hooks"]),
            self.live,
            clock,
        )
        self.look = self.certificates.look

    def shown(self) -> x509.Certificate:
        """The certificate of a new handshake. Raises ssl.SSLError when there is none."""
        return shown(self.live)


def trusted(api: Api, replica: Replica) -> bool:
    """Whether every webhook of every configuration has a CA that has signed what is shown, and both are valid."""
    leaf = replica.shown()
    now = replica.clock.wall()
    if not leaf.not_valid_before_utc.timestamp() <= now < leaf.not_valid_after_utc.timestamp():
        return False
    return all(any(signed(leaf, ca, now) for ca in certificates_of(bundle)) for bundle in api.bundles())


def certificates_of(bundle: bytes) -> list[x509.Certificate]:
    """Those of a caBundle."""
    return x509.load_pem_x509_certificates(bundle) if bundle else []


def signed(leaf: x509.Certificate, ca: x509.Certificate, now: float) -> bool:
    """Whether this CA has signed it, and is valid."""
    try:
        leaf.verify_directly_issued_by(ca)
    except Exception:
        return False
    return ca.not_valid_before_utc.timestamp() <= now < ca.not_valid_after_utc.timestamp()

"""The admission server as a service: the parts put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

from kube.client import ApiClient
from runtime.mirror import GROUPS, PRIORITY_CLASSES, Mirror
from runtime.readiness import not_synced
from serving.listeners import serving
from serving.ops import Check
from webhooks.certificates.authority_secret import AuthoritySecret
from webhooks.certificates.bundles import Bundles
from webhooks.certificates.live_context import LiveContext
from webhooks.certificates.sources import CertificateFiles, ClientAuthority, ManagedCertificates, keep
from webhooks.configuration import ManagedConfiguration, WebhooksConfiguration, settings_of
from webhooks.late_classes import LateClasses
from webhooks.mirrored import MirroredFacts
from webhooks.review import Reviewer
from webhooks.server import review_app
from webhooks.stored import rechecker

__all__ = ["MIRRORED", "WebhookService"]

MIRRORED: Final = (PRIORITY_CLASSES, GROUPS)
"""What the rules ask for; the mirror must follow these at least."""
DRAIN_SECONDS: Final = 5.0
"""For API servers to send what they have to send on connections that are there."""


class WebhookService:
    """Answers reviews from the request and the mirror, and looks after its certificate."""

    def __init__(self, configuration: WebhooksConfiguration, client: ApiClient, mirror: Mirror) -> None:
        self._configuration = configuration
        self._mirror = mirror
        self._not_synced = not_synced(mirror)
        self._live = LiveContext(configuration.client_ca_file)
        files = configuration.certificates.files
        self._certificates = (
            CertificateFiles(files, self._live)
            if files is not None
            else _managed(configuration.certificates.managed, client, self._live)
        )
        facts, settings = MirroredFacts(mirror), settings_of(configuration)
        self._reviewer = Reviewer(facts, settings, max_depth=configuration.max_depth)
        self._rechecker = rechecker(client, facts, settings, lambda: mirror.synced)

    def checks(self) -> dict[str, Check]:
        """The readiness checks."""
        return {"synced": self._not_synced, "certificate": self._certificates.fault}

    def tasks(self) -> dict[str, Coroutine[Any, Any, None]]:
        """Whoever looks after certificates, and after what is stored already."""
        seconds = self._configuration.certificates.poll_seconds
        tasks = {
            "certificates": keep(self._certificates, seconds),
            "recheck": self._rechecker.run(self._configuration.recheck_seconds),
        }
        if self._configuration.client_ca_file is not None:
            tasks["client authority"] = keep(
                ClientAuthority(self._configuration.client_ca_file, self._live), seconds
            )
        return tasks

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Reviews are answered while the context lasts; until there is a certificate no handshake succeeds."""
        waits = {"PodGroup": LateClasses(self._mirror).wait}
        app = review_app(self._reviewer, self._configuration, waits)
        async with serving(app, self._configuration, self._live.context, drain_seconds=DRAIN_SECONDS):
            yield


def _managed(
    configuration: ManagedConfiguration, client: ApiClient, live: LiveContext
) -> ManagedCertificates:
    secret = AuthoritySecret(client, configuration.namespace, configuration.secret_name)
    bundles = Bundles(
        client,
        configuration.validating_webhook_configurations,
        configuration.mutating_webhook_configurations,
    )
    return ManagedCertificates(configuration, secret, bundles, live)

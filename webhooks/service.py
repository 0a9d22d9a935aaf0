"""Builds the admission server from its parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

from api.clock import SYSTEM_CLOCK, Clock
from controllers.gangs.configuration import PlanningConfiguration
from controllers.jobs.configuration import JobsConfiguration
from kube.client import ApiClient
from runtime.mirror.views import Views
from serving.certificates.files import CertificateFiles, ClientAuthority
from serving.certificates.keeping import keep
from serving.certificates.live_context import LiveContext
from serving.listeners import serving
from serving.ops import Check
from webhooks.certificates.authority_secret import AuthoritySecret
from webhooks.certificates.bundles import Bundles
from webhooks.certificates.managed import EXPECTED, ManagedCertificates
from webhooks.configuration import ManagedConfiguration, WebhooksConfiguration, settings_of
from webhooks.late_classes import LateClasses
from webhooks.metrics import CERTIFICATE_METRICS
from webhooks.review import Reviewer
from webhooks.server import review_app
from webhooks.stored import rechecker
from webhooks.watched import WatchedFacts

__all__ = ["WebhookService"]

DRAIN_SECONDS: Final = 5.0
"""How long API servers may still use their open connections."""


class WebhookService:
    """Answers reviews and looks after its certificate. Answers depend on the request and on the facts."""

    def __init__(
        self,
        configuration: WebhooksConfiguration,
        jobs: JobsConfiguration,
        client: ApiClient,
        views: Views,
        clock: Clock = SYSTEM_CLOCK,
        *,
        planning: PlanningConfiguration,
    ) -> None:
        """`jobs`, `planning`: see `webhooks.configuration.settings_of`."""
        self._configuration = configuration
        self._live = LiveContext(configuration.client_ca_file)
        files = configuration.certificates.files
        self._certificates = (
            CertificateFiles(files.cert_file, files.key_file, self._live, CERTIFICATE_METRICS, clock)
            if files is not None
            else _managed(configuration.certificates.managed, client, self._live, clock)
        )
        self._facts = WatchedFacts(
            views,
            queues=configuration.queues,
            namespaces=not planning.enforced_namespace_selector.is_empty,
        )
        settings = settings_of(configuration, jobs, planning)
        self._reviewer = Reviewer(self._facts, settings, max_depth=configuration.max_depth, clock=clock)
        self.rechecker = rechecker(
            client, self._facts, settings, self._facts.fault, configuration.recheck_seconds, clock
        )
        """The controller that checks stored objects again."""

    def checks(self) -> dict[str, Check]:
        """The readiness checks, by name."""
        return {"facts": self._facts.fault, "certificate": self._certificates.fault}

    def tasks(self) -> dict[str, Coroutine[Any, Any, None]]:
        """The tasks that keep certificates up to date, by name."""
        seconds = self._configuration.certificates.poll_seconds
        tasks = {
            "certificates": keep(self._certificates, seconds, CERTIFICATE_METRICS, EXPECTED),
        }
        if self._configuration.client_ca_file is not None:
            tasks["client authority"] = keep(
                ClientAuthority(self._configuration.client_ca_file, self._live), seconds, CERTIFICATE_METRICS
            )
        return tasks

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Answer reviews while the context lasts. Until there is a certificate, every handshake fails."""
        waits = {"PodGroup": LateClasses(self._facts).wait}
        app = review_app(self._reviewer, self._configuration, waits)
        async with serving(app, self._configuration, self._live.context, drain_seconds=DRAIN_SECONDS):
            yield


def _managed(
    configuration: ManagedConfiguration, client: ApiClient, live: LiveContext, clock: Clock
) -> ManagedCertificates:
    secret = AuthoritySecret(client, configuration.namespace, configuration.secret_name)
    bundles = Bundles(
        client,
        configuration.validating_webhook_configurations,
        configuration.mutating_webhook_configurations,
    )
    return ManagedCertificates(configuration, secret, bundles, live, clock)

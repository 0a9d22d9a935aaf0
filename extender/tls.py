"""Mutual TLS of the extender: whoever has no certificate of the client CA gets no further than the handshake.

All files are read again when they change: new handshakes get what is new, connections stay.
"""

from __future__ import annotations

import ssl
from collections.abc import Coroutine
from typing import Any

from api.clock import SYSTEM_CLOCK, Clock
from extender.configuration import TLSConfiguration
from extender.metrics import CERTIFICATE_METRICS
from serving.certificates.files import CertificateFiles, ClientAuthority
from serving.certificates.keeping import keep
from serving.certificates.live_context import LiveContext

__all__ = ["ExtenderTLS"]


class ExtenderTLS:
    """The context for the listener, and who looks after it."""

    def __init__(self, tls: TLSConfiguration, clock: Clock = SYSTEM_CLOCK) -> None:
        """Raises OSError, which names the file, if there are no CAs of clients."""
        self._seconds = tls.poll_seconds
        self._live = LiveContext(tls.client_ca_file)
        self._certificate = CertificateFiles(
            tls.cert_file, tls.key_file, self._live, CERTIFICATE_METRICS, clock
        )
        self._authority = ClientAuthority(tls.client_ca_file, self._live)
        self.fault = self._certificate.fault
        """The readiness check of the certificate."""

    @property
    def context(self) -> ssl.SSLContext:
        """For the listener."""
        return self._live.context

    @property
    def as_client(self) -> ssl.SSLContext:
        """For calls of other replicas. It is another object after each change of the files."""
        return self._live.as_client

    async def load(self) -> None:
        """Read the certificate for the first time. Raises OSError, which names the files."""
        try:
            await self._certificate.look()
        except ValueError as error:
            raise OSError(str(error)) from None

    def tasks(self) -> dict[str, Coroutine[Any, Any, None]]:
        """Who looks at the files every few seconds."""
        return {
            "extender certificate": keep(self._certificate, self._seconds, CERTIFICATE_METRICS),
            "extender client authority": keep(self._authority, self._seconds, CERTIFICATE_METRICS),
        }

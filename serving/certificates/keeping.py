"""Keeps certificates up to date.

`keep` calls a cheap `look` every few seconds. A look uses the wall clock, so a process that was paused at the time of a
renewal renews at its next look. A look that fails does not change the served certificate.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

import structlog
from prometheus_client import Counter, Gauge

__all__ = ["CertificateMetrics", "Source", "expiry_fault", "keep"]

log = structlog.get_logger(__name__)


class CertificateMetrics:
    """Metrics of the certificates of one listener."""

    def __init__(self, listener: str) -> None:
        """`listener` is part of the metrics' names. Make only one instance for each listener."""
        prefix = f"reprieve_{listener}_certificate"
        self.expires = Gauge(
            f"{prefix}_expiration_timestamp_seconds",
            "Seconds since the epoch at which the certificate that is shown (serving) and the newest authority expire.",
            ["which"],
        )
        self.renewals = Counter(
            f"{prefix}_renewals_total",
            "Certificates and authorities that were made, or read again.",
            ["which"],
        )
        self.faults = Counter(
            f"{prefix}_faults_total",
            "Failed attempts to renew, read or publish certificates; the one that is shown stays until it expires.",
        )

    def shown(self, expires: float) -> None:
        """Note that a new serving certificate is in use. `expires` is in seconds since the epoch."""
        self.expires.labels("serving").set(expires)
        self.renewals.labels("serving").inc()
        log.info("a new serving certificate", expires=expires)


class Source(Protocol):
    """A source of certificates that `keep` looks after."""

    async def look(self) -> None:
        """Read or renew what is due. May raise the errors that `keep` expects; the next look tries again."""


async def keep(
    source: Source,
    seconds: float,
    metrics: CertificateMetrics,
    expected: tuple[type[Exception], ...] = (ValueError, OSError),
) -> None:
    """Call `source.look` every `seconds`, for ever. Errors of an `expected` type are counted and logged."""
    while True:
        try:
            await source.look()
        except expected as error:
            metrics.faults.inc()
            log.error("certificates could not be read, renewed or published", error=str(error))  # noqa: TRY400 - no traceback
        await asyncio.sleep(seconds)


def expiry_fault(expires: float, now: float) -> str | None:
    """The readiness check of a certificate: None, or what is wrong.

    `expires` and `now` are in seconds since the epoch. `expires` is 0 while there is no certificate.
    """
    if not expires:
        return "there is no serving certificate yet"
    return None if now < expires else "the serving certificate has expired"

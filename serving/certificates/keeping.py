"""Looking after certificates.

A look is cheap, is due every few seconds, and goes by the wall clock: a process that was paused when a renewal was due
notices at its next look. A look that fails leaves the certificate that is shown as it is.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

import structlog
from prometheus_client import Counter, Gauge

__all__ = ["CertificateMetrics", "Source", "expiry_fault", "keep"]

log = structlog.get_logger(__name__)


class CertificateMetrics:
    """What operators can watch of the certificates of one listener."""

    def __init__(self, listener: str) -> None:
        """`listener` is part of the names; make one of each."""
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
        """A new serving certificate is shown; `expires` in seconds since the epoch."""
        self.expires.labels("serving").set(expires)
        self.renewals.labels("serving").inc()
        log.info("a new serving certificate", expires=expires)


class Source(Protocol):
    """What `keep` looks after."""

    async def look(self) -> None:
        """Do what is due. Raises what `keep` expects; the next look tries again."""


async def keep(
    source: Source,
    seconds: float,
    metrics: CertificateMetrics,
    expected: tuple[type[Exception], ...] = (ValueError, OSError),
) -> None:
    """Look every so often, for ever; faults of an `expected` type are counted and logged."""
    while True:
        try:
            await source.look()
        except expected as error:
            metrics.faults.inc()
            log.error("certificates could not be looked after", error=str(error))  # noqa: TRY400 - no traceback
        await asyncio.sleep(seconds)


def expiry_fault(expires: float, now: float) -> str | None:
    """The readiness check of a certificate; `expires` is 0 while there is none."""
    if not expires:
        return "there is no serving certificate yet"
    return None if now < expires else "the serving certificate has expired"

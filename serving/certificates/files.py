"""Certificates in files that somebody else renews. Changed files are read again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from cryptography import x509

from api.clock import SYSTEM_CLOCK, Clock
from serving.certificates.keeping import CertificateMetrics, expiry_fault
from serving.certificates.live_context import LiveContext

__all__ = ["CertificateFiles", "ClientAuthority"]


class CertificateFiles:
    """A serving certificate and its key in PEM files."""

    def __init__(
        self,
        cert_file: str,
        key_file: str,
        live: LiveContext,
        metrics: CertificateMetrics,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._cert_file, self._key_file = cert_file, key_file
        self._live, self._metrics, self._clock = live, metrics, clock
        self._pem = b""
        self._expires = 0.0

    async def look(self) -> None:
        """Read the files again, and show the certificate if it has changed.

        Raises OSError for an unreadable file, and ValueError if the files are not a pair. Then nothing changes.
        """
        pem = await asyncio.to_thread(_read, self._cert_file, self._key_file)
        if pem == self._pem:
            return
        try:
            expires = x509.load_pem_x509_certificate(pem).not_valid_after_utc.timestamp()
            self._live.use(pem)
        except ValueError as error:
            raise ValueError(f"{self._cert_file}, {self._key_file}: {error}") from None
        self._pem, self._expires = pem, expires
        self._metrics.shown(expires)

    def fault(self) -> str | None:
        """The readiness check: None, or what is wrong with the certificate."""
        return expiry_fault(self._expires, self._clock.wall())


class ClientAuthority:
    """The CAs of callers, in a PEM file. They stay as they are while the file is unreadable."""

    def __init__(self, file: str, live: LiveContext) -> None:
        self._file, self._live = file, live
        self._content: bytes | None = None

    async def look(self) -> None:
        """Read the file again, and trust its CAs if it has changed. Raises OSError and ValueError."""
        content = await asyncio.to_thread(_read, self._file)
        if content != self._content:
            try:
                self._live.trust(content)
            except ValueError as error:
                raise ValueError(f"{self._file}: {error}") from None
            self._content = content


def _read(*paths: str) -> bytes:
    return b"\n".join(Path(path).read_bytes() for path in paths)

"""A TLS context whose certificate changes while it is in use: new handshakes get the new one, connections stay."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["LiveContext"]


class LiveContext:
    """The server's side. Without a certificate every handshake fails."""

    def __init__(self, client_ca_file: str | None = None) -> None:
        """With `client_ca_file`, whoever has no certificate of that CA gets no further than the handshake."""
        self.context = _context()
        if client_ca_file is not None:
            self.context.verify_mode = ssl.CERT_REQUIRED
            self.context.load_verify_locations(client_ca_file)

    def use(self, pem: bytes) -> None:
        """Show this certificate (with its chain and key, PEM) from now on. Raises ValueError, and nothing changes."""
        with _as_file(pem) as path:
            try:
                _context().load_cert_chain(path)  # a pair that does not match would spoil the one in use
                self.context.load_cert_chain(path)
            except (ssl.SSLError, OSError) as error:
                raise ValueError(f"not a certificate with its key: {error}") from error

    def trust(self, client_ca_file: str) -> None:
        """Accept clients of the CAs in this file too. Raises ValueError."""
        try:
            self.context.load_verify_locations(client_ca_file)
        except (ssl.SSLError, OSError) as error:
            raise ValueError(f"{client_ca_file}: {error}") from error


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """The ssl module reads files only; a key is not written to a disk where that can be avoided."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("certificate")
        try:
            os.write(descriptor, content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "certificate.pem"
            path.touch(mode=0o600)
            path.write_bytes(content)
            yield str(path)

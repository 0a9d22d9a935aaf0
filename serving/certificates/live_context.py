"""A TLS context that changes while it is in use. New handshakes get the new state, and connections stay.

Each change makes a whole new context, because OpenSSL cannot replace everything in an old one. A certificate with
another type of key would be added beside the old certificate, and a client could still get the old one. A loaded CA
would stay.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["LiveContext"]


class _Switch(ssl.SSLContext):
    """The context for a listener. Each connection begins with the newest of the contexts behind it."""

    newest: ssl.SSLContext

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Begin a connection with the newest context. Event loops call this for every connection."""
        return self.newest.wrap_bio(incoming, outgoing, server_side, server_hostname, session)


class LiveContext:
    """The TLS context of a server. Without a certificate, every handshake fails."""

    def __init__(self, client_ca_file: str | None = None) -> None:
        """With `client_ca_file`, the handshake fails for a client without a certificate of that CA.

        Raises OSError, which names the file.
        """
        self._pem: bytes | None = None
        self._client_authorities: bytes | None = None
        self._as_client: ssl.SSLContext | None = None
        self._switch = _Switch(ssl.PROTOCOL_TLS_SERVER)
        self._switch.newest = _context(None, None)
        if client_ca_file is not None:
            try:
                self.trust(Path(client_ca_file).read_bytes())
            except ValueError as error:
                raise OSError(f"{client_ca_file}: {error}") from None

    @property
    def context(self) -> ssl.SSLContext:
        """The context for a listener. It is always the same object."""
        return self._switch

    @property
    def as_client(self) -> ssl.SSLContext:
        """A context for connections to others of our kind: with the same certificate, and the same CAs for theirs.

        It is another object after each change.
        """
        if self._as_client is None:
            self._as_client = _context(self._pem, self._client_authorities, ssl.PROTOCOL_TLS_CLIENT)
        return self._as_client

    def use(self, pem: bytes) -> None:
        """Use this certificate from now on (PEM, with its chain and key). If it raises ValueError, nothing changes."""
        self._switch.newest = _context(pem, self._client_authorities)
        self._pem, self._as_client = pem, None

    def trust(self, authorities: bytes) -> None:
        """Accept only clients of these CAs (PEM). If it raises ValueError, nothing changes."""
        self._switch.newest = _context(self._pem, authorities)
        self._client_authorities, self._as_client = authorities, None


def _context(
    pem: bytes | None, authorities: bytes | None, protocol: ssl._SSLMethod = ssl.PROTOCOL_TLS_SERVER
) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if authorities is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        try:
            context.load_verify_locations(cadata=authorities.decode("ascii", "ignore"))
        except (ssl.SSLError, ValueError) as error:
            raise ValueError(f"not certificates of CAs: {error}") from error
    if pem is not None:
        with _as_file(pem) as path:
            try:
                # An encrypted key needs a password. Without this one, OpenSSL would ask on the terminal.
                context.load_cert_chain(path, password="")
            except (ssl.SSLError, OSError) as error:
                raise ValueError(f"not a certificate with its key: {error}") from error
    return context


@contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """The path of a file with the content, because the ssl module reads only files.

    Where the system allows it, the file is in memory, so that the key is not written to a disk.
    """
    if hasattr(os, "memfd_create"):
        with os.fdopen(os.memfd_create("certificate"), "wb", 0) as file:
            file.write(content)
            yield f"/proc/self/fd/{file.fileno()}"
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "certificate.pem"
            path.touch(mode=0o600)
            path.write_bytes(content)
            yield str(path)

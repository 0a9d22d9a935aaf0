"""TLS for a kubeconfig. Nothing of it is written to disk.

See docs/decisions/0101.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from controllers.multikueue.clusters.kubeconfigs import Access, KubeconfigError

__all__ = ["context_of"]

PREFIX: Final = "users[].user."


def context_of(access: Access) -> ssl.SSLContext:
    """The context that trusts the kubeconfig's authorities, or the system's, and shows its client certificate.

    Raises KubeconfigError for a certificate or a key that cannot be used.
    """
    try:
        context = ssl.create_default_context(cadata=access.authorities or None)
    except (ssl.SSLError, ValueError):
        raise KubeconfigError.bad(
            "clusters[].cluster.certificate-authority-data: not PEM certificates"
        ) from None
    if access.certificate:
        with _in_memory(access.certificate, access.key) as (certificate, key):
            try:
                context.load_cert_chain(certificate, key, password=_no_password)
            except (ssl.SSLError, ValueError):
                raise KubeconfigError.bad(
                    f"{PREFIX}client-certificate-data and client-key-data: not a PEM certificate with its key"
                ) from None
    return context


def _no_password() -> bytes:
    """Without this, OpenSSL asks the terminal for the password of an encrypted key."""
    raise ValueError("the key is encrypted")


@contextmanager
def _in_memory(*texts: bytes) -> Iterator[list[str]]:
    """Paths of files with these texts that are on no disk. They are gone after the block."""
    descriptors: list[int] = []
    try:
        for text in texts:
            descriptor = os.memfd_create("tls", os.MFD_CLOEXEC)
            descriptors.append(descriptor)
            view = memoryview(text)
            while view:
                view = view[os.write(descriptor, view) :]
        yield [f"/proc/self/fd/{each}" for each in descriptors]
    finally:
        for each in descriptors:
            os.close(each)

"""Secrets are kept as digests, and looked up by them."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

__all__ = ["SECRET_BYTES", "Digests"]

SECRET_BYTES: Final = 16
"""Random bytes of a session and of a code: 128 bits."""


class Digests:
    """Digests with a key of their own. Nobody else can compute them, so how long a look-up takes tells nothing."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def of(self, secret: str) -> bytes:
        """The digest of a secret."""
        return hashlib.blake2b(
            secret.encode("utf-8", "surrogatepass"), key=self._key, digest_size=32
        ).digest()

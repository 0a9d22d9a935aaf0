"""Certificate authorities and what they sign. Pure: who trusts, signs and expires is a function of the time given.

An authority is replaced at two thirds of its life: its successor is trusted first and signs only later, and the old
one is trusted until it expires. Every replica comes to the same from the same authorities.

See docs/decisions/0019.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from webhooks.certificates.signing import Life, common_name, key_pem, new_key, self_signed, signed

__all__ = ["Authorities", "Authority", "Leaf", "is_due", "make_authority"]

COMMON_NAME: Final = "reprieve webhooks"
CLOCK_SKEW: Final = 7200.0
"""Certificates are valid this long before they are made, for API servers whose clock is behind ours."""
RENEWAL: Final = 2 / 3
"""The part of a life after which there is a successor."""
CURVES: Final = ("secp256r1", "secp384r1", "secp521r1")
"""Those that Go can verify."""
PEM: Final = serialization.Encoding.PEM


@dataclass(frozen=True)
class Authority:
    """A CA certificate, with its key unless it is only to be trusted."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey | None

    @cached_property
    def pem(self) -> bytes:
        """The certificate."""
        return self.certificate.public_bytes(PEM)

    @cached_property
    def fingerprint(self) -> bytes:
        """SHA-256 of the certificate."""
        return self.certificate.fingerprint(hashes.SHA256())

    @property
    def made(self) -> float:
        """Seconds since the epoch."""
        return self.certificate.not_valid_before_utc.timestamp() + CLOCK_SKEW

    def may_sign(self, now: float) -> bool:
        """Whether it has a key and is valid already: one that was made while the clock was ahead is not."""
        return self.key is not None and self.made - CLOCK_SKEW <= now

    @property
    def expires(self) -> float:
        """Seconds since the epoch."""
        return self.certificate.not_valid_after_utc.timestamp()

    def issue(self, hosts: Collection[str], now: float, seconds: float) -> Leaf:
        """A serving certificate for host names and IP addresses; it does not outlive the authority."""
        if self.key is None:
            raise ValueError("an authority without a key signs nothing")
        key, expires = new_key(), min(now + seconds, self.expires)
        subject = x509.Name([common_name(COMMON_NAME)])
        certificate = signed(
            self.certificate,
            self.key,
            key.public_key(),
            subject,
            ExtendedKeyUsageOID.SERVER_AUTH,
            _life(now, expires),
            hosts,
        )
        pem = certificate.public_bytes(PEM) + key_pem(key)
        return Leaf(pem, self.fingerprint, now, expires)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A serving certificate. Times are seconds since the epoch."""

    pem: bytes
    """The certificate and its key."""
    issuer: bytes
    """The authority's fingerprint."""
    made: float
    expires: float


def make_authority(now: float, seconds: float) -> Authority:
    """A new authority, self-signed; each has a name of its own, so that none is taken for another."""
    key = new_key()
    number = hashlib.sha256(_public_pem(key)).hexdigest()[:12]
    name = x509.Name([common_name(f"{COMMON_NAME} {number}")])
    return Authority(self_signed(key, name, _life(now, now + seconds)), key)


def is_due(made: float, expires: float, now: float) -> bool:
    """Whether two thirds of a life are over; or it has not begun, since the clock was ahead when it was made."""
    return now < made - CLOCK_SKEW or now >= made + (expires - made) * RENEWAL


@dataclass(frozen=True, slots=True)
class Authorities:
    """Those that are trusted, newest first."""

    newest_first: tuple[Authority, ...] = ()

    @classmethod
    def of(cls, authorities: Iterable[Authority]) -> Authorities:
        """These, each once; of two that are the same, the one with a key."""
        known: dict[bytes, Authority] = {}
        for each in authorities:
            if each.fingerprint not in known or known[each.fingerprint].key is None:
                known[each.fingerprint] = each
        ordered = sorted(known.values(), key=lambda each: (each.made, each.fingerprint), reverse=True)
        return cls(tuple(ordered))

    @classmethod
    def parse(cls, certificates: bytes, keys: bytes) -> Authorities:
        """From PEM; a key belongs to the certificate that has its public half. Raises ValueError.

        Certificates that are not a CA's, or that Go cannot verify, are left out.
        """
        by_public = {_public_pem(key): key for key in _keys(keys)}
        found = [each for each in x509.load_pem_x509_certificates(certificates) if _is_usable(each)]
        return cls.of(Authority(each, by_public.get(_public_pem(each))) for each in found)

    def __bool__(self) -> bool:
        return bool(self.newest_first)

    @property
    def bundle(self) -> bytes:
        """PEM of the certificates, as API servers are given them."""
        return b"".join(each.pem for each in self.newest_first)

    @property
    def keys(self) -> bytes:
        """PEM of the keys."""
        return b"".join(key_pem(each.key) for each in self.newest_first if each.key is not None)

    def with_others(self, others: Authorities) -> Authorities:
        """These and others."""
        return Authorities.of((*self.newest_first, *others.newest_first))

    def alive(self, now: float) -> Authorities:
        """Without those that have expired."""
        return Authorities(tuple(each for each in self.newest_first if each.expires > now))

    def with_successor(self, now: float, seconds: float) -> Authorities:
        """With a new one, if there is none that may sign, or the newest one's time has come."""
        newest = next((each for each in self.newest_first if each.may_sign(now)), None)
        if newest is not None and not is_due(newest.made, newest.expires, now):
            return self
        return self.with_others(Authorities((make_authority(now, seconds),)))


def _life(now: float, expires: float) -> Life:
    return _moment(now - CLOCK_SKEW), _moment(expires)


def _moment(seconds: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)


def _is_usable(certificate: x509.Certificate) -> bool:
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        key = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm, x509.ExtensionNotFound, x509.DuplicateExtension):
        return False
    return constraints.ca and (not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name in CURVES)


def _public_pem(owner: ec.EllipticCurvePrivateKey | x509.Certificate) -> bytes:
    return owner.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def _keys(pem: bytes) -> list[ec.EllipticCurvePrivateKey]:
    """Each key of a file of several."""
    end = b"-----END PRIVATE KEY-----"
    keys = [
        serialization.load_pem_private_key(part + end, None) for part in pem.split(end)[:-1] if part.strip()
    ]
    return [key for key in keys if isinstance(key, ec.EllipticCurvePrivateKey)]

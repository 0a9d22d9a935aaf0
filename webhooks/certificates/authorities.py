"""Certificate authorities and the certificates that they sign. Pure: everything is a function of the given time.

An authority is replaced after two thirds of its life. Its successor is trusted first, and signs later. The old
authority is trusted until it expires. All replicas compute the same answer from the same authorities.

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
"""A certificate is valid this long before it is made, because the clock of an API server may be behind ours."""
RENEWAL: Final = 2 / 3
"""After this part of a life there is a successor."""
CURVES: Final = ("secp256r1", "secp384r1", "secp521r1")
"""The curves that Go can verify."""
PEM: Final = serialization.Encoding.PEM


@dataclass(frozen=True)
class Authority:
    """A CA certificate. It has a key, unless it is only trusted."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey | None

    @cached_property
    def pem(self) -> bytes:
        """The certificate in PEM."""
        return self.certificate.public_bytes(PEM)

    @cached_property
    def fingerprint(self) -> bytes:
        """The SHA-256 of the certificate."""
        return self.certificate.fingerprint(hashes.SHA256())

    @property
    def made(self) -> float:
        """When the certificate was made, in seconds since 1970."""
        return self.certificate.not_valid_before_utc.timestamp() + CLOCK_SKEW

    def may_sign(self, now: float) -> bool:
        """Whether it can sign now: it has a key, and it is valid already. A clock that was ahead makes it valid only
        later."""
        return self.key is not None and self.made - CLOCK_SKEW <= now

    @property
    def expires(self) -> float:
        """When the certificate expires, in seconds since 1970."""
        return self.certificate.not_valid_after_utc.timestamp()

    def issue(self, hosts: Collection[str], now: float, seconds: float) -> Leaf:
        """A serving certificate for these host names and IP addresses. It does not outlive the authority."""
        if self.key is None:
            raise ValueError("an authority without a key signs nothing")
        key, expires = new_key(), min(now + seconds, self.expires)
        subject = x509.Name([common_name(COMMON_NAME)])
        certificate = signed(
            self.certificate,
            self.key,
            key.public_key(),
            subject,
            [ExtendedKeyUsageOID.SERVER_AUTH],
            _life(now, expires),
            hosts,
        )
        pem = certificate.public_bytes(PEM) + key_pem(key)
        return Leaf(pem, self.fingerprint, now, expires)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A serving certificate. Times are seconds since 1970."""

    pem: bytes
    """The certificate and its key, in PEM."""
    issuer: bytes
    """The fingerprint of the authority that signed it."""
    made: float
    expires: float


def make_authority(now: float, seconds: float) -> Authority:
    """Make a self-signed authority. Each one has a name of its own, so that clients never mix them up."""
    key = new_key()
    number = hashlib.sha256(_public_pem(key)).hexdigest()[:12]
    name = x509.Name([common_name(f"{COMMON_NAME} {number}")])
    return Authority(self_signed(key, name, _life(now, now + seconds)), key)


def is_due(made: float, expires: float, now: float) -> bool:
    """Whether two thirds of a life are over, or it has not begun because the clock was ahead when it was made."""
    return now < made - CLOCK_SKEW or now >= made + (expires - made) * RENEWAL


@dataclass(frozen=True, slots=True)
class Authorities:
    """The trusted authorities, newest first."""

    newest_first: tuple[Authority, ...] = ()

    @classmethod
    def of(cls, authorities: Iterable[Authority]) -> Authorities:
        """These authorities without duplicates. Of two copies, the one with a key is kept."""
        known: dict[bytes, Authority] = {}
        for each in authorities:
            if each.fingerprint not in known or known[each.fingerprint].key is None:
                known[each.fingerprint] = each
        ordered = sorted(known.values(), key=lambda each: (each.made, each.fingerprint), reverse=True)
        return cls(tuple(ordered))

    @classmethod
    def parse(cls, certificates: bytes, keys: bytes) -> Authorities:
        """Read authorities from PEM. A key belongs to the certificate with its public half. Raises ValueError.

        Certificates that are not a CA's, and those that Go cannot verify, are left out.
        """
        by_public = {_public_pem(key): key for key in _keys(keys)}
        found = [each for each in x509.load_pem_x509_certificates(certificates) if _is_usable(each)]
        return cls.of(Authority(each, by_public.get(_public_pem(each))) for each in found)

    def __bool__(self) -> bool:
        return bool(self.newest_first)

    @property
    def bundle(self) -> bytes:
        """The certificates in PEM, as API servers get them."""
        return b"".join(each.pem for each in self.newest_first)

    @property
    def keys(self) -> bytes:
        """The keys in PEM."""
        return b"".join(key_pem(each.key) for each in self.newest_first if each.key is not None)

    def with_others(self, others: Authorities) -> Authorities:
        """These authorities together with others."""
        return Authorities.of((*self.newest_first, *others.newest_first))

    def alive(self, now: float) -> Authorities:
        """The authorities that have not expired."""
        return Authorities(tuple(each for each in self.newest_first if each.expires > now))

    def with_successor(self, now: float, seconds: float) -> Authorities:
        """These authorities, with a new one if it is needed.

        It is needed if no authority can sign, or if the newest one is due.
        """
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
    """The keys in a PEM file, one at a time."""
    end = b"-----END PRIVATE KEY-----"
    keys = [
        serialization.load_pem_private_key(part + end, None) for part in pem.split(end)[:-1] if part.strip()
    ]
    return [key for key in keys if isinstance(key, ec.EllipticCurvePrivateKey)]

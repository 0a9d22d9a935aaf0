"""X.509 certificates for servers and clients written in Go: authorities, and the certificates that they sign.

All keys are on the curve P-256. A life is a pair of times with a time zone: the first and the last moment.
"""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Collection
from typing import Final, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

__all__ = ["Life", "common_name", "key_pem", "new_key", "self_signed", "signed"]

Life: TypeAlias = tuple[datetime.datetime, datetime.datetime]

CA_USAGE: Final = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


def new_key() -> ec.EllipticCurvePrivateKey:
    """A new key for an authority or a certificate."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The key as unencrypted PKCS #8, in PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def common_name(name: str) -> x509.NameAttribute[str]:
    """A name with only a CN, for a subject."""
    return x509.NameAttribute(NameOID.COMMON_NAME, name)


def self_signed(key: ec.EllipticCurvePrivateKey, subject: x509.Name, life: Life) -> x509.Certificate:
    """The certificate of an authority. It may sign certificates, but not those of other authorities."""
    return (
        _builder(subject, subject, key.public_key(), life)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(CA_USAGE, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def signed(
    authority: x509.Certificate,
    signer: ec.EllipticCurvePrivateKey,
    public: ec.EllipticCurvePublicKey,
    subject: x509.Name,
    usages: Collection[x509.ObjectIdentifier],
    life: Life,
    hosts: Collection[str] = (),
) -> x509.Certificate:
    """A certificate for these extended key usages. `hosts` are its host names and IP addresses; there may be none."""
    builder = (
        _builder(subject, authority.subject, public, life)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    if hosts:
        names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(signer, hashes.SHA256())


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, life: Life
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(life[0])
        .not_valid_after(life[1])
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)

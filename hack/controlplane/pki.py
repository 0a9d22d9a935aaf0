"""Certificates: one authority, and a certificate per component that names who it is to the API server."""

from __future__ import annotations

import base64
import datetime
import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["Authority", "Pair", "write_kubeconfig", "write_signing_key"]

DEFAULT_DAYS: Final = 365
CLOCK_SKEW: Final = datetime.timedelta(minutes=5)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority whose files live in one folder (keys readable by their owner only)."""

    def __init__(self, folder: Path, name: str, days: int = DEFAULT_DAYS) -> None:
        """Load the authority of this folder, or make it."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._days = days
        self.pair = Pair(folder / "ca.crt", folder / "ca.key")
        if self.pair.key.exists():
            self._load()
        else:
            self._make(name)

    def server(self, name: str, hosts: Iterable[str]) -> Pair:
        """A serving certificate for host names and IP addresses."""
        alternatives = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._issue(name, subject, ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def client(self, name: str, user: str, groups: Iterable[str] = ()) -> Pair:
        """A client certificate; Kubernetes reads the user from CN and the groups from O."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        return self._issue(name, subject, ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _load(self) -> None:
        self._certificate = x509.load_pem_x509_certificate(self.pair.certificate.read_bytes())
        key = serialization.load_pem_private_key(self.pair.key.read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{self.pair.key} is not an elliptic curve key")
        self._key = key

    def _make(self, name: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usage = x509.KeyUsage(
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
        self._certificate = (
            self._builder(subject, subject, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        _write(self.pair, self._certificate, self._key)

    def _issue(
        self,
        name: str,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName | None,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            self._builder(subject, self._certificate.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
            )
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        _write(pair, builder.sign(self._key, hashes.SHA256()), key)
        return pair

    def _builder(
        self, subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - CLOCK_SKEW)
            .not_valid_after(now + datetime.timedelta(days=self._days))
        )


def write_signing_key(path: Path) -> None:
    """The key that service account tokens are signed with."""
    key = ec.generate_private_key(ec.SECP256R1())
    encoding = serialization.PrivateFormat.TraditionalOpenSSL  # the API server reads no PKCS #8 here
    _write_private(
        path, key.private_bytes(serialization.Encoding.PEM, encoding, serialization.NoEncryption())
    )


def write_kubeconfig(path: Path, server: str, authority: Path, pair: Pair) -> None:
    """A kubeconfig with everything inline: it can be copied anywhere."""
    name = "local"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": server, "certificate-authority-data": _base64(authority)}}
        ],
        "users": [
            {
                "name": name,
                "user": {
                    "client-certificate-data": _base64(pair.certificate),
                    "client-key-data": _base64(pair.key),
                },
            }
        ],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    _write_private(path, yaml.safe_dump(config, sort_keys=False).encode())


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _write(pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    _write_private(pair.key, _key_pem(key))


def _write_private(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)

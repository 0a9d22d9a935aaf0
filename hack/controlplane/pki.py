"""Certificates: one authority, and for each component a certificate with its user name."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from webhooks.certificates.signing import Life, common_name, key_pem, new_key, self_signed, signed

__all__ = ["Authority", "Pair", "write_kubeconfig", "write_signing_key"]

DEFAULT_DAYS: Final = 365
CLOCK_SKEW: Final = datetime.timedelta(minutes=5)


@dataclass(frozen=True)
class Pair:
    """The PEM files of a certificate and its key."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority with its files in one folder. Only their owner can read the keys."""

    def __init__(self, folder: Path, name: str, days: int = DEFAULT_DAYS) -> None:
        """Load the authority of this folder, or create it."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._days = days
        self.pair = Pair(folder / "ca.crt", folder / "ca.key")
        if self.pair.key.exists():
            self._load()
        else:
            self._make(name)

    def server(self, name: str, hosts: Collection[str]) -> Pair:
        """A serving certificate for host names and IP addresses."""
        return self._issue(name, [common_name(name)], [ExtendedKeyUsageOID.SERVER_AUTH], hosts)

    def replica(self, name: str, hosts: Collection[str]) -> Pair:
        """The same for a server that also calls others of its kind, with the same certificate."""
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        return self._issue(name, [common_name(name)], usages, hosts)

    def client(self, name: str, user: str, groups: Iterable[str] = ()) -> Pair:
        """A client certificate. Kubernetes reads the user from CN, and the groups from O."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        return self._issue(name, [*attributes, common_name(user)], [ExtendedKeyUsageOID.CLIENT_AUTH])

    def _load(self) -> None:
        self._certificate = x509.load_pem_x509_certificate(self.pair.certificate.read_bytes())
        key = serialization.load_pem_private_key(self.pair.key.read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{self.pair.key} is not an elliptic curve key")
        self._key = key

    def _make(self, name: str) -> None:
        self._key = new_key()
        self._certificate = self_signed(self._key, x509.Name([common_name(name)]), self._life())
        _write(self.pair, self._certificate, self._key)

    def _issue(
        self,
        name: str,
        subject: Sequence[x509.NameAttribute[str]],
        usages: Sequence[x509.ObjectIdentifier],
        hosts: Collection[str] = (),
    ) -> Pair:
        key = new_key()
        certificate = signed(
            self._certificate, self._key, key.public_key(), x509.Name(subject), usages, self._life(), hosts
        )
        pair = Pair(self._folder / f"{name}.crt", self._folder / f"{name}.key")
        _write(pair, certificate, key)
        return pair

    def _life(self) -> Life:
        now = datetime.datetime.now(datetime.UTC)
        return now - CLOCK_SKEW, now + datetime.timedelta(days=self._days)


def write_signing_key(path: Path) -> None:
    """Write the key that signs service account tokens."""
    key = new_key()
    encoding = serialization.PrivateFormat.TraditionalOpenSSL  # the API server cannot read PKCS #8 here
    _write_private(
        path, key.private_bytes(serialization.Encoding.PEM, encoding, serialization.NoEncryption())
    )


def write_kubeconfig(path: Path, server: str, authority: Path, pair: Pair) -> None:
    """Write a kubeconfig with everything inline, so that it can be copied anywhere."""
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


def _write(pair: Pair, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> None:
    pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    _write_private(pair.key, key_pem(key))


def _write_private(path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)

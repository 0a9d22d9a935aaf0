"""Handshakes without a network, and certificates for them."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from serving.certificates.live_context import LiveContext

__all__ = ["HOST", "handshake", "pair_of", "shown"]

HOST = "hooks.ns.svc"


def handshake(live: LiveContext, client: ssl.SSLContext) -> ssl.SSLObject:
    """The client's side of a handshake. Raises ssl.SSLError."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = live.context.wrap_bio(to_server, to_client, server_side=True)
    mine = client.wrap_bio(to_client, to_server, server_hostname=HOST)
    done = {server: False, mine: False}
    for _ in range(10):
        for side in (mine, server):
            if not done[side]:
                try:
                    side.do_handshake()
                    done[side] = True
                except ssl.SSLWantReadError:
                    pass
    assert all(done.values())
    return mine


def shown(live: LiveContext) -> x509.Certificate:
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    der = handshake(live, client).getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der)


def pair_of(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey, name: str, password: bytes = b"") -> bytes:
    """A certificate that signs itself, with its key."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    pem, pkcs8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return certificate.public_bytes(pem) + key.private_bytes(pem, pkcs8, encryption)

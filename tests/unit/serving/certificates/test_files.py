"""Certificates, and authorities of callers, that somebody else puts into files."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from hack.controlplane.pki import Authority as FileAuthority
from serving.certificates.files import CertificateFiles, ClientAuthority
from serving.certificates.keeping import CertificateMetrics
from serving.certificates.live_context import LiveContext
from tests.kit.handshakes import HOST, handshake, pair_of, shown

METRICS = CertificateMetrics("tested")


def files_of(certificate: Path, key: Path, live: LiveContext) -> CertificateFiles:
    return CertificateFiles(str(certificate), str(key), live, METRICS)


async def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    authority = FileAuthority(tmp_path, "files")
    first = authority.server("server", [HOST])
    live = LiveContext()
    source = files_of(first.certificate, first.key, live)
    assert source.fault() == "there is no serving certificate yet"
    await source.look()
    assert source.fault() is None
    leaf = shown(live)
    key = first.key.read_bytes()
    authority.server("server", [HOST])  # the same files
    new_key = first.key.read_bytes()
    first.key.chmod(0o600)
    first.key.write_bytes(key)
    with pytest.raises(ValueError, match="not a certificate with its key"):
        await source.look()  # half of the pair is there
    assert shown(live) == leaf
    first.key.write_bytes(new_key)
    await source.look()
    assert shown(live) != leaf
    first.certificate.unlink()
    with pytest.raises(FileNotFoundError):
        await source.look()


def test_a_certificate_with_another_type_of_key_replaces_the_old_one() -> None:
    """OpenSSL keeps one certificate of each type, and prefers what the client does: the older one, until it expires."""
    live = LiveContext()
    elliptic = pair_of(ec.generate_private_key(ec.SECP256R1()), "elliptic")
    other = pair_of(rsa.generate_private_key(65537, 2048), "rsa")
    for pem in (elliptic, other, elliptic):
        live.use(pem)
        assert shown(live) == x509.load_pem_x509_certificate(pem)


def test_nobody_is_asked_for_the_password_of_a_key() -> None:
    live = LiveContext()
    with pytest.raises(ValueError, match="not a certificate with its key"):
        live.use(pair_of(ec.generate_private_key(ec.SECP256R1()), "locked", b"secret"))


async def test_files_are_swapped_as_the_kubelet_does_it(tmp_path: Path) -> None:
    """Both files are links into a folder that is a link, and this one is replaced."""
    authority = FileAuthority(tmp_path, "files")
    folders = []
    for number in range(2):
        pair = authority.server("server", [HOST])
        folders.append(tmp_path / f"..{number}")
        folders[-1].mkdir()
        pair.certificate.rename(folders[-1] / "tls.crt")
        pair.key.rename(folders[-1] / "tls.key")
    data = tmp_path / "..data"
    data.symlink_to(folders[0])
    paths = [tmp_path / name for name in ("tls.crt", "tls.key")]
    for path in paths:
        path.symlink_to(data / path.name)
    live = LiveContext()
    source = files_of(paths[0], paths[1], live)
    await source.look()
    first = shown(live)
    swapped = tmp_path / "..data_tmp"
    swapped.symlink_to(folders[1])
    swapped.rename(data)
    await source.look()
    assert shown(live) != first
    for path in paths:
        path.unlink()
    with pytest.raises(FileNotFoundError):
        await source.look()
    assert source.fault() is None  # what is shown is still good


async def test_client_authorities_are_those_of_the_file_and_no_others(tmp_path: Path) -> None:
    old, new = FileAuthority(tmp_path / "old", "old"), FileAuthority(tmp_path / "new", "new")
    server = old.server("server", [HOST])
    accepted = tmp_path / "clients.crt"
    accepted.write_bytes(old.pair.certificate.read_bytes())
    live = LiveContext(str(accepted))
    await files_of(server.certificate, server.key, live).look()
    source = ClientAuthority(str(accepted), live)
    await source.look()

    def come(authority: FileAuthority | None) -> None:
        client = ssl.create_default_context(cafile=old.pair.certificate)
        client.maximum_version = (
            ssl.TLSVersion.TLSv1_2
        )  # where the client learns of a refusal in the handshake
        if authority is not None:
            pair = authority.client("client", "client")
            client.load_cert_chain(pair.certificate, pair.key)
        handshake(live, client)

    come(old)
    for stranger in (None, new):
        with pytest.raises(ssl.SSLError):
            come(stranger)
    accepted.write_bytes(old.pair.certificate.read_bytes() + new.pair.certificate.read_bytes())
    await source.look()
    come(new)
    come(old)
    accepted.write_bytes(new.pair.certificate.read_bytes())
    await source.look()
    come(new)
    with pytest.raises(ssl.SSLError):
        come(old)
    for content in (b"", b"no certificate", new.pair.certificate.read_bytes()[:300]):
        accepted.write_bytes(content)
        with pytest.raises(ValueError, match=r"clients\.crt: not certificates of CAs"):
            await source.look()
        come(new)
    accepted.unlink()
    with pytest.raises(FileNotFoundError):
        await source.look()
    come(new)
    with pytest.raises(ssl.SSLError):
        come(None)


def test_a_client_authority_that_is_none_is_named_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "clients.crt"
    with pytest.raises(OSError, match=r"clients\.crt"):
        LiveContext(str(file))
    file.write_text("nothing")
    with pytest.raises(OSError, match=r"clients\.crt"):
        LiveContext(str(file))

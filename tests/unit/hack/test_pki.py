"""Certificates that both sides accept, and nobody else."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner
from cryptography import x509

from hack.controlplane.certificates import main
from hack.controlplane.pki import Authority, Pair
from hack.controlplane.ports import Ports


def handshake(server: Pair, client: Pair | None, trusted: Path, accepted: Path, name: str) -> str:
    """The common name that the server saw. Raises ssl.SSLError or OSError when either side refuses."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=accepted)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(server.certificate, server.key)
    mine = ssl.create_default_context(cafile=trusted)
    if client is not None:
        mine.load_cert_chain(client.certificate, client.key)
    near, far = socket.socketpair()
    seen: list[object] = []

    def serve() -> None:
        try:
            with context.wrap_socket(far, server_side=True) as stream:
                seen.append(stream.getpeercert())
                stream.sendall(b"!")
        except OSError as error:
            seen.append(error)
            far.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with mine.wrap_socket(near, server_hostname=name) as stream:
            stream.recv(1)
    finally:
        near.close()
        thread.join()
    if isinstance(seen[0], OSError):
        raise seen[0]
    assert isinstance(seen[0], dict)
    return str(dict(part[0] for part in seen[0]["subject"])["commonName"])


def test_the_scheduler_and_the_extender_accept_each_other(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--out", str(tmp_path)])
    assert result.exit_code == 0
    pairs = [
        Pair(tmp_path / side / "tls.crt", tmp_path / side / "tls.key") for side in ("server", "scheduler")
    ]
    authority = tmp_path / "server" / "ca.crt"
    seen = handshake(pairs[0], pairs[1], authority, authority, "reprieve.reprieve-system.svc")
    assert seen == "kube-scheduler"
    assert all((tmp_path / side / "tls.key").stat().st_mode & 0o077 == 0 for side in ("server", "scheduler"))


def test_renewing_keeps_the_authority(tmp_path: Path) -> None:
    contents = []
    for _ in range(2):
        assert CliRunner().invoke(main, ["--out", str(tmp_path)]).exit_code == 0
        contents.append([(tmp_path / "server" / name).read_bytes() for name in ("ca.crt", "tls.crt")])
    assert contents[0][0] == contents[1][0]
    assert contents[0][1] != contents[1][1]


@pytest.mark.parametrize("whose", ["nobody's", "another authority's", "a server's"])
def test_other_callers_are_refused(tmp_path: Path, whose: str) -> None:
    authority, other = Authority(tmp_path / "a", "a"), Authority(tmp_path / "b", "b")
    server = authority.server("server", ["here"])
    callers = {
        "nobody's": None,
        "another authority's": other.client("caller", "kube-scheduler"),
        "a server's": authority.server("caller", ["there"]),
    }
    trusted = authority.pair.certificate
    with pytest.raises(OSError, match=r"(?i)certificate|alert|peer|reset|broken pipe|eof"):
        handshake(server, callers[whose], trusted, trusted, "here")


def test_users_and_groups_are_where_kubernetes_reads_them(tmp_path: Path) -> None:
    pair = Authority(tmp_path, "ca").client("me", "me", ["one", "two"])
    subject = x509.load_pem_x509_certificate(pair.certificate.read_bytes()).subject
    names = [(part.rfc4514_attribute_name, part.value) for part in subject]
    assert names == [("O", "one"), ("O", "two"), ("CN", "me")]


def test_ports_are_not_given_twice() -> None:
    first, second = Ports(), Ports()
    try:
        taken = [first.take() for _ in range(20)] + [second.take() for _ in range(20)]
    finally:
        first.release()
        second.release()
    assert len(set(taken)) == len(taken)

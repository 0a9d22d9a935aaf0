"""Certificates over a long time: whatever happens, API servers trust what is shown."""

from __future__ import annotations

import asyncio
import ssl
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from cluster.client import ApiClient, ApiError
from hack.controlplane.pki import Authority as FileAuthority
from tests.unit.webhooks.fakes import MUTATING, SECRET, VALIDATING, Api, hooks
from webhooks.authorities import Authorities, make_authority
from webhooks.authority_secret import AuthoritySecret
from webhooks.bundles import Bundles
from webhooks.certificates import CertificateFiles, ClientAuthority, ManagedCertificates, keep
from webhooks.configuration import FilesConfiguration, ManagedConfiguration
from webhooks.live_context import LiveContext

HOST = "hooks.ns.svc"
START = 2_000_000_000.0
DAY = 86400.0
CONFIGURATION = ManagedConfiguration(
    namespace="ns",
    secret_name="ca",
    hosts=[HOST],
    authority_seconds=90 * DAY,
    certificate_seconds=9 * DAY,
    overlap_seconds=600,
    validating_webhook_configurations=["hooks"],
    mutating_webhook_configurations=["hooks"],
)


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


class Replica:
    """One process."""

    def __init__(self, api: Api, clock: Clock) -> None:
        client = cast(ApiClient, api)
        self.live = LiveContext()
        self.clock = clock
        self.certificates = ManagedCertificates(
            CONFIGURATION,
            AuthoritySecret(client, "ns", "ca"),
            Bundles(client, ["hooks"], ["hooks"]),
            self.live,
            clock,
        )
        self.look = self.certificates.look

    def shown(self) -> x509.Certificate:
        """The certificate of a new handshake. Raises ssl.SSLError when there is none."""
        return shown(self.live)


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


def trusted(api: Api, replica: Replica) -> bool:
    """Whether every webhook of every configuration has a CA that has signed what is shown, and both are valid."""
    leaf = replica.shown()
    now = replica.clock.now
    if not leaf.not_valid_before_utc.timestamp() <= now < leaf.not_valid_after_utc.timestamp():
        return False
    return all(any(_signed(leaf, ca, now) for ca in _certificates(bundle)) for bundle in api.bundles())


def _certificates(bundle: bytes) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(bundle) if bundle else []


def _signed(leaf: x509.Certificate, ca: x509.Certificate, now: float) -> bool:
    try:
        leaf.verify_directly_issued_by(ca)
    except Exception:
        return False
    return now < ca.not_valid_after_utc.timestamp()


@pytest.fixture
def api() -> Api:
    api = Api()
    api.put(VALIDATING, hooks("a", "b"))
    api.put(MUTATING, hooks("c"))
    return api


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_the_first_look_makes_publishes_and_shows(api: Api, clock: Clock) -> None:
    replica = Replica(api, clock)
    assert replica.certificates.fault() == "there is no serving certificate yet"
    await replica.look()
    assert replica.certificates.fault() is None
    assert trusted(api, replica)
    assert len(set(api.bundles())) == 1
    before = len(api.written)
    await replica.look()
    assert len(api.written) == before


async def test_a_client_that_has_the_bundle_verifies_the_name(api: Api) -> None:
    clock = Clock()
    clock.now = time.time()
    replica = Replica(api, clock)
    await replica.look()
    client = ssl.create_default_context(cadata=api.bundles()[0].decode())
    assert handshake(replica.live, client).version() in ("TLSv1.2", "TLSv1.3")


async def test_replicas_share_the_authority(api: Api, clock: Clock) -> None:
    replicas = [Replica(api, clock) for _ in range(3)]
    await asyncio.gather(*(each.look() for each in replicas))
    assert len({each.shown().issuer for each in replicas}) == 1
    assert all(trusted(api, each) for each in replicas)


async def test_over_a_year_nothing_shown_is_ever_not_trusted(api: Api, clock: Clock) -> None:
    """Two replicas that look every other day, an API server that had the bundle of a look before."""
    replicas = [Replica(api, clock) for _ in range(2)]
    issuers, leaves, most = set(), set(), 0
    for _ in range(183):
        for replica in replicas:
            lagging = [list(_certificates(bundle)) for bundle in api.bundles()]
            await replica.look()
            assert trusted(api, replica)
            leaf = replica.shown()
            if leaf.serial_number not in leaves and any(lagging):
                # An API server that has not yet seen what this look has published accepts it as well.
                assert all(any(_signed(leaf, ca, clock.now) for ca in bundle) for bundle in lagging)
            leaves.add(leaf.serial_number)
            issuers.add(leaf.issuer)
        most = max(most, *(len(_certificates(bundle)) for bundle in api.bundles()))
        clock.now += 2 * DAY
    assert len(issuers) == 7  # one in 60 days
    assert most == 2
    assert len(leaves) > 100


async def test_a_new_authority_is_trusted_for_a_while_before_it_signs(api: Api, clock: Clock) -> None:
    replica = Replica(api, clock)
    await replica.look()
    first = replica.shown().issuer
    clock.now += 60 * DAY
    await replica.look()
    assert [len(_certificates(bundle)) for bundle in api.bundles()] == [2, 2, 2]
    assert replica.shown().issuer == first
    clock.now += 599
    await replica.look()
    assert replica.shown().issuer == first
    clock.now += 1
    await replica.look()
    assert replica.shown().issuer != first


async def test_an_authority_that_was_never_published_does_not_sign_at_once(api: Api, clock: Clock) -> None:
    """A replica made it and died before it could tell anybody."""
    replica = Replica(api, clock)
    await replica.look()
    first = replica.shown().issuer
    stored = await AuthoritySecret(cast(ApiClient, api), "ns", "ca").read()
    assert stored is not None
    clock.now += 60 * DAY
    grown = stored.authorities.with_others(Authorities((make_authority(clock.now, 90 * DAY),)))
    await AuthoritySecret(cast(ApiClient, api), "ns", "ca").write(grown, stored.resource_version)
    clock.now += 3600
    fresh = Replica(api, clock)
    await fresh.look()
    assert fresh.shown().issuer == first
    clock.now += 600
    await fresh.look()
    assert fresh.shown().issuer != first


async def test_a_deleted_secret_is_written_again_as_it_was(api: Api, clock: Clock) -> None:
    replica = Replica(api, clock)
    await replica.look()
    secret = api.objects.pop(SECRET)
    leaf = replica.shown()
    await replica.look()
    assert api.objects[SECRET]["data"] == secret["data"]
    assert replica.shown() == leaf


async def test_a_new_replica_waits_for_one_that_knows_the_deleted_secret(api: Api, clock: Clock) -> None:
    old, new = Replica(api, clock), Replica(api, clock)
    await old.look()
    secret = api.objects.pop(SECRET)
    await new.look()
    assert SECRET not in api.objects
    await old.look()
    await new.look()
    assert api.objects[SECRET]["data"] == secret["data"]
    assert trusted(api, new)


async def test_if_nobody_knows_the_deleted_secret_a_new_authority_is_made(api: Api, clock: Clock) -> None:
    await Replica(api, clock).look()
    del api.objects[SECRET]
    replica = Replica(api, clock)
    for _ in range(3):
        await replica.look()
        assert SECRET not in api.objects
    await replica.look()
    assert trusted(api, replica)


@pytest.mark.parametrize(
    "data",
    [{}, None, {"ca.crt": "?", "ca.key": ""}, {"ca.crt": "bm9uc2Vuc2U=", "ca.key": "bm9uc2Vuc2U="}],
)
async def test_garbage_in_the_secret_is_replaced_and_what_is_shown_stays(
    api: Api, clock: Clock, data: dict[str, str] | None
) -> None:
    replica = Replica(api, clock)
    await replica.look()
    good = dict(api.objects[SECRET]["data"])
    leaf = replica.shown()
    api.put(SECRET, {"data": data})
    await replica.look()
    assert api.objects[SECRET]["data"] == good
    assert replica.shown() == leaf


async def test_a_wiped_bundle_is_put_back(api: Api, clock: Clock) -> None:
    replica = Replica(api, clock)
    await replica.look()
    api.put(MUTATING, hooks("c", "d"))
    await replica.look()
    assert trusted(api, replica)
    assert all(api.bundles())


async def test_while_the_api_server_is_away_the_certificate_is_renewed(api: Api, clock: Clock) -> None:
    replica = Replica(api, clock)
    await replica.look()
    first = replica.shown()
    api.refuse = lambda _method, _path: ApiError(0, "ClientConnectorError", "no answer")
    clock.now += 20 * DAY  # a paused process: two renewals were missed, the certificate has expired
    assert replica.certificates.fault() == "the serving certificate has expired"
    with pytest.raises(ApiError):
        await replica.look()
    assert replica.certificates.fault() is None
    assert replica.shown() != first
    assert trusted(api, replica)


async def test_conflicts_are_settled(api: Api, clock: Clock) -> None:
    """Somebody else writes between every read and the first write."""
    replica = Replica(api, clock)
    seen: set[str] = set()

    def meddle(method: str, path: str) -> ApiError | None:
        if method != "GET" and path not in seen:
            seen.add(path)
            return ApiError(409, "Conflict", path)
        return None

    api.refuse = meddle
    await replica.look()
    assert trusted(api, replica)
    api.refuse = lambda method, path: ApiError(409, "Conflict", path) if method == "PATCH" else None
    clock.now += 60 * DAY
    with pytest.raises(ApiError, match="changes all the time"):
        await replica.look()
    assert replica.certificates.fault() is None


async def test_keep_looks_again_after_a_failure() -> None:
    looks = asyncio.Semaphore(0)

    class Failing:
        async def look(self) -> None:
            looks.release()
            raise ApiError(0, "TimeoutError", "no answer in time")

    task = asyncio.create_task(keep(Failing(), 0.001))
    for _ in range(3):
        await looks.acquire()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_files_are_read_again_when_they_change(tmp_path: Path) -> None:
    authority = FileAuthority(tmp_path, "files")
    first = authority.server("server", [HOST])
    files = FilesConfiguration(cert_file=str(first.certificate), key_file=str(first.key))
    live = LiveContext()
    source = CertificateFiles(files, live)
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
    source = CertificateFiles(FilesConfiguration(cert_file=str(paths[0]), key_file=str(paths[1])), live)
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
    await CertificateFiles(
        FilesConfiguration(cert_file=str(server.certificate), key_file=str(server.key)), live
    ).look()
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

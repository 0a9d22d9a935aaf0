"""Certificates over a long time: whatever happens, API servers trust what is shown."""

from __future__ import annotations

import asyncio
import base64
import random
import ssl
import time
from typing import Any, cast

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from kube.client import ApiClient
from kube.errors import ApiError
from serving.certificates.keeping import keep
from tests.kit.clock import PATIENCE_SECONDS, ManualClock
from tests.kit.examples import examples
from tests.kit.handshakes import handshake, pair_of
from tests.kit.waiting import beside
from tests.unit.webhooks.certificates.replicas import (
    DAY,
    MUTATING,
    SECRETS,
    START,
    VALIDATING,
    Api,
    Replica,
    certificates_of,
    hooks,
    signed,
    trusted,
)
from webhooks.certificates.authorities import Authorities, make_authority
from webhooks.certificates.authority_secret import AuthoritySecret
from webhooks.certificates.managed import EXPECTED
from webhooks.metrics import CERTIFICATE_METRICS


@pytest.fixture
def api() -> Api:
    api = Api()
    api.put(VALIDATING, hooks("a", "b"))
    api.put(MUTATING, hooks("c"))
    return api


def secret(data: object) -> dict[str, Any]:
    """The Secret of the authorities, as somebody else wrote it."""
    return {"metadata": {"name": "ca"}, "data": data}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(wall=START)


async def test_the_first_look_makes_publishes_and_shows(api: Api, clock: ManualClock) -> None:
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
    clock = ManualClock(wall=time.time())
    replica = Replica(api, clock)
    await replica.look()
    client = ssl.create_default_context(cadata=api.bundles()[0].decode())
    assert handshake(replica.live, client).version() in ("TLSv1.2", "TLSv1.3")


async def test_replicas_share_the_authority(api: Api, clock: ManualClock) -> None:
    replicas = [Replica(api, clock) for _ in range(3)]
    await asyncio.gather(*(each.look() for each in replicas))
    assert len({each.shown().issuer for each in replicas}) == 1
    assert all(trusted(api, each) for each in replicas)


async def test_over_a_year_nothing_shown_is_ever_not_trusted(api: Api, clock: ManualClock) -> None:
    """Two replicas that look every other day, an API server that had the bundle of a look before."""
    replicas = [Replica(api, clock) for _ in range(2)]
    issuers, leaves, most = set(), set(), 0
    for _ in range(183):
        for replica in replicas:
            lagging = [list(certificates_of(bundle)) for bundle in api.bundles()]
            await replica.look()
            assert trusted(api, replica)
            leaf = replica.shown()
            if leaf.serial_number not in leaves and any(lagging):
                # An API server that has not yet seen what this look has published accepts it as well.
                assert all(any(signed(leaf, ca, clock.wall()) for ca in bundle) for bundle in lagging)
            leaves.add(leaf.serial_number)
            issuers.add(leaf.issuer)
        most = max(most, *(len(certificates_of(bundle)) for bundle in api.bundles()))
        clock.advance(2 * DAY)
    assert len(issuers) == 7  # one in 60 days
    assert most == 2
    assert len(leaves) > 100


async def test_a_new_authority_is_trusted_for_a_while_before_it_signs(api: Api, clock: ManualClock) -> None:
    replica = Replica(api, clock)
    await replica.look()
    first = replica.shown().issuer
    clock.advance(60 * DAY)
    await replica.look()
    assert [len(certificates_of(bundle)) for bundle in api.bundles()] == [2, 2, 2]
    assert replica.shown().issuer == first
    clock.advance(599)
    await replica.look()
    assert replica.shown().issuer == first
    clock.advance(1)
    await replica.look()
    assert replica.shown().issuer != first


async def test_an_authority_that_was_never_published_does_not_sign_at_once(
    api: Api, clock: ManualClock
) -> None:
    """A replica made it and died before it could tell anybody."""
    replica = Replica(api, clock)
    await replica.look()
    first = replica.shown().issuer
    stored = await AuthoritySecret(cast(ApiClient, api), "ns", "ca").read()
    assert stored is not None
    clock.advance(60 * DAY)
    grown = stored.authorities.with_others(Authorities((make_authority(clock.wall(), 90 * DAY),)))
    await AuthoritySecret(cast(ApiClient, api), "ns", "ca").write(grown, stored.resource_version)
    clock.advance(3600)
    fresh = Replica(api, clock)
    await fresh.look()
    assert fresh.shown().issuer == first
    clock.advance(600)
    await fresh.look()
    assert fresh.shown().issuer != first


async def test_a_deleted_secret_is_written_again_as_it_was(api: Api, clock: ManualClock) -> None:
    replica = Replica(api, clock)
    await replica.look()
    secret = api.secrets.pop("ca")
    leaf = replica.shown()
    await replica.look()
    assert api.secrets["ca"]["data"] == secret["data"]
    assert replica.shown() == leaf


async def test_a_new_replica_waits_for_one_that_knows_the_deleted_secret(
    api: Api, clock: ManualClock
) -> None:
    old, new = Replica(api, clock), Replica(api, clock)
    await old.look()
    secret = api.secrets.pop("ca")
    await new.look()
    assert "ca" not in api.secrets
    await old.look()
    await new.look()
    assert api.secrets["ca"]["data"] == secret["data"]
    assert trusted(api, new)


async def test_if_nobody_knows_the_deleted_secret_a_new_authority_is_made(
    api: Api, clock: ManualClock
) -> None:
    await Replica(api, clock).look()
    del api.secrets["ca"]
    replica = Replica(api, clock)
    for _ in range(3):
        await replica.look()
        assert "ca" not in api.secrets
    await replica.look()
    assert trusted(api, replica)


@pytest.mark.parametrize(
    "data",
    [{}, None, {"ca.crt": "?", "ca.key": ""}, {"ca.crt": "bm9uc2Vuc2U=", "ca.key": "bm9uc2Vuc2U="}],
)
async def test_garbage_in_the_secret_is_replaced_and_what_is_shown_stays(
    api: Api, clock: ManualClock, data: dict[str, str] | None
) -> None:
    replica = Replica(api, clock)
    await replica.look()
    good = dict(api.secrets["ca"]["data"])
    leaf = replica.shown()
    api.put(SECRETS, secret(data))
    await replica.look()
    assert api.secrets["ca"]["data"] == good
    assert replica.shown() == leaf


async def test_a_wiped_bundle_is_put_back(api: Api, clock: ManualClock) -> None:
    replica = Replica(api, clock)
    await replica.look()
    api.put(MUTATING, hooks("c", "d"))
    await replica.look()
    assert trusted(api, replica)
    assert all(api.bundles())


async def test_while_the_api_server_is_away_the_certificate_is_renewed(api: Api, clock: ManualClock) -> None:
    replica = Replica(api, clock)
    await replica.look()
    first = replica.shown()
    api.refuse = lambda _method, _path: ApiError(0, "ClientConnectorError", "no answer")
    clock.advance(20 * DAY)  # a paused process: two renewals were missed, the certificate has expired
    assert replica.certificates.fault() == "the serving certificate has expired"
    with pytest.raises(ApiError):
        await replica.look()
    assert replica.certificates.fault() is None
    assert replica.shown() != first
    assert trusted(api, replica)


@pytest.mark.parametrize("days", [1, 40, 100, 1000])
async def test_a_clock_that_was_ahead_does_no_lasting_harm(api: Api, clock: ManualClock, days: int) -> None:
    """What was made then is not valid yet, for API servers: neither it nor what it signed may be shown."""
    replica = Replica(api, clock)
    await replica.look()
    clock.set_wall(clock.wall() + days * DAY)
    await replica.look()
    assert trusted(api, replica)
    clock.advance(700)
    await replica.look()
    assert trusted(api, replica)
    clock.set_wall(clock.wall() - days * DAY)
    await replica.look()
    assert trusted(api, replica)
    assert trusted(api, await started(Replica(api, clock)))
    written = len(api.written)
    await replica.look()
    assert len(api.written) == written
    for _ in range(2 * days // 3):
        clock.advance(2 * DAY)
        await replica.look()
        assert trusted(api, replica)


async def started(replica: Replica) -> Replica:
    await replica.look()
    return replica


async def test_while_the_secret_cannot_be_read_a_wiped_bundle_is_put_back(
    api: Api, clock: ManualClock
) -> None:
    replica = Replica(api, clock)
    await replica.look()
    api.refuse = lambda _method, path: ApiError(403, "Forbidden", path) if path == f"{SECRETS}/ca" else None
    api.put(MUTATING, hooks("c"))
    with pytest.raises(ApiError, match="Forbidden"):
        await replica.look()
    assert trusted(api, replica)
    assert all(api.bundles())


async def test_without_the_right_to_the_secret_there_is_no_certificate_and_it_says_so(
    api: Api, clock: ManualClock
) -> None:
    replica = Replica(api, clock)
    api.refuse = lambda _method, path: ApiError(403, "Forbidden", path) if path.startswith(SECRETS) else None
    for _ in range(5):
        with pytest.raises(ApiError, match="Forbidden"):
            await replica.look()
    assert replica.certificates.fault() == "there is no serving certificate yet"
    assert api.written == []
    api.refuse = lambda _method, _path: None
    await replica.look()
    assert trusted(api, replica)


@pytest.mark.parametrize(
    "curve", [ec.SECP256K1(), ec.BrainpoolP256R1(), ec.SECP256R1()], ids=lambda c: c.name
)
async def test_what_api_servers_would_not_trust_signs_nothing(
    api: Api, clock: ManualClock, curve: ec.EllipticCurve
) -> None:
    """Curves that Go does not know; and a certificate that is no authority."""
    clock.set_wall(time.time())
    pem = pair_of(ec.generate_private_key(curve), "odd")
    data = {name: base64.b64encode(pem).decode() for name in ("ca.crt", "ca.key")}
    api.put(SECRETS, secret(data))
    replica = await started(Replica(api, clock))
    assert trusted(api, replica)
    assert replica.shown().issuer != x509.load_pem_x509_certificate(pem).subject


@pytest.mark.parametrize("seed", range(examples(100)))
async def test_replicas_agree_whatever_happens_and_in_which_order(seed: int) -> None:
    """Three of them, their requests interleaved; Secret and bundles are tampered with, replicas are replaced."""
    chance = random.Random(seed)
    clock, api = ManualClock(wall=START), Interleaved(chance)
    api.put(VALIDATING, hooks("a", "b"))
    api.put(MUTATING, hooks("c"))
    replicas = [Replica(api, clock) for _ in range(3)]
    for _ in range(40):
        for _ in range(6):  # more than whoever waits for others needs
            results = await asyncio.gather(*(each.look() for each in replicas), return_exceptions=True)
            assert all(result is None or isinstance(result, ApiError) for result in results), results
        assert all(trusted(api, each) for each in replicas)
        assert len(api.secrets["ca"]["data"]) == 2
        happens = chance.choice(["nothing", "secret", "garbage", "half", "bundle", "replica", "restart"])
        if happens == "secret":
            del api.secrets["ca"]
        elif happens == "garbage":
            api.put(SECRETS, secret({"ca.crt": "?", "ca.key": ""}))
        elif happens == "half":
            api.put(SECRETS, secret({**api.secrets["ca"]["data"], "ca.key": ""}))
        elif happens == "bundle":
            api.put(chance.choice([VALIDATING, MUTATING]), hooks("a", "d"))
        elif happens == "replica":
            replicas[chance.randrange(3)] = Replica(api, clock)
        elif happens == "restart":
            replicas = [Replica(api, clock) for _ in range(3)]
        clock.advance(chance.choice([10, 600, DAY, 8 * DAY, 20 * DAY]))


class Interleaved(Api):
    """Answers take turns."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance

    async def request(self, method: str, path: str, **options: Any) -> bytes:
        """As ApiClient."""
        for _ in range(self._chance.randrange(4)):
            await asyncio.sleep(0)
        answer = await super().request(method, path, **options)
        for _ in range(self._chance.randrange(4)):
            await asyncio.sleep(0)
        return answer


async def test_conflicts_are_settled(api: Api, clock: ManualClock) -> None:
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
    clock.advance(60 * DAY)
    with pytest.raises(ApiError, match="changes all the time"):
        await replica.look()
    assert replica.certificates.fault() is None


async def test_keep_looks_again_after_a_failure() -> None:
    looks = asyncio.Semaphore(0)

    class Failing:
        async def look(self) -> None:
            looks.release()
            raise ApiError(0, "TimeoutError", "no answer in time")

    async with beside(keep(Failing(), 0.001, CERTIFICATE_METRICS, EXPECTED)) as keeping:
        async with asyncio.timeout(PATIENCE_SECONDS):
            for _ in range(3):
                await looks.acquire()
        assert not keeping.done()

"""Certificates, authorities and their Secret change behind a real API server, and nobody notices.

The webhooks run in this process, by a clock that the test moves: how fast the machine is does not matter.
"""

from __future__ import annotations

import asyncio
import itertools
import ssl
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, Literal

import pytest
from aiohttp import web
from cryptography import x509

from cli.common.configuration import load
from hack.controlplane.client import ApiError, Client, Json, path_of
from hack.controlplane.manifests import WEBHOOK_KINDS
from hack.controlplane.objects import pod_group
from hack.controlplane.plane import ControlPlane
from hack.controlplane.processes import wait_until
from runtime.mirror.views import Views
from tests.e2e.webhook_server import ADMISSION, bundle, status_of
from tests.kit.clock import PATIENCE_SECONDS, ManualClock
from tests.kit.connected import connected
from tests.kit.manifests import KUEUE, kueue
from tests.kit.waiting import until
from webhooks.certificates.authorities import CLOCK_SKEW
from webhooks.metrics import CERTIFICATE_METRICS
from webhooks.server import review_app
from webhooks.service import WebhookService

GROUP = ("reprieve.dev/v1alpha1", "PodGroup")
SECRET = ("v1", "Secret", "reprieve-webhooks-ca", "reprieve-system")
LIVES: Final = {"authoritySeconds": 2520, "certificateSeconds": 1080, "overlapSeconds": 360}
STEP: Final = 120.0
"""Seconds on the webhooks' clock between two looks at certificates."""
STEPS: Final = 34
"""All of them together are less than CLOCK_SKEW: for the API server, whose clock hardly moves meanwhile, every
certificate is valid already."""


class Heard:
    """Which version of the webhook configurations the API server goes by.

    Versions differ in `timeoutSeconds`, which the API server sends along with every review.
    """

    def __init__(self) -> None:
        self._newest = dict.fromkeys(("mutate", "validate"), 0)
        self._numbers = itertools.count(20)

    @web.middleware
    async def note(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Read it off the review."""
        purpose = request.path.split("/")[1]
        number = int(request.query.get("timeout", "0s").removesuffix("s"))
        self._newest[purpose] = max(self._newest[purpose], number)
        answer: web.StreamResponse = await handler(request)
        return answer

    def wait(self, client: Client) -> None:
        """Until the API server goes by the configurations as they are now. Somebody must be writing meanwhile."""
        number = next(self._numbers)
        for kind in WEBHOOK_KINDS:
            body = client.get(ADMISSION, kind, "reprieve")
            for webhook in body["webhooks"]:
                webhook["timeoutSeconds"] = number
            client.request("PUT", path_of(ADMISSION, kind, None, "reprieve"), body)
        wait_until(
            lambda: set(self._newest.values()) == {number},
            PATIENCE_SECONDS,
            lambda: f"the API server does not go by version {number}: {self._newest}",
        )


class Load:
    """Reviews without a pause: writes, and handshakes as of an API server that hears late of a new bundle."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._over = threading.Event()
        self.bundle = bundle(plane.client)
        """What the late one trusts."""
        self.failures: list[str] = []
        works = (self._write, self._write, self._shake)
        self._rounds = [0 for _ in works]
        self._threads = [
            threading.Thread(target=self._repeat, args=each) for each in zip(itertools.count(), works)
        ]

    def _repeat(self, number: int, work: Callable[[Client], None]) -> None:
        client = Client.of_kubeconfig(self._plane.kubeconfig)
        while not self._over.is_set():
            try:
                work(client)
            except (ApiError, OSError) as error:
                self.failures.append(str(error))
            self._rounds[number] += 1
        client.close()

    def _write(self, client: Client) -> None:
        client.request("POST", f"{path_of(*GROUP, 'default')}?dryRun=All", pod_group("load", min_count=1))
        try:
            client.request("POST", f"{path_of(KUEUE, 'ClusterQueue')}?dryRun=All", unfair())
        except ApiError as error:
            if error.status != 422:
                raise
        else:
            self.failures.append("a bad object was let in")

    def _shake(self, _: Client) -> None:
        """The API server keeps its connections; these are new ones."""
        if status_of(self._plane, ssl.create_default_context(cadata=self.bundle)) != 400:
            self.failures.append("what is no review was answered")

    def wait_round(self) -> None:
        """Until everybody has begun and ended a round since now."""
        before = list(self._rounds)
        wait_until(
            lambda: all(now >= then + 2 for now, then in zip(self._rounds, before, strict=True)),
            PATIENCE_SECONDS,
            lambda: f"rounds were {before}, are {self._rounds}",
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """While the context lasts."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self._over.set()
            for thread in self._threads:
                thread.join()


def unfair() -> Json:
    """A ClusterQueue that only the webhook refuses."""
    spec = {"namespaceSelector": {}, "fairSharing": {"weight": "-1"}}
    return kueue("ClusterQueue", "load", spec=spec)


@asynccontextmanager
async def webhooks_of(plane: ControlPlane, clock: ManualClock) -> AsyncIterator[Callable[[], None]]:
    """The webhooks in place of the plane's process. Yields how another thread has them look at their certificates."""
    configuration = load(plane.layout.directory / "reprieve-webhooks.yaml").configuration
    assert configuration.webhooks is not None
    async with connected(configuration.kubeconfig) as client:
        views, loop = Views(client), asyncio.get_running_loop()
        service = WebhookService(
            configuration.webhooks, configuration.jobs, client, views, clock, planning=configuration.planning
        )
        await service._certificates.look()
        following = asyncio.create_task(views.run())
        try:
            await until(lambda: service.checks()["facts"]() is None)
            async with service.listening():
                yield lambda: asyncio.run_coroutine_threadsafe(service._certificates.look(), loop).result()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)


def made(authorities: str) -> float:
    """When the only authority of a bundle was made, in seconds since the epoch."""
    (certificate,) = x509.load_pem_x509_certificates(authorities.encode())
    return certificate.not_valid_before_utc.timestamp() + CLOCK_SKEW


def renewals(which: Literal["serving", "authority"]) -> float:
    """Of certificates or authorities, in this process."""
    value: float = CERTIFICATE_METRICS.renewals.labels(which)._value.get()
    return value


async def test_not_a_request_is_lost_while_certificates_and_authorities_change(
    planes: Callable[..., ControlPlane], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lives of minutes: the certificate, the authority, and the Secret that is deleted, under a steady load.

    An API server of its own goes by each new bundle before its overlap is over, which is what the overlap is for.
    """
    certificates = {"pollSeconds": 30, "managed": LIVES}
    plane = planes(
        api_only=True, webhooks=True, webhooks_settings={"webhooks": {"certificates": certificates}}
    )
    client, heard, traffic = plane.client, Heard(), Load(plane)
    clock = ManualClock(wall=made(traffic.bundle))
    plane.processes["reprieve-webhooks"].stop()

    def noted(*arguments: Any) -> web.Application:
        app = review_app(*arguments)
        app.middlewares.append(heard.note)
        return app

    monkeypatch.setattr("webhooks.service.review_app", noted)

    def live(look: Callable[[], None]) -> None:
        heard.wait(client)
        traffic.wait_round()
        traffic.failures.clear()  # what began when the process of the plane had just ended
        known = bundle(client)
        for step in range(STEPS):
            traffic.bundle = bundle(client)
            if step % 7 == 3:
                client.delete(*SECRET)
            look()
            assert client.find(*SECRET) is not None
            if (published := bundle(client)) != known:
                heard.wait(client)
                known = published
            traffic.wait_round()
            clock.advance(STEP)

    def live_under_load(look: Callable[[], None]) -> None:
        with traffic.running():
            live(look)

    before = renewals("serving"), renewals("authority")
    async with webhooks_of(plane, clock) as look:
        await asyncio.to_thread(live_under_load, look)
    assert traffic.failures == []
    assert (renewals("serving") - before[0], renewals("authority") - before[1]) == (7, 2)

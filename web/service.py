"""The page as a part of a process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from aiohttp import web

from answers.errors import UnreadError
from api.clock import SYSTEM_CLOCK, Clock
from kube.identity import User
from serving.certificates.files import CertificateFiles
from serving.certificates.keeping import keep
from serving.certificates.live_context import LiveContext
from serving.garbage import collect_seldom
from serving.listeners import serving
from serving.ops import Check
from web.about import Place
from web.answering import NOT_YET, Answering
from web.application import page_app
from web.configuration import PageConfiguration
from web.frames import Frames
from web.hub import Hub
from web.limits import Rate
from web.metrics import CERTIFICATE_METRICS
from web.readers.authority import AHEAD
from web.readers.door import Door, Reader
from web.routes import table_of
from web.sources.source import Source
from web.statics import Static
from web.streams import Streams
from web.views.doctor import DoctorView
from web.views.events import EventsView
from web.views.history import HistoryView
from web.views.map import MapView
from web.views.plans import PlansView
from web.views.queues import QueuesView
from web.views.report import ReportView
from web.views.search import SearchView
from web.views.session import SessionView
from web.views.waiting import WaitingView
from web.views.what_if import WhatIfView
from web.views.why import WhyView

__all__ = ["PageService"]

REQUESTS_PER_SECOND: Final = 20
YOUNGEST: Final = 10_000
"""All streams stand while garbage is searched for: see `collect_seldom`."""
SILENT: Final = logging.getLogger("reprieve.page.requests")
"""What aiohttp says of requests that it cannot read goes here, and nowhere: it has parts of them."""
SILENT.disabled = True


class PageService:
    """See `runtime.terms.process.Part`."""

    def __init__(
        self,
        settings: PageConfiguration,
        source: Source,
        door: Door,
        place: Place,
        statics: Mapping[str, Static],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """`statics`: the files of the front end."""
        self._settings, self._source, self._clock = settings, source, clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="answers")
        self._hub = Hub(source)
        is_shared = door.logins is not None
        self._answering = Answering(source, door.authority, self._thread, clock, is_shared=is_shared)
        self._frames = Frames(source, clock)
        streams = Streams(self._hub, self._frames, door, AHEAD * settings.recheck_seconds)
        rate = Rate[User]("requests", REQUESTS_PER_SECOND, 1.0, clock)

        async def reading(request: web.Request) -> Reader:
            reader = await door.reader(request.headers.getall("Authorization", ()))
            rate.take(reader.user)
            return reader

        views = (
            SessionView(settings, door, reading, self._answering, place),
            MapView(reading, self._answering, self._thread, clock),
            WaitingView(reading, self._answering, self._thread, clock),
            WhyView(reading, self._answering),
            PlansView(reading, self._answering, self._thread, clock),
            QueuesView(reading, self._answering, self._thread, clock),
            WhatIfView(settings, reading, self._answering),
            HistoryView(reading, self._answering, self._thread, clock),
            ReportView(reading, self._answering, self._thread, clock),
            DoctorView(reading, self._answering),
            SearchView(reading, self._answering),
            EventsView(reading, streams),
        )
        self.app: web.Application = page_app(settings, table_of(views), statics)
        self.port = 0
        """The port, while it listens."""
        self._live = LiveContext() if settings.tls is not None else None
        self._certificate = (
            CertificateFiles(
                settings.tls.cert_file, settings.tls.key_file, self._live, CERTIFICATE_METRICS, clock
            )
            if settings.tls is not None and self._live is not None
            else None
        )

    def checks(self) -> Mapping[str, Check]:
        """See `Part`. The page is ready once all that may be read has been listed."""
        found: dict[str, Check] = {"picture": self._not_synced}
        if self._certificate is not None:
            found["certificate"] = self._certificate.fault
        return found

    def _not_synced(self) -> str | None:
        return None if self._answering.is_ready else NOT_YET

    async def _make_ready(self) -> None:
        """There are answers once all has been listed that may be read. Never returns."""
        await self._source.wait_synced()
        with suppress(UnreadError):  # each answer says why
            self._source.picture()  # the first one puts all names in order: nobody waits for the loop yet
        collect_seldom(YOUNGEST)
        self._answering.is_ready = True
        await asyncio.Event().wait()

    def tasks(self) -> Mapping[str, Coroutine[Any, Any, None]]:
        """See `Part`."""
        tasks: dict[str, Coroutine[Any, Any, None]] = {"page": self._hub.run(), "picture": self._make_ready()}
        if self._source.is_live:
            tasks["frames of the map"] = self._frames.run()
            tasks["source of the page"] = self._source.run()
        if self._certificate is not None and self._settings.tls is not None:
            tasks["certificate"] = keep(
                self._certificate, self._settings.tls.poll_seconds, CERTIFICATE_METRICS
            )
        return tasks

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """See `Part`. At the end it ends all streams: their readers come back."""
        context = self._live.context if self._live is not None else None
        async with serving(self.app, self._settings, context, logger=SILENT) as port:
            self.port = port
            try:
                yield
            finally:
                self._hub.end()
        self._thread.shutdown(wait=False, cancel_futures=True)

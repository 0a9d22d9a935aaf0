"""What would happen if objects were submitted, and what would be planned for one that is there.

What is posted is kept nowhere: it is in no log, no metric and no store.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web

from answers.errors import InputError
from answers.names import Listed, right
from answers.picture import Picture
from answers.plan import plan_for
from answers.reading.documents import DEFAULT_NAMESPACE
from answers.reading.posted import SOURCE, Posted, TooMuchError
from answers.submission import Known
from answers.what_if.answer import what_if
from api.progress import Progress
from web.answering import Answering
from web.configuration import PageConfiguration
from web.errors import Refused, bad_request, forbidden, not_found, unavailable
from web.posting import MANIFESTS, posted_text
from web.questions import check_namespace, namespaces_of, plan_object_of
from web.readers.door import Reader
from web.readers.rights import MOST_NAMESPACES, Granted
from web.route import NAMESPACE, Reading, Route, json_answer
from web.wire.what_if import PlanFor, WhatIf

__all__ = ["WhatIfView"]

MOST_SECONDS: Final = 10.0
"""For one answer. Others wait for it."""
SEEN: Final[tuple[Listed, ...]] = ("pods", "podgroups")
QUEUED: Final[tuple[Listed, ...]] = ("workloads", "localqueues")
"""Needed besides by objects that ask for quota."""


class WhatIfView:
    """See `View`."""

    def __init__(self, settings: PageConfiguration, reading: Reading, answering: Answering) -> None:
        self._seconds = settings.read_timeout_seconds
        self._reading, self._answering = reading, answering

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (
            Route(
                "POST",
                "/what-if",
                self.what_if,
                "What would happen if the manifests were submitted: what `reprieve what-if -o json` prints",
                WhatIf,
                query=(NAMESPACE,),
                text_body=MANIFESTS,
            ),
            Route(
                "GET",
                "/plan-for/{kind}/{namespace}/{name}",
                self.plan_for,
                "What would be planned for a gang or a pod: what `reprieve plan -o json` prints",
                PlanFor,
                query=(NAMESPACE,),
            ),
        )

    async def what_if(self, request: web.Request) -> web.StreamResponse:
        """POST what-if. Raises Refused."""
        reader = await self._reading(request)
        text = await posted_text(request, self._seconds)
        with self._answering.question(reader):
            return json_answer(await self._what_if(reader, text, namespaces_of(request.query)))

    async def _what_if(self, reader: Reader, text: bytes, namespaces: tuple[str, ...]) -> dict[str, Any]:
        posted = await self._answering.run(partial(_read, text))
        if len(posted.namespaces) > MOST_NAMESPACES:
            raise bad_request(f"{SOURCE}: they are of more than {MOST_NAMESPACES} namespaces")
        source = self._answering.source
        for each in posted.namespaces if source.is_live else ():
            check_namespace(each, SOURCE)

        async def made(granted: Granted) -> dict[str, Any]:
            if lacks := _lacking(granted, posted):
                raise forbidden(lacks)
            self._answering.check_ready()
            known = await source.known(posted.namespaces, reader.login.get)
            picture = source.picture().at(source.now())
            return await self._answering.run(partial(_what_if, picture, posted, known, granted))

        asked = {*namespaces, *posted.namespaces}
        return await self._answering.with_rights(reader, asked, made)

    async def plan_for(self, request: web.Request) -> web.StreamResponse:
        """GET plan-for. Raises Refused."""
        reader, asked, source = await self._reading(request), request.match_info, self._answering.source
        kind, namespace, name = plan_object_of(
            asked["kind"], asked["namespace"], asked["name"], is_live=source.is_live
        )

        async def made(granted: Granted) -> dict[str, Any]:
            if lacks := granted.lacking(kind, namespace) or (
                "" if granted.lists("nodes") else right("nodes")
            ):
                raise forbidden(lacks)
            self._answering.check_ready()
            picture = source.picture().at(source.now())
            with self._answering.question(reader):
                try:
                    found = partial(plan_for, picture, kind, namespace, name, granted)
                    return (await self._answering.run(found)).plain()
                except InputError as error:
                    raise not_found(str(error)) from None

        namespaces = {*namespaces_of(request.query), namespace}
        return json_answer(await self._answering.with_rights(reader, namespaces, made))


def _read(text: bytes) -> Posted:
    """The objects of the text. Raises Refused."""
    posted = Posted(DEFAULT_NAMESPACE)
    try:
        posted.add_file(text, SOURCE)
    except InputError as error:
        raise _refused(error) from None
    return posted


def _lacking(granted: Granted, posted: Posted) -> str:
    """The first right that is missing to see what is in the namespaces of the objects; empty if none is."""
    needed = (*SEEN, *(QUEUED if posted.uses_queues else ()))
    pairs = ((what, namespace) for namespace in sorted(posted.namespaces) for what in needed)
    return next((right(*each) for each in pairs if not granted.lists(*each)), "")


def _what_if(picture: Picture, posted: Posted, known: Known, granted: Granted) -> dict[str, Any]:
    """Raises Refused."""
    picture = replace(picture, workload_classes=known.workload_classes)
    try:
        submission = posted.submission(known)
    except InputError as error:
        raise _refused(error) from None
    return what_if(picture, submission, _until(time.monotonic() + MOST_SECONDS), granted).plain()


def _until(end: float) -> Progress:
    """Ends what takes too long. `end`: in monotonic seconds. It raises Refused."""

    def go_on(what: str, done: int = 0, total: int = 0) -> None:
        del what, done, total
        if time.monotonic() > end:
            raise unavailable(f"the answer takes longer than {MOST_SECONDS:.0f} s: submit less at once")

    return go_on


def _refused(error: InputError) -> Refused:
    """What is wrong with the objects."""
    if isinstance(error, TooMuchError):
        status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        return Refused(status, "RequestEntityTooLarge", str(error))
    return bad_request(str(error))

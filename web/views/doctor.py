"""Whether reprieve works in the cluster."""

from __future__ import annotations

from functools import partial
from typing import Any

from aiohttp import web

from answers.doctor.checks import examine
from answers.doctor.seen import Seen
from answers.errors import InputError
from web.answering import Answering
from web.questions import namespaces_of
from web.readers.rights import Granted
from web.route import NAMESPACE, Reading, Route, json_answer
from web.wire.doctor import Findings

__all__ = ["DoctorView"]


class DoctorView:
    """See `View`."""

    def __init__(self, reading: Reading, answering: Answering) -> None:
        self._reading, self._answering = reading, answering

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (
            Route(
                "GET",
                "/doctor",
                self.doctor,
                "Whether reprieve works: what `reprieve doctor -o json` prints",
                Findings,
                query=(NAMESPACE,),
            ),
        )

    async def doctor(self, request: web.Request) -> web.StreamResponse:
        """GET doctor. Raises Refused. Everything is asked for as the reader, so nothing has to be withheld."""
        reader = await self._reading(request)

        async def made(_: Granted) -> dict[str, Any]:
            self._answering.check_ready()
            source = self._answering.source
            with self._answering.question(reader):
                looked = await source.looked(reader.login.get)
                return await self._answering.run(partial(_examined, looked, source.now() / 1e6))

        namespaces = namespaces_of(request.query)
        return json_answer(await self._answering.with_rights(reader, namespaces, made))


def _examined(looked: Seen, now: float) -> dict[str, Any]:
    try:
        return examine(looked, now).plain()
    except ValueError as error:
        raise InputError(str(error)) from None

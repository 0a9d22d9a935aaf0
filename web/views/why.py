"""Why an object waits."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
from aiohttp import web

from answers.details import Details
from answers.errors import InputError
from answers.picture import Picture
from answers.why import WhyKind, why
from web.answering import Answering
from web.errors import forbidden, not_found
from web.questions import namespaces_of, object_of
from web.readers.door import Reader
from web.readers.rights import Granted
from web.route import NAMESPACE, Reading, Route, json_text
from web.wire.why import Answer

__all__ = ["WhyView"]


class WhyView:
    """See `View`."""

    def __init__(self, reading: Reading, answering: Answering) -> None:
        self._reading, self._answering = reading, answering

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (
            Route(
                "GET",
                "/why/{kind}/{namespace}/{name}",
                self.why,
                "Why an object waits: what `reprieve why -o json` prints",
                Answer,
                query=(NAMESPACE,),
            ),
        )

    async def why(self, request: web.Request) -> web.StreamResponse:
        """GET why. Raises Refused: for a missing right before anybody looks for the object."""
        reader, asked = await self._reading(request), request.match_info
        kind, namespace, name = object_of(
            asked["kind"], asked["namespace"], asked["name"], is_live=self._answering.source.is_live
        )

        async def made(granted: Granted) -> dict[str, Any]:
            if right := granted.lacking(kind, namespace):
                raise forbidden(right)
            self._answering.check_ready()
            return await self._why(reader, granted, kind, namespace, name)

        namespaces = {*namespaces_of(request.query), namespace}
        return json_text(msgspec.json.encode(await self._answering.with_rights(reader, namespaces, made)))

    async def _why(
        self, reader: Reader, granted: Granted, kind: WhyKind, namespace: str, name: str
    ) -> dict[str, Any]:
        with self._answering.question(reader):
            about = await self._answering.source.about(namespace, reader.login.get)
            try:
                return await self._answering.run(partial(_why, *about, kind, name, granted))
            except InputError as error:
                raise not_found(str(error)) from None


def _why(picture: Picture, details: Details, kind: WhyKind, name: str, granted: Granted) -> dict[str, Any]:
    return why(picture, details, kind, name, granted).plain()

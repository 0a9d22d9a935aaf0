"""How quota is used, lent and waited for."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from aiohttp import web

from answers.errors import InputError
from answers.names import EVERYWHERE, right
from answers.picture import Picture
from answers.queue import AllQueues, all_queues, check_counted, one_queue
from api.clock import Clock
from web.answering import Answering
from web.errors import forbidden, not_found
from web.questions import name_of, namespaces_of
from web.readers.rights import Granted
from web.route import NAMESPACE, Reading, Route, json_answer
from web.shared import Shared
from web.wire.queues import QueueAnswer, Queues

__all__ = ["QueuesView"]

SERVES_MICROSECONDS: Final = 60 * 1_000_000


@dataclass(frozen=True, slots=True)
class Asked:
    """Which tree. Equal ones are made once."""

    version: str
    granted: Granted


class QueuesView:
    """See `View`."""

    def __init__(self, reading: Reading, answering: Answering, executor: Executor, clock: Clock) -> None:
        self._reading, self._answering = reading, answering
        self._trees = Shared[Asked, dict[str, Any]](executor, clock)
        self._overviews = Overviews()

    def table(self) -> tuple[Route, ...]:
        """See `View`."""
        return (
            Route(
                "GET",
                "/queues",
                self.queues,
                "All queues: what `reprieve queue -o json` prints",
                Queues,
                query=(NAMESPACE,),
            ),
            Route(
                "GET",
                "/queues/{name}",
                self.cluster_queue,
                "A ClusterQueue: what `reprieve queue NAME -o json` prints",
                QueueAnswer,
                query=(NAMESPACE,),
            ),
            Route(
                "GET",
                "/queues/{namespace}/{name}",
                self.local_queue,
                "The ClusterQueue of a LocalQueue: what `reprieve queue NAMESPACE/NAME -o json` prints",
                QueueAnswer,
                query=(NAMESPACE,),
            ),
        )

    async def queues(self, request: web.Request) -> web.StreamResponse:
        """GET queues. Raises Refused."""
        reader, source = await self._reading(request), self._answering.source

        async def made(granted: Granted) -> dict[str, Any]:
            _check(granted)
            self._answering.check_ready()
            picture = source.picture().at(source.now())
            asked, make = Asked(source.version, granted), partial(self._overviews.plain, picture, granted)
            found = await self._answering.listed(reader, self._trees, asked, make)
            return {**found, "trouble": source.trouble} if source.trouble else found

        return json_answer(await self._answering.with_rights(reader, namespaces_of(request.query), made))

    async def cluster_queue(self, request: web.Request) -> web.StreamResponse:
        """GET queues/NAME. Raises Refused."""
        return await self._one(request, "", request.match_info["name"])

    async def local_queue(self, request: web.Request) -> web.StreamResponse:
        """GET queues/NAMESPACE/NAME. Raises Refused."""
        return await self._one(request, request.match_info["namespace"], request.match_info["name"])

    async def _one(self, request: web.Request, namespace: str, name: str) -> web.StreamResponse:
        """`namespace`: of a LocalQueue; empty for a ClusterQueue."""
        reader, source = await self._reading(request), self._answering.source
        whole = name_of(namespace, name, is_live=source.is_live)

        async def made(granted: Granted) -> dict[str, Any]:
            _check(granted, namespace)
            self._answering.check_ready()
            picture = source.picture().at(source.now())
            with self._answering.question(reader):
                try:
                    return await self._answering.run(partial(_one, picture, whole, granted))
                except InputError as error:
                    raise not_found(str(error)) from None

        namespaces = {*namespaces_of(request.query), *filter(None, (namespace,))}
        return json_answer(await self._answering.with_rights(reader, namespaces, made))


class Overviews:
    """The last overview, which is that of all readers: who could take back how much costs many searches. It is made
    anew when a queue or a Workload has changed, and after a while: times count, too."""

    def __init__(self) -> None:
        self._last: tuple[Picture, AllQueues] | None = None

    def plain(self, picture: Picture, granted: Granted) -> dict[str, Any]:
        """What the reader may know of it. Raises UnreadError."""
        check_counted(picture)
        if self._last is None or not _serves(self._last[0], picture):
            self._last = picture, all_queues(picture)
        return self._last[1].plain(granted)


def _serves(earlier: Picture, picture: Picture) -> bool:
    """Whether the overview of an earlier picture is that of this one."""
    return earlier.quota is picture.quota and 0 <= picture.moment - earlier.moment < SERVES_MICROSECONDS


def _check(granted: Granted, namespace: str = EVERYWHERE) -> None:
    """Raises Refused without the right to list LocalQueues of the namespace; without one, ClusterQueues."""
    if namespace and not granted.lists("localqueues", namespace):
        raise forbidden(right("localqueues", namespace))
    if not namespace and not granted.lists("clusterqueues"):
        raise forbidden(right("clusterqueues"))


def _one(picture: Picture, name: str, granted: Granted) -> dict[str, Any]:
    check_counted(picture)
    return one_queue(picture, name).plain(granted)

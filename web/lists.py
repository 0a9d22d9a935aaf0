"""Answers about many objects: equal ones are made once, and all begin alike."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from api.clock import Clock
from api.times import rfc3339_micro
from web.answering import Answering
from web.readers.door import Reader
from web.readers.rights import Granted
from web.shared import Shared
from web.sources.source import Seen, Source
from web.versions import version_for

__all__ = ["Asked", "Lists"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What an answer depends on, besides its address."""

    version: str
    trouble: str
    granted: Granted
    namespaces: tuple[str, ...]
    """The only ones that it is about, if there are any."""

    @classmethod
    def of(cls, source: Source, granted: Granted, namespaces: tuple[str, ...]) -> Self:
        """For what the source has now."""
        return cls(source.version, source.trouble, granted, namespaces)

    def head(self, moment: int) -> dict[str, Any]:
        """What the answer begins with. `moment`: in microseconds since 1970."""
        return {
            "version": version_for(self.version, self.granted),
            "moment": rfc3339_micro(moment / 1e6),
            "trouble": self.trouble,
        }


class Lists:
    """The answers of one address."""

    def __init__(
        self,
        answering: Answering,
        executor: Executor,
        clock: Clock,
        make: Callable[[Seen, int, Asked], dict[str, Any]],
    ) -> None:
        """`make` gets what there is, the moment, and what is asked. `executor` calls it."""
        self._answering, self._make = answering, make
        self._lists = Shared[Asked, dict[str, Any]](executor, clock)

    async def answer(self, reader: Reader, namespaces: tuple[str, ...]) -> dict[str, Any]:
        """The answer for the reader, of these namespaces if there are any. Raises Refused."""
        source = self._answering.source

        async def made(granted: Granted) -> dict[str, Any]:
            self._answering.check_ready()
            asked = Asked.of(source, granted, namespaces)
            make = partial(self._make, source.picture(), source.now(), asked)
            return await self._answering.listed(reader, self._lists, asked, make)

        return await self._answering.with_rights(reader, namespaces, made)

"""Tells streams that something has changed."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

from web.bells import Bells
from web.sources.source import Source

__all__ = ["Hub"]

SECONDS: Final = 1.0
"""The least time between two versions that streams get."""
REMEMBERED: Final = 64
"""Versions. A stream that comes back with an older one begins anew."""


class Hub:
    """The versions of a source, for any number of streams. A slow stream misses versions, and costs nobody time."""

    def __init__(self, source: Source, seconds: float = SECONDS) -> None:
        self._source, self._seconds = source, seconds
        self.version = source.version
        """The newest one that streams got."""
        self._versions = deque([self.version], maxlen=REMEMBERED)
        self.bells = Bells()
        """They ring for another version, and for the end."""
        self._has_ended = False

    @property
    def has_ended(self) -> bool:
        """Whether the process ends, and all streams with it."""
        return self._has_ended

    def knows(self, version: str) -> bool:
        """Whether this process told the version lately."""
        return version in self._versions

    async def run(self) -> None:
        """Follow the source until cancelled."""
        while True:
            if self._source.version == self.version:  # otherwise it has changed in the meantime
                await self._source.changed()
            if self.look():
                await self.bells.ring()
            await asyncio.sleep(self._seconds)

    def look(self) -> bool:
        """Whether there is another version. Streams get it from now on."""
        if (version := self._source.version) == self.version:
            return False
        self.version = version
        self._versions.append(version)
        return True

    def end(self) -> None:
        """End all streams."""
        self._has_ended = True
        self.bells.ring_now()

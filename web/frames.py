"""Frames of the map, for any number of streams: each is made once for all who may see the same."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import msgspec

from answers.map.changing import Change
from answers.map.frame import Framing
from answers.names import Listed
from api.clock import Clock
from api.times import rfc3339_micro
from web.bells import Bells
from web.questions import MAP, Looked
from web.readers.rights import Granted
from web.sources.source import Changes, Source
from web.versions import number_of, version_for

__all__ = ["Frames"]

SECONDS: Final = 0.05
"""The least time between two frames."""
SETTLE_SECONDS: Final = 0.01
"""What comes together goes into one frame: it is made once nothing more has come for this time."""
MOST_LOOKS: Final = 3
"""The frame is made after this number of these times in any case."""
REMEMBERED: Final = 64
"""Frames. A stream further behind begins anew."""
LINGER_SECONDS: Final = 30.0
"""Frames are made for this time when nobody reads them: somebody may come back."""


@dataclass(slots=True)
class _Kept:
    """A change, and the events that were made of it."""

    change: Change
    since: str
    version: str
    """Of the source."""
    moment: str
    trouble: str
    framings: dict[Looked, Framing] = field(default_factory=dict)
    events: dict[tuple[frozenset[tuple[Listed, str]], Looked], bytes | None] = field(default_factory=dict)

    def event(self, granted: Granted, looked: Looked) -> bytes | None:
        """For whoever has these rights, and looks like this; None if they have to begin anew."""
        key = granted.rights, looked
        if key not in self.events:
            self.events[key] = self._event(granted, looked)
        return self.events[key]

    def _event(self, granted: Granted, looked: Looked) -> bytes | None:
        if looked not in self.framings:
            self.framings[looked] = Framing(self.change, looked.topology_key, looked.resource)
        frame = self.framings[looked].frame(granted)
        if frame is None:
            return None
        version = version_for(self.version, granted)
        head = {
            "since": version_for(self.since, granted),
            "version": version,
            "moment": self.moment,
            "trouble": self.trouble,
        }
        return b"event: %b\nid: %b\ndata: %b\n\n" % (
            MAP.encode(),
            version.encode(),
            msgspec.json.encode({**head, **frame}),
        )


class Frames:
    """The newest frames. A slow stream reads older ones, and costs nobody time."""

    def __init__(self, source: Source, clock: Clock, seconds: float = SECONDS) -> None:
        self._source, self._clock, self._seconds = source, clock, seconds
        self._changes: Changes | None = None
        """None while nobody reads."""
        self._kept = deque[_Kept](maxlen=REMEMBERED)
        self._number = 0
        """Of the next frame."""
        self._version = self._since = source.version
        """Of the last look, and of the last frame."""
        self._readers, self._left = 0, clock.monotonic()
        self.bells, self._wanted = Bells(), asyncio.Event()

    @property
    def newest(self) -> int:
        """The place after the newest frame."""
        return self._number

    @property
    def version(self) -> str:
        """The version of the source that all frames lead to. The source may be ahead of it."""
        return self._version

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While somebody reads, frames are made."""
        self._readers += 1
        if self._changes is None and self._source.is_live:
            self._begin()
        try:
            yield
        finally:
            self._readers -= 1
            self._left = self._clock.monotonic()

    def place(self, version: str) -> int | None:
        """The place for a reader who has this version of the source; None if it is not known."""
        number = number_of(version, self._source.version)
        first = self._kept[0].since if self._kept else self._since
        if number < 0 or number < number_of(first, first):
            return None
        behind = (each for each in self._kept if number_of(each.version, first) > number)
        return self._number - sum(1 for _ in behind)

    def events(self, place: int, granted: Granted, looked: Looked) -> Sequence[bytes] | None:
        """The frames from this place on; None for who has to begin anew."""
        missed = self._number - place
        if missed > len(self._kept):
            return None
        found = [each.event(granted, looked) for each in list(self._kept)[len(self._kept) - missed :]]
        return None if None in found else [each for each in found if each is not None]

    async def run(self) -> None:
        """Make frames until cancelled."""
        while True:
            await self._wanted.wait()
            if self._source.version == self._version:
                await self._source.changed()
            await self._settled()
            if not self._readers and self._clock.monotonic() - self._left > LINGER_SECONDS:
                self._end()
            elif self.look():
                await self.bells.ring()
            await asyncio.sleep(self._seconds)

    async def _settled(self) -> None:
        """Wait until nothing more comes: the first events of a burst would make a frame, and the rest another one."""
        for _ in range(MOST_LOOKS):
            version = self._source.version
            await asyncio.sleep(SETTLE_SECONDS)
            if self._source.version == version:
                return

    def look(self) -> bool:
        """Make a frame if something has changed. Returns whether streams have something to do."""
        if self._changes is None:
            return False
        change = self._changes()
        self._version = self._source.version
        if change is None:
            self._begin()
            self._number += 1  # whoever waits finds that it is behind
        elif not change.is_empty:
            moment = rfc3339_micro(self._source.now() / 1e6)
            self._kept.append(_Kept(change, self._since, self._version, moment, self._source.trouble))
            self._since = self._version
            self._number += 1
        else:
            return False
        return True

    def _begin(self) -> None:
        self._changes = self._source.changes()
        self._kept.clear()
        self._version = self._since = self._source.version
        self._wanted.set()

    def _end(self) -> None:
        self._changes = None
        self._kept.clear()
        self._wanted.clear()

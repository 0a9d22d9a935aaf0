"""A stream of changes that a test writes, piece by piece, and frames of a map that changes."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.kit.clock import PATIENCE_SECONDS
from tests.web.faking import MOMENT

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = ["Changing", "Stream"]

SCRIPT: Final = """
{
  const known = window.fetch;
  const pictures = { callbacks: new Map(), last: 0, isHeld: false };
  window.streams = { asked: [], now: null };
  window.fetch = (address, given = {}) => {
    if (!String(address).includes("/events?")) return known(address, given);
    window.streams.asked.push(new Headers(given.headers).get("Last-Event-ID") ?? "");
    const body = new ReadableStream({
      start(stream) {
        window.streams.now = stream;
        given.signal?.addEventListener("abort", () => {
          if (window.streams.now === stream) window.streams.now = null;
          try { stream.error(given.signal.reason); } catch {}
        });
      },
    });
    return Promise.resolve(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
  };
  // Heartbeats: a stream that is silent for too long is lost.
  setInterval(() => { try { window.streams.now?.enqueue(new TextEncoder().encode(":\\n\\n")); } catch {} }, 1000);
  const request = window.requestAnimationFrame.bind(window);
  const cancel = window.cancelAnimationFrame.bind(window);
  window.requestAnimationFrame = (act) => {
    if (!pictures.isHeld) return request(act);
    pictures.callbacks.set(--pictures.last, act);
    return pictures.last;
  };
  window.cancelAnimationFrame = (number) => {
    if (!pictures.callbacks.delete(number)) cancel(number);
  };
  let isHidden = false;
  Object.defineProperty(document, "hidden", { get: () => isHidden });
  window.pictures = {
    hold: () => { pictures.isHeld = true; },
    waiting: () => pictures.callbacks.size,
    release: () => {
      pictures.isHeld = false;
      for (const act of pictures.callbacks.values()) request(act);
      pictures.callbacks.clear();
    },
    hide: (hides) => {
      isHidden = hides;
      if (hides) window.pictures.hold();
      else window.pictures.release();
      document.dispatchEvent(new Event("visibilitychange"));
    },
  };
}
"""
"""A tab that is hidden has no pictures, as in a browser that is not automated."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The stream of a tab, in place of the server's."""

    page: Page

    @classmethod
    async def of(cls, page: Page) -> Stream:
        """Before the page is opened."""
        await page.add_init_script(SCRIPT)
        return cls(page)

    async def opened(self, streams: int = 1) -> list[str]:
        """Wait until the map has asked for this number of streams. Returns the version from which each one goes on."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(found := await self._of_the_map()) < streams:
                await self.page.wait_for_timeout(20)
        return found

    async def _of_the_map(self) -> list[str]:
        asked: list[str] = await self.page.evaluate("() => window.streams.now ? window.streams.asked : []")
        return [version for version in asked if version]

    async def send(self, *events: tuple[str, str, Any]) -> None:
        """Kind, id and data of each. They come in one piece."""
        text = "".join(
            f"event: {kind}\nid: {id_}\ndata: {json.dumps(data)}\n\n" for kind, id_, data in events
        )
        await self.page.evaluate("(text) => window.streams.now.enqueue(new TextEncoder().encode(text))", text)

    async def frames(self, *frames: dict[str, Any]) -> None:
        """Frames of the map."""
        await self.send(*(("map", frame["version"], frame) for frame in frames))

    async def end(self) -> None:
        """The server ends the stream."""
        await self.page.evaluate(
            "() => { const now = window.streams.now; window.streams.now = null; now.close(); }"
        )

    async def hold_pictures(self) -> None:
        """The browser draws nothing."""
        await self.page.evaluate("() => window.pictures.hold()")

    async def waiting(self) -> int:
        """What is to be done before the next picture."""
        return int(await self.page.evaluate("() => window.pictures.waiting()"))

    async def release_pictures(self) -> None:
        """The browser draws."""
        await self.page.evaluate("() => window.pictures.release()")

    async def hide(self, *, hides: bool) -> None:
        """Whether another tab is in front of it."""
        await self.page.evaluate("(hides) => window.pictures.hide(hides)", hides)


@dataclass(slots=True)
class Changing:
    """Nodes whose pods come and go."""

    used: dict[str, int]
    """By name of the node."""
    gangs: dict[str, str] = field(default_factory=dict)
    """By name of the node: the gang that has its room."""
    number: int = 1

    @property
    def version(self) -> str:
        """Of the map."""
        return f"p-{self.number}-r"

    def answer(self) -> dict[str, Any]:
        """What `GET map` answers now."""
        names = sorted(self.used, key=lambda name: int(name[1:]))
        gangs = sorted({self.gangs[name] for name in names if name in self.gangs})
        return {
            "version": self.version,
            "moment": MOMENT,
            "trouble": "",
            "topologyKey": "rack",
            "topologyKeys": [{"key": "rack", "podGroups": 0}],
            "resource": "cpu",
            "resources": ["cpu"],
            "blocks": ["r1"],
            "nodes": self._nodes(names, 0),
            "gangs": {"namespace": ["a"] * len(gangs), "name": gangs, "key": gangs},
            "parts": self._parts(names, gangs),
            "plans": [],
            "missing": [],
            "unread": "",
        }

    def change(self, name: str, used: int | None, gang: str = "") -> dict[str, Any]:
        """The frame after this node has this amount in use; None: it has gone."""
        since, here = self.version, used is not None
        self.number += 1
        self.used.pop(name, None)
        self.gangs.pop(name, None)
        if used is not None:
            self.used[name] = used
        if gang:
            self.gangs[name] = gang
        names, gangs = [name] * here, [gang] * bool(gang)
        return {
            "since": since,
            "version": self.version,
            "moment": MOMENT,
            "trouble": "",
            "topologyKeys": None,
            "resources": None,
            "gone": [] if here else [name],
            "nodes": self._nodes(names, "r1"),
            "gangs": {"namespace": ["a"] * len(gangs), "name": gangs, "key": gangs},
            "parts": self._parts(names, gangs),
            "plans": None,
        }

    def _nodes(self, names: list[str], block: Any) -> dict[str, Any]:
        zeros = [0] * len(names)
        return {
            "name": names,
            "block": [block] * len(names),
            "allocatable": [8000] * len(names),
            "used": [self.used[name] for name in names],
            "leaving": zeros,
            "promised": zeros,
            "free": [8000 - self.used[name] for name in names],
            "anonymous": zeros,
        }

    def _parts(self, names: list[str], gangs: list[str]) -> dict[str, list[int]]:
        rows = [(at, name) for at, name in enumerate(names) if self.used[name]]
        return {
            "node": [at for at, _ in rows],
            "gang": [gangs.index(self.gangs[name]) if name in self.gangs else -1 for _, name in rows],
            "pods": [1] * len(rows),
            "used": [self.used[name] for _, name in rows],
            "leaving": [0] * len(rows),
        }

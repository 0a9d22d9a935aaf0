"""Watches that go on whatever becomes of the API server, and a look at what has come to rest."""

from __future__ import annotations

import http.client
import json
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from hack.controlplane.client import ApiError, Client, Json, Watch
from hack.controlplane.processes import wait_until
from tests.kit.clock import PATIENCE_SECONDS

__all__ = ["AGAIN_SECONDS", "Following", "until_quiet"]

AGAIN_SECONDS: Final = 0.1
LOOK_SECONDS: Final = 0.5
TOO_OLD: Final = 410
"""An API server that has started anew knows nothing of the states before."""


class Following(ABC):
    """Watches kinds in threads from when it is made until `close`."""

    def __init__(self, client: Client, versions: Mapping[str, str], *, lists: bool) -> None:
        """`versions`: API versions by kind. `lists`: what is there is listed first; else the watches tell it."""
        self._client, self._versions = client, versions
        self._seen = dict.fromkeys(versions, 0)
        """By kind: the newest version."""
        self._closed = False
        self._watches = {
            kind: self._watch_on(kind, 0.0, is_too_old=True) if lists else client.watch(version, kind)
            for kind, version in versions.items()
        }
        self._threads: list[threading.Thread] = []
        for kind, watch in self._watches.items():
            self._start(f"history of {kind}", partial(self._follow, kind, watch))

    def _start(self, name: str, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    @abstractmethod
    def _take(self, kind: str, event: str, body: Json) -> None:
        """Note an event."""

    @abstractmethod
    def _list_anew(self, kind: str, cut: float) -> int:
        """List the kind: nobody watched from `cut` (seconds since the epoch) until now. Returns the list's version."""

    def close(self) -> None:
        """Stop watching."""
        self._closed = True
        for watch in self._watches.values():
            watch.close()
        for thread in self._threads:
            thread.join()

    def _wait_until_all_is_seen(self) -> None:
        """Wait until the watches have shown all that lists show now. Raises RuntimeError if one has ended."""
        wait_until(self._has_seen_all, PATIENCE_SECONDS, "the watches do not show what lists do".__str__)

    def _has_seen_all(self) -> bool:
        if not all(thread.is_alive() for thread in self._threads):
            raise RuntimeError("a watch has ended: the history has gaps")
        return all(
            self._has_seen(kind, self._client.list(version, kind)) for kind, version in self._versions.items()
        )

    def _has_seen(self, kind: str, listed: list[Json]) -> bool:
        return all(int(body["metadata"]["resourceVersion"]) <= self._seen[kind] for body in listed)

    def _follow(self, kind: str, watch: Watch) -> None:
        """Note every event. A watch that ends is continued where it was, or after a list."""
        cut = 0.0
        while not self._closed:
            is_too_old = False
            try:
                for event in watch:
                    self._note(kind, event)
            except ApiError as error:
                is_too_old = error.status == TOO_OLD
            except (OSError, ValueError, http.client.HTTPException):
                pass  # the API server ends
            if not is_too_old:
                cut = time.time()
            if not self._closed:
                watch = self._watches[kind] = self._watch_on(kind, cut, is_too_old=is_too_old)

    def _note(self, kind: str, event: Json) -> None:
        body = event["object"]
        if event["type"] == "ERROR":
            raise ApiError(body.get("code", 0), json.dumps(body))
        self._take(kind, event["type"], body)
        self._seen[kind] = max(self._seen[kind], int(body["metadata"]["resourceVersion"]))

    def _watch_on(self, kind: str, cut: float, *, is_too_old: bool) -> Watch:
        """Another watch, from where the last one was cut, or after a list. Tries again while the API server starts."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                if is_too_old:
                    self._seen[kind] = self._list_anew(kind, cut)
                    is_too_old = False
                return self._client.watch(self._versions[kind], kind, since=self._seen[kind])
            except (OSError, ApiError, http.client.HTTPException) as error:
                is_too_old |= isinstance(error, ApiError) and error.status == TOO_OLD
                if time.monotonic() > deadline:
                    raise
                time.sleep(AGAIN_SECONDS)


def until_quiet(look: Callable[[], list[Json]], seconds: float) -> None:
    """Look until the objects have stayed the same for `seconds`, at most PATIENCE_SECONDS."""
    deadline, quiet = time.monotonic() + PATIENCE_SECONDS, time.monotonic() + seconds
    before: list[Json] = []
    while time.monotonic() < min(deadline, quiet):
        found = look()
        if found != before:
            before, quiet = found, time.monotonic() + seconds
        time.sleep(LOOK_SECONDS)

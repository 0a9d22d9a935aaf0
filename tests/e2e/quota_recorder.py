"""Records what Workloads and queues go through, by the watches of an API server."""

from __future__ import annotations

import http.client
import threading
import time
from contextlib import suppress
from typing import Final

from hack.controlplane.client import ApiError, Client, Json, Watch
from hack.controlplane.processes import wait_until
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.quota_history import KINDS, QuotaHistory

__all__ = ["QuotaRecorder"]

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
VERSIONS: Final = {"PreemptionPlan": "reprieve.dev/v1alpha1"}
"""Of the kinds that are not Kueue's."""
AGAIN_SECONDS: Final = 0.1


class QuotaRecorder:
    """Watches in threads from when it is made until `close`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._history = QuotaHistory()
        self._seen = dict.fromkeys(KINDS, 0)
        self._closed = False
        self._watches = {kind: self._watch_on(kind) for kind in KINDS}
        self._threads = [
            threading.Thread(target=self._follow, args=each, name=f"history of {each[0]}", daemon=True)
            for each in self._watches.items()
        ]
        for thread in self._threads:
            thread.start()

    def history(self) -> QuotaHistory:
        """All that has happened until now. The watches go on, and the history grows."""
        wait_until(self._has_seen_all, PATIENCE_SECONDS, "the watches do not show what lists do".__str__)
        return self._history

    def close(self) -> None:
        """Stop watching."""
        self._closed = True
        for watch in self._watches.values():
            watch.close()
        for thread in self._threads:
            thread.join()

    def _has_seen_all(self) -> bool:
        """Whether the watches have shown all that lists show now. Raises RuntimeError if one has ended."""
        if not all(thread.is_alive() for thread in self._threads):
            raise RuntimeError("a watch has ended: the history has gaps")
        return all(
            int(body["metadata"]["resourceVersion"]) <= self._seen[kind]
            for kind in KINDS
            for body in self._client.list(_version(kind), kind)
        )

    def _follow(self, kind: str, watch: Watch) -> None:
        """Note every event. A watch that ends is continued where it was."""
        while not self._closed:
            with suppress(OSError, ValueError, http.client.HTTPException):
                for event in watch:
                    self._note(kind, event)
            if not self._closed:
                watch = self._watches[kind] = self._watch_on(kind)

    def _note(self, kind: str, event: Json) -> None:
        body = event["object"]
        if event["type"] == "ERROR":
            raise RuntimeError(f"the history of {kind} has gaps: {body.get('message')}")
        self._history.record(event["type"], body)
        self._seen[kind] = max(self._seen[kind], int(body["metadata"]["resourceVersion"]))

    def _watch_on(self, kind: str) -> Watch:
        """Tries again while the API server starts."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self._client.watch(_version(kind), kind, since=self._seen[kind] or None)
            except (OSError, ApiError, http.client.HTTPException):
                if time.monotonic() > deadline:
                    raise
                time.sleep(AGAIN_SECONDS)


def _version(kind: str) -> str:
    return VERSIONS.get(kind, KUEUE)

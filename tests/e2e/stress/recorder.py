"""Records what a cluster goes through, by its API server's watches and its audit log."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterable
from typing import Final

from hack.controlplane.client import ApiError, Client, Json, Watch, path_of
from hack.controlplane.components import REPRIEVE_USER
from hack.controlplane.plane import ControlPlane
from hack.controlplane.processes import wait_until
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.stress.history import History, asked_deletions
from tests.kit.stress.rest import Rest

__all__ = ["Recorder", "look_around"]

REPRIEVE: Final = "reprieve.dev/v1alpha1"
WATCHED: Final = (
    ("v1", "Pod"),
    ("v1", "Node"),
    (REPRIEVE, "PodGroup"),
    (REPRIEVE, "PreemptionPlan"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("events.k8s.io/v1", "Event"),
    ("coordination.k8s.io/v1", "Lease"),
)
AGAIN_SECONDS: Final = 0.1
TOO_OLD: Final = 410
"""An API server that has started anew knows nothing of the states before."""
EVENTS: Final = frozenset({"PreemptionStopped"})
"""Of all events only these are kept."""


class Recorder:
    """Watches in threads from when it is made until `close`."""

    def __init__(self, plane: ControlPlane, also: Iterable[tuple[str, str]] = ()) -> None:
        """`also`: more kinds to watch, each with its API version."""
        self._plane = plane
        self._history = History()
        self._versions = {kind: version for version, kind in (*WATCHED, *also)}
        self._seen = dict.fromkeys(self._versions, 0)
        self._closed = False
        self._watches = {kind: plane.client.watch(version, kind) for kind, version in self._versions.items()}
        self._threads = [
            threading.Thread(target=self._follow, args=each, name=f"history of {each[0]}", daemon=True)
            for each in self._watches.items()
        ]
        for thread in self._threads:
            thread.start()

    def history(self) -> History:
        """All that has happened until now; the watches have ended then."""
        wait_until(self._has_seen_all, PATIENCE_SECONDS, "the watches do not show what lists do".__str__)
        self.close()
        self._history.sort()
        with self._plane.audit_log.open() as lines:
            self._history.deletions = asked_deletions(lines, REPRIEVE_USER)
        return self._history

    def close(self) -> None:
        """Stop watching."""
        self._closed = True
        for watch in self._watches.values():
            watch.close()
        for thread in self._threads:
            thread.join()

    def _has_seen_all(self) -> bool:
        """Whether the watches have shown all that lists show now. Raises RuntimeError if a thread has failed."""
        if not all(thread.is_alive() for thread in self._threads):
            raise RuntimeError("nobody watches any longer")
        return all(
            int(body["metadata"]["resourceVersion"]) <= self._seen[kind]
            for kind, version in self._versions.items()
            for body in self._plane.client.list(version, kind)
        )

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
        if kind != "Event" or body["reason"] in EVENTS:
            body["metadata"].pop("managedFields", None)
            self._history.record(event["type"], body, time.time())
        self._seen[kind] = max(self._seen[kind], int(body["metadata"]["resourceVersion"]))

    def _watch_on(self, kind: str, cut: float, *, is_too_old: bool) -> Watch:
        """Another watch, from where the last one was cut (seconds since the epoch), or after a list."""
        version = self._versions[kind]
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                if is_too_old:
                    self._list_anew(version, kind, cut)
                return self._plane.client.watch(version, kind, since=self._seen[kind])
            except (OSError, ApiError, http.client.HTTPException) as error:
                is_too_old = isinstance(error, ApiError) and error.status == TOO_OLD
                if time.monotonic() > deadline:
                    raise
                time.sleep(AGAIN_SECONDS)

    def _list_anew(self, version: str, kind: str, cut: float) -> None:
        """The history of this kind has a gap from when its watch was cut until now."""
        answer = self._plane.client.request("GET", path_of(version, kind))
        listed = [{**body, "apiVersion": version, "kind": kind} for body in answer["items"]]
        if kind == "Event":
            listed = [body for body in listed if body["reason"] in EVENTS]
        for body in listed:
            body["metadata"].pop("managedFields", None)
        number = int(answer["metadata"]["resourceVersion"])
        self._history.list_anew(kind, listed, cut, number, time.time())
        self._seen[kind] = number


def look_around(client: Client) -> Rest:
    """The whole cluster as lists."""
    return Rest(
        pods=_list(client, "v1", "Pod"),
        nodes=_list(client, "v1", "Node"),
        groups=_list(client, REPRIEVE, "PodGroup"),
        plans=_list(client, REPRIEVE, "PreemptionPlan"),
        classes=_list(client, "scheduling.k8s.io/v1", "PriorityClass"),
    )


def _list(client: Client, version: str, kind: str) -> list[Json]:
    return [{**body, "kind": kind} for body in client.list(version, kind)]

"""Records what Workloads and queues go through, by the watches of an API server."""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Final

from hack.controlplane.client import ApiError, Client, Json, Watch, path_of
from hack.controlplane.processes import wait_until
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.quota.history import KINDS, QuotaHistory

__all__ = ["QuotaRecorder"]

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
VERSIONS: Final = {"PreemptionPlan": "reprieve.dev/v1alpha1", "Event": "events.k8s.io/v1"}
"""Of the kinds that are not Kueue's."""
LEASE: Final = ("reprieve", "reprieve-system")
AGAIN_SECONDS: Final = 0.1
TOO_OLD: Final = 410
"""An API server that has started anew knows nothing of the states before."""


class QuotaRecorder:
    """Watches in threads from when it is made until `close`. What was there before is known, and not judged."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._history = QuotaHistory()
        self._there: dict[str, dict[str, Json]] = {kind: {} for kind in KINDS}
        """By kind and UID: the objects that the watches have shown last."""
        self._seen = dict.fromkeys(KINDS, 0)
        """By kind: the newest version."""
        self._closed = False
        self._watches = {kind: self._watch_on(kind, is_too_old=True) for kind in KINDS}
        self._threads = [
            threading.Thread(target=self._follow, args=each, name=f"history of {each[0]}", daemon=True)
            for each in self._watches.items()
        ]
        self._threads.append(threading.Thread(target=self._follow_terms, name="terms", daemon=True))
        for thread in self._threads:
            thread.start()

    def fault(self, begin: float) -> None:
        """Note that a process or a connection was taken away then, in seconds since the epoch, and is back now."""
        self._history.faults.append((begin, time.time()))

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
        return all(self._has_seen(kind) for kind in KINDS)

    def _has_seen(self, kind: str) -> bool:
        listed = {body["metadata"]["uid"]: body for body in self._client.list(_version(kind), kind)}
        return listed.keys() == self._there[kind].keys() and all(
            int(body["metadata"]["resourceVersion"]) <= self._seen[kind] for body in listed.values()
        )

    def _follow_terms(self) -> None:
        """A term that ends is a fault, also if nobody was taken away: on a busy machine a Lease is renewed too late."""
        last: object = None
        while not self._closed:
            try:
                spec = self._client.get("coordination.k8s.io/v1", "Lease", *LEASE)["spec"]
            except (OSError, ApiError, http.client.HTTPException):
                spec = None  # the API server ends
            term = spec and (spec.get("holderIdentity"), spec.get("acquireTime"))
            if term and last and term != last:
                self._history.faults.append((time.time(), time.time()))
            last = term or last
            time.sleep(AGAIN_SECONDS)

    def _follow(self, kind: str, watch: Watch) -> None:
        """Note every event. A watch that ends is continued where it was, or after a list."""
        while not self._closed:
            is_too_old = False
            try:
                for event in watch:
                    self._note(kind, event)
            except ApiError as error:
                is_too_old = error.status == TOO_OLD
            except (OSError, ValueError, http.client.HTTPException):
                pass  # the API server ends
            if not self._closed:
                watch = self._watches[kind] = self._watch_on(kind, is_too_old=is_too_old)

    def _note(self, kind: str, event: Json) -> None:
        body = event["object"]
        if event["type"] == "ERROR":
            raise ApiError(body.get("code", 0), json.dumps(body))
        self._take(kind, event["type"], body)

    def _take(self, kind: str, event: str, body: Json) -> None:
        meta = body["metadata"]
        self._history.record(event, body, time.time())
        if event == "DELETED":
            self._there[kind].pop(meta["uid"], None)
        else:
            self._there[kind][meta["uid"]] = body
        self._seen[kind] = max(self._seen[kind], int(meta["resourceVersion"]))

    def _watch_on(self, kind: str, *, is_too_old: bool) -> Watch:
        """Another watch. Tries again while the API server starts."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                if is_too_old:
                    self._list_anew(kind)
                    is_too_old = False
                return self._client.watch(_version(kind), kind, since=self._seen[kind])
            except (OSError, ApiError, http.client.HTTPException) as error:
                is_too_old |= isinstance(error, ApiError) and error.status == TOO_OLD
                if time.monotonic() > deadline:
                    raise
                time.sleep(AGAIN_SECONDS)

    def _list_anew(self, kind: str) -> None:
        """The history has a gap, unless nothing has changed since the last watch."""
        answer = self._client.request("GET", path_of(_version(kind), kind))
        number, first = answer["metadata"]["resourceVersion"], self._seen[kind]
        listed = {each["metadata"]["uid"]: each for each in answer["items"]}
        changed = [each for each in listed.values() if int(each["metadata"]["resourceVersion"]) > first]
        gone = [body for uid, body in self._there[kind].items() if uid not in listed]
        for each in changed:
            self._take(kind, "MODIFIED", {**each, "apiVersion": _version(kind), "kind": kind})
        for each in gone:
            self._take(kind, "DELETED", {**each, "metadata": {**each["metadata"], "resourceVersion": number}})
        self._seen[kind] = int(number)
        if changed or gone:
            self._history.gap(first, int(number))


def _version(kind: str) -> str:
    return VERSIONS.get(kind, KUEUE)

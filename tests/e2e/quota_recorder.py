"""Records what Workloads and queues go through, by the watches of an API server."""

from __future__ import annotations

import http.client
import time
from typing import Final

from hack.controlplane.client import ApiError, Client, Json, path_of
from tests.e2e.following import AGAIN_SECONDS, Following
from tests.kit.quota.history import KINDS, QuotaHistory

__all__ = ["QuotaRecorder"]

KUEUE: Final = "kueue.x-k8s.io/v1beta2"
VERSIONS: Final = {"PreemptionPlan": "reprieve.dev/v1alpha1", "Event": "events.k8s.io/v1"}
"""Of the kinds that are not Kueue's."""
LEASE: Final = ("reprieve", "reprieve-system")


class QuotaRecorder(Following):
    """Watches in threads from when it is made until `close`. What was there before is known, and not judged."""

    def __init__(self, client: Client) -> None:
        self._history = QuotaHistory()
        self._there: dict[str, dict[str, Json]] = {kind: {} for kind in KINDS}
        """By kind and UID: the objects that the watches have shown last."""
        super().__init__(client, {kind: _version(kind) for kind in KINDS}, lists=True)
        self._start("terms", self._follow_terms)

    def fault(self, begin: float) -> None:
        """Note that a process or a connection was taken away then, in seconds since the epoch, and is back now."""
        self._history.faults.append((begin, time.time()))

    def history(self) -> QuotaHistory:
        """All that has happened until now. The watches go on, and the history grows."""
        self._wait_until_all_is_seen()
        return self._history

    def _has_seen(self, kind: str, listed: list[Json]) -> bool:
        there = {body["metadata"]["uid"] for body in listed}
        return there == self._there[kind].keys() and super()._has_seen(kind, listed)

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

    def _take(self, kind: str, event: str, body: Json) -> None:
        self._history.record(event, body, time.time())
        if event == "DELETED":
            self._there[kind].pop(body["metadata"]["uid"], None)
        else:
            self._there[kind][body["metadata"]["uid"]] = body

    def _list_anew(self, kind: str, cut: float) -> int:
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
        if changed or gone:
            self._history.gap(first, int(number))
        return int(number)


def _version(kind: str) -> str:
    return VERSIONS.get(kind, KUEUE)

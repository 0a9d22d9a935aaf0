"""Records what happens in all clusters, by watches that do not go through the proxies."""

from __future__ import annotations

import contextlib
import http.client
import math
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from hack.controlplane.client import ApiError, Client, Json, path_of
from hack.controlplane.processes import wait_until
from tests.e2e.following import Following
from tests.kit.clock import PATIENCE_SECONDS
from tests.kit.multicluster.history import MANAGER, Event, Fault, History, Sample
from tests.multicluster.trio import CLUSTERS, Trio

__all__ = ["KINDS", "Recorder"]

KINDS: Final = {
    "Workload": "kueue.x-k8s.io/v1beta2",
    "Job": "batch/v1",
    "Pod": "v1",
    "PreemptionPlan": "reprieve.dev/v1alpha1",
    "DispatchPlan": "reprieve.dev/v1alpha1",
    "Lease": "coordination.k8s.io/v1",
}
"""What is recorded, in all namespaces."""
SAMPLE_SECONDS: Final = 0.05


class _Following(Following):
    """The watches of one cluster."""

    def __init__(self, cluster: str, client: Client, history: History, lock: threading.Lock) -> None:
        self._cluster, self._history, self._lock = cluster, history, lock
        self._sampled = 0.0
        """When the newest sample was asked for."""
        served = {kind: version for kind, version in KINDS.items() if _is_served(client, version, kind)}
        super().__init__(client, served, lists=False)
        self._start("samples", self._sample)

    def settle(self) -> None:
        """Wait until all is seen that lists show now, and a sample was taken after that."""
        self._wait_until_all_is_seen()
        now = time.monotonic()
        wait_until(lambda: self._sampled > now, PATIENCE_SECONDS, "no samples are taken".__str__)

    def _take(self, kind: str, event: str, body: Json) -> None:
        made = Event(time.monotonic(), self._cluster, event, body)
        with self._lock:
            self._history.record(made)

    def _list_anew(self, kind: str, cut: float) -> int:
        raise AssertionError(f"a gap in the history of {self._cluster}: its API server has ended")

    def _sample(self) -> None:
        """Ask again and again which version is the newest."""
        path = f"{path_of('v1', 'Namespace')}?limit=1"
        while not self._closed:
            sent = time.monotonic()
            try:
                version = int(self._client.request("GET", path)["metadata"]["resourceVersion"])
            except (OSError, ApiError, http.client.HTTPException):
                continue
            self._history.sample(self._cluster, Sample(sent, time.monotonic(), version))
            self._sampled = sent
            time.sleep(SAMPLE_SECONDS)


class Recorder:
    """From when it is made until `close`. What is there already comes first."""

    def __init__(self, trio: Trio, *, lost_after: float = 6.0, settle: float = 10.0) -> None:
        """See History."""
        self._history = History(lost_after=lost_after, settle=settle)
        self._lock = threading.Lock()
        self._following = [
            _Following(name, trio.client(name), self._history, self._lock) for name in CLUSTERS
        ]

    def history(self) -> History:
        """All that has happened until now. What happens afterwards certainly comes after it."""
        for each in self._following:
            each.settle()
        with self._lock:
            return replace(
                self._history,
                events=list(self._history.events),
                samples={name: list(found) for name, found in self._history.samples.items()},
            )

    def note(self, text: str) -> None:
        """What the test does now."""
        self._history.note(time.monotonic(), text)

    def by_hand(self, cluster: str, body: Json) -> None:
        """The answer to a write of the test's own, which no rule judges."""
        meta = body["metadata"]
        self._history.by_hand.add((cluster, meta["uid"], int(meta["resourceVersion"])))

    @contextlib.contextmanager
    def fault(self, what: str, cluster: str = MANAGER) -> Iterator[None]:
        """Inside, something is taken away (see Fault)."""
        begin = time.monotonic()
        place = len(self._history.faults)
        self._history.faults.append(Fault(what, cluster, begin, math.inf))
        self.note(f"{what} {cluster}: begins")
        try:
            yield
        finally:
            self._history.faults[place] = Fault(what, cluster, begin, time.monotonic())
            self.note(f"{what} {cluster}: ends")

    def close(self) -> None:
        """Stop watching."""
        for each in self._following:
            each.close()


def _is_served(client: Client, version: str, kind: str) -> bool:
    try:
        client.request("GET", f"{path_of(version, kind)}?limit=1")
    except ApiError as error:
        if error.status != 404:
            raise
        return False
    return True

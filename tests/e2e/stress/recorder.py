"""Records what a cluster goes through, by its API server's watches and its audit log."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from hack.controlplane.client import Client, Json, path_of
from hack.controlplane.components import REPRIEVE_USER
from hack.controlplane.plane import ControlPlane
from tests.e2e.following import Following
from tests.e2e.other_kinds import NATIVE
from tests.kit.stress import natives
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
EVENTS: Final = frozenset({"PreemptionStopped", "Preempted"})
"""Of all events only these are kept."""


class Recorder(Following):
    """Watches in threads from when it is made until `close`."""

    def __init__(
        self, plane: ControlPlane, also: Iterable[tuple[str, str]] = (), *, native: bool = False
    ) -> None:
        """`also`: more kinds to watch, each with its API version. `native`: also Kubernetes' own PodGroups."""
        self._plane, self._history = plane, History()
        self._natives = NativeRecorder(plane.client, self._history) if native else None
        super().__init__(plane.client, {kind: version for version, kind in (*WATCHED, *also)}, lists=False)

    def history(self) -> History:
        """All that has happened until now; the watches have ended then."""
        if self._natives is not None:
            self._natives.wait()
        self._wait_until_all_is_seen()
        self.close()
        self._history.sort()
        with self._plane.audit_log.open() as lines:
            self._history.deletions = asked_deletions(lines, REPRIEVE_USER)
        return self._history

    def close(self) -> None:
        """Stop watching."""
        if self._natives is not None:
            self._natives.close()
        super().close()

    def _take(self, kind: str, event: str, body: Json) -> None:
        if kind != "Event" or body["reason"] in EVENTS:
            body["metadata"].pop("managedFields", None)
            self._history.record(event, body, time.time())

    def _list_anew(self, kind: str, cut: float) -> int:
        """The history of this kind has a gap from when its watch was cut until now."""
        version = self._versions[kind]
        answer = self._client.request("GET", path_of(version, kind))
        listed = [{**body, "apiVersion": version, "kind": kind} for body in answer["items"]]
        if kind == "Event":
            listed = [body for body in listed if body["reason"] in EVENTS]
        for body in listed:
            body["metadata"].pop("managedFields", None)
        number = int(answer["metadata"]["resourceVersion"])
        self._history.list_anew(kind, listed, cut, number, time.time())
        return number


class NativeRecorder(Following):
    """Watches Kubernetes' own PodGroups, which have the same kind as ours."""

    def __init__(self, client: Client, history: History) -> None:
        self._history = history
        super().__init__(client, {"PodGroup": NATIVE}, lists=False)

    def wait(self) -> None:
        """Wait until the watch has shown all that a list shows now. Raises RuntimeError if it has ended."""
        self._wait_until_all_is_seen()

    def _take(self, kind: str, event: str, body: Json) -> None:
        self._history.record(event, {**body, "kind": natives.WATCHED}, time.time())

    def _list_anew(self, kind: str, cut: float) -> int:
        """See `Recorder`."""
        answer = self._client.request("GET", path_of(NATIVE, kind))
        listed = [{**body, "kind": natives.WATCHED} for body in answer["items"]]
        number = int(answer["metadata"]["resourceVersion"])
        self._history.list_anew(natives.WATCHED, listed, cut, number, time.time())
        return number


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

"""Two replicas of reprieve on a local control plane, and the ways in which one of them goes and comes back.

A Service selects the replicas as in a cluster: by readiness probes with the times of manifests/base/deployment.yaml,
and without a replica that is asked to leave, because that is what happens to a Pod that is deleted.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from bench.watching import Watching
from hack.controlplane.client import Client, Json
from hack.controlplane.plane import ControlPlane
from hack.controlplane.processes import wait_until

__all__ = ["FAULTS", "Fault", "Leaders", "Replicas", "lease_settings"]

PROBE_SECONDS: Final = 2.0
"""periodSeconds of the readiness probe."""
FAILURES: Final = 3
"""failureThreshold of the readiness probe: the default of Kubernetes."""
CONNECT_SECONDS: Final = 1.0
"""The scheduler connects with its next call."""
LIMIT_SECONDS: Final = 120.0
NAMESPACE: Final = "reprieve-system"
PRODUCT: Final = {"leaseDurationSeconds": 15.0, "renewDeadlineSeconds": 10.0, "retryPeriodSeconds": 2.0}
"""The defaults of reprieve."""


def lease_settings(seconds: float) -> dict[str, Any]:
    """Settings of reprieve for a Lease of this duration. The other times keep their ratio to it."""
    scale = seconds / PRODUCT["leaseDurationSeconds"]
    return {"leaderElection": {name: scale * each for name, each in PRODUCT.items()}}


class Replicas:
    """The replicas of a plane, and the Service that selects them while the context lasts."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.names = plane.layout.replicas
        self._failures = dict.fromkeys(self.names, FAILURES)
        self._leaving: set[str] = set()
        self._only: str | None = None
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._probes = [
            threading.Thread(target=self._probe, args=(name,), daemon=True) for name in self.names
        ]

    def __enter__(self) -> Self:
        for each in self._probes:
            each.start()
        for name in self.names:
            self.wait_selected(name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for each in self._probes:
            each.join()

    def leader(self) -> str:
        """The name of the replica that leads, once one does. Raises ProcessFailedError."""
        wait_until(lambda: bool(self.plane.leader()), LIMIT_SECONDS, "nobody leads".__str__)
        return self.plane.leader()

    def other(self, name: str) -> str:
        """The other one of two replicas."""
        (other,) = {*self.names} - {name}
        return other

    def connect(self, name: str) -> None:
        """The scheduler connects to this replica, if it calls somebody soon. It keeps the connection."""
        assert self.plane.service is not None
        self._select(only=name)
        self.plane.service.cut()
        time.sleep(CONNECT_SECONDS)
        self._select(only=None)

    def wait_selected(self, name: str) -> None:
        """Until the Service selects the replica. Raises ProcessFailedError."""
        wait_until(lambda: name in self._selected(), LIMIT_SECONDS, f"{name} is not ready".__str__)

    def leave(self, name: str) -> None:
        """The replica is asked to leave, and is no longer selected."""
        with self._lock:
            self._leaving.add(name)
        self._select(only=None)
        os.kill(self.plane.processes[name].pid, signal.SIGTERM)

    def start_again(self, name: str, environment: Mapping[str, str] | None = None) -> None:
        """The replica ends if it still runs, and starts again. Returns when it is selected."""
        process = self.plane.processes[name]
        process.stop()
        with self._lock:
            self._failures[name] = FAILURES
            self._leaving.discard(name)
        if environment is not None:
            process.environment = environment
        self.plane.start_reprieve(name)
        self.wait_selected(name)

    def _probe(self, name: str) -> None:
        """Probe a replica as kubelet does."""
        while True:
            is_ready = self.plane.is_ready(name)
            with self._lock:
                self._failures[name] = 0 if is_ready else self._failures[name] + 1
            self._select(only=self._only)
            if self._over.wait(PROBE_SECONDS):
                return

    def _select(self, *, only: str | None) -> None:
        self._only = only
        self.plane.selected = self._selected() if only is None else [only]

    def _selected(self) -> list[str]:
        with self._lock:
            return [
                name for name in self.names if self._failures[name] < FAILURES and name not in self._leaving
            ]


class Leaders(Watching):
    """When each replica was first seen to lead after another one."""

    def __init__(self, client: Client) -> None:
        self.holder = ""
        self.since = 0.0
        """In monotonic seconds."""
        super().__init__(client, "coordination.k8s.io/v1", "Lease", NAMESPACE)

    def note(self, event: str, item: Json, now: float) -> None:
        """See `Watching`."""
        holder = item["spec"].get("holderIdentity") or ""
        if holder and holder != self.holder:
            self.holder, self.since = holder, now

    def wait_since(self, moment: float) -> float:
        """When somebody began to lead after this moment, in monotonic seconds. Raises TimeoutError."""
        with self.changed:
            if not self.changed.wait_for(lambda: self.since > moment, LIMIT_SECONDS):
                raise TimeoutError("nobody else leads")
            return self.since


@dataclass(frozen=True)
class Fault:
    """A way in which the replica that leads goes, and comes back. A replica that is cut off still has the scheduler's
    calls, but does not reach the API server."""

    name: str
    begin: Callable[[Replicas, str], None]
    end: Callable[[Replicas, str], None]
    """Returns when the Service selects the replica again."""


def _kill(replicas: Replicas, name: str) -> None:
    replicas.plane.processes[name].kill()


def _stop(replicas: Replicas, name: str) -> None:
    replicas.plane.processes[name].pause()


def _go_on(replicas: Replicas, name: str) -> None:
    replicas.plane.processes[name].resume()
    replicas.wait_selected(name)


def _cut_off(replicas: Replicas, name: str) -> None:
    replicas.plane.networks[name].disturb("BlackHole")


def _connect(replicas: Replicas, name: str) -> None:
    network = replicas.plane.networks[name]
    network.disturb("Pass")
    network.cut()
    replicas.plane.wait_reprieve(name)
    replicas.wait_selected(name)


FAULTS: Final = (
    Fault("SIGKILL", _kill, Replicas.start_again),
    Fault("SIGSTOP", _stop, _go_on),
    Fault("cut off", _cut_off, _connect),
    Fault("SIGTERM", Replicas.leave, Replicas.start_again),
)

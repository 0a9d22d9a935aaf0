"""A manager and two workers, which all files of this folder share, and what a test does with their processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

from cli.common.configuration import Configuration
from hack.controlplane.client import Client, Json
from hack.controlplane.fleet import ALLOWED, Fleet, manager_options, worker_options
from hack.controlplane.plane import ControlPlane, Options
from hack.controlplane.processes import Process
from hack.controlplane.proxy import Proxy
from runtime.failpoints import ENVIRONMENT as FAILPOINTS
from tests.e2e.quota_sandbox import KUEUE
from tests.e2e.support import wait_for

__all__ = ["CLUSTERS", "MANAGER", "SETTINGS", "WORKERS", "Trio", "options"]

MANAGER: Final = "manager"
GATES: Final = "reprieve.dev/PreemptionGates"
"""Condition of a MultiKueueCluster: whether it honours preemption gates."""
WORKERS: Final = ("alpha", "beta")
CLUSTERS: Final = (MANAGER, *WORKERS)
QUOTA: Final[Json] = {"quota": {"mode": "Enforce", "waitingMessageSeconds": 1, "waitingReasonSeconds": 0.01}}
SETTINGS: Final[Json] = {
    "allowedNetworks": list(ALLOWED),
    "gcIntervalSeconds": 2,
    "workerLostTimeoutSeconds": 6,
    "nonPreemptingWindowSeconds": 1,
    "singleClusterPreemptionTimeoutSeconds": 5,
}
"""The manager's section `multikueue`: no test waits for the default times."""
REPLICAS: Final = 2
"""Of the manager. The second one runs where a test starts it."""


def options() -> dict[str, Options]:
    """The planes by their names among shared planes."""
    manager = manager_options(manager_settings(), replicas=REPLICAS)
    return {f"trio {MANAGER}": manager, **{f"trio {name}": worker_options(QUOTA) for name in WORKERS}}


def manager_settings(**changes: object) -> Json:
    """The manager's Configuration."""
    section = {"multikueue": SETTINGS | changes} if "multikueue" in Configuration.__struct_fields__ else {}
    return {**QUOTA, **section}


class Trio:
    """The fleet, and its processes. `rest` brings back whatever a test took away."""

    def __init__(self, planes: Mapping[str, ControlPlane]) -> None:
        """`planes` as `options` names them."""
        by_name = {name.removeprefix("trio "): plane for name, plane in planes.items()}
        self.fleet = Fleet(by_name[MANAGER], {name: by_name[name] for name in WORKERS})
        self._joined = False
        """Whether the manager that runs has seen all workers as they are now."""
        self.absent: set[str] = set()
        """Clusters in which `rest` leaves reprieve stopped: Kueue is played there."""
        self._changed = False
        """Whether the manager runs with other settings."""

    # ---- what there is

    def plane(self, name: str) -> ControlPlane:
        """A plane by cluster."""
        return self.fleet.planes[name]

    def client(self, name: str) -> Client:
        """The administrator's client of a cluster. It does not go through the proxy."""
        return self.plane(name).client

    def proxy(self, worker: str) -> Proxy:
        """Between the manager and a worker: `disturb("BlackHole")`, `disturb("Pass", delay=1)`, `disturb("Reset")`."""
        return self.fleet.proxy(worker)

    def process(self, name: str) -> Process:
        """A process of reprieve: of a cluster, or `manager-2`."""
        if name == f"{MANAGER}-2":
            return self.fleet.manager.processes["reprieve-2"]
        return self.plane(name).reprieve

    # ---- processes

    def start(self, name: str, *, failpoints: str = "", wait: bool = True) -> None:
        """Start a process of reprieve: of a cluster, or `manager-2`. With `wait`, return when it is ready."""
        process = self.process(name)
        plane = self.plane(name.removesuffix("-2"))
        given = {FAILPOINTS: failpoints} if failpoints else {}
        process.environment = {**(plane.options.reprieve_environment or {}), **given}
        plane.start_reprieve(process.name, wait=wait)

    def rejoin(self, *, honours_gates: bool = True) -> None:
        """Start the manager anew, and wait until it is connected to all workers and knows whether they honour gates.

        It looks at each connect, so their quota controllers must run by then.
        """
        self.stop(MANAGER)
        client = self.client(MANAGER)
        for name in WORKERS:
            client.patch(KUEUE, "MultiKueueCluster", name, {"status": None}, subresource="status")
        self.start(MANAGER)
        expected = {"Active": "True", GATES: str(honours_gates)}
        for name in WORKERS:
            wait_for(
                lambda name=name: expected.items() <= self.conditions(name).items(),  # type: ignore[misc]  # bound by its default
                what=lambda name=name: f"{name} is not joined: {self.conditions(name)}",  # type: ignore[misc]  # too
            )

    def conditions(self, worker: str) -> dict[str, str]:
        """The conditions of a MultiKueueCluster: type and status."""
        found = self.client(MANAGER).get(KUEUE, "MultiKueueCluster", worker)
        conditions = found.get("status", {}).get("conditions") or ()
        return {each["type"]: each["status"] for each in conditions}

    def kill(self, name: str) -> None:
        """SIGKILL."""
        self.process(name).kill()

    def stop(self, name: str) -> None:
        """SIGTERM."""
        self.process(name).stop()

    @contextlib.contextmanager
    def paused(self, name: str) -> Iterator[None]:
        """SIGSTOP inside, SIGCONT afterwards. The connections of the process stay open."""
        process = self.process(name)
        process.pause()
        try:
            yield
        finally:
            if process.running:
                process.resume()

    def restart_manager(self, *, failpoints: str = "", wait: bool = True, **settings: Any) -> None:
        """Start the manager anew with other settings of the section `multikueue`, such as `gcIntervalSeconds=60`.

        `failpoints` and `wait`: as for `start`.
        """
        self._changed = bool(settings)
        for name in (MANAGER, f"{MANAGER}-2"):
            self.stop(name)
            file = self.fleet.manager.directory / f"{self.process(name).name}.yaml"
            file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | manager_settings(**settings)))
        self.start(MANAGER, failpoints=failpoints, wait=wait)

    # ---- around tests

    def rest(self) -> None:
        """One process of reprieve runs in each cluster that has one, undisturbed, with its usual settings."""
        for name in WORKERS:
            self.proxy(name).disturb("Pass")
        for network in self.fleet.manager.networks.values():
            network.disturb("Pass")
        for name in (*CLUSTERS, f"{MANAGER}-2"):
            if self.process(name).running:
                self.process(name).resume()
        self.stop(f"{MANAGER}-2")
        for name in self.absent:
            self.stop(name)
        present = [name for name in WORKERS if name not in self.absent]
        started = [name for name in present if self._starts(name)]
        for name in present:
            self.plane(name).wait_reprieve()
        if MANAGER in self.absent:
            return
        if self._changed:
            self.restart_manager()
        if self._starts(MANAGER) or started or not self._joined:
            self._joined = not self.absent
            if self._joined:
                self.rejoin()
        self.fleet.manager.wait_reprieve()

    def _starts(self, name: str) -> bool:
        """Start a process that has ended, or that a test has given failpoints. Returns whether it did."""
        process = self.process(name)
        if process.running and FAILPOINTS in process.environment:
            process.kill()
        if process.running:
            return False
        self.start(name, wait=False)
        return True

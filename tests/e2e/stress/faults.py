"""Faults of processes, networks and the election, for several processes of reprieve. An action draws from the
cluster's random numbers."""

from __future__ import annotations

from functools import partial
from typing import Final

from hack.controlplane.proxy import Mode, Proxy
from tests.e2e.stress.actions import ACTIONS, Action, kill, pause
from tests.e2e.stress.cluster import API_SERVER, Cluster

__all__ = ["ACTIONS_WITH_FAULTS"]

LEASES: Final = "coordination.k8s.io/v1"
LEASE: Final = ("reprieve", "reprieve-system")
MODES: Final[tuple[Mode, ...]] = ("Reset", "BlackHole", "HalfOpen")
ENDING_SECONDS: Final = 1.0
"""An API server that ends still answers some requests. It would take a minute."""
DELAYS: Final = (0.05, 0.5, 2.0)


def cut_off(cluster: Cluster) -> None:
    """A process does not reach the API server for a while."""
    name = cluster.rng.choice(cluster.plane.layout.replicas)
    _disturb(cluster, cluster.plane.networks[name], cluster.rng.choice(MODES))


def slow_down(cluster: Cluster) -> None:
    """What a process says to the API server, and what it hears, comes late."""
    name, delay = cluster.rng.choice(cluster.plane.layout.replicas), cluster.rng.choice(DELAYS)
    _disturb(cluster, cluster.plane.networks[name], "Pass", delay)


def cut_scheduler_off(cluster: Cluster) -> None:
    """The scheduler does not reach reprieve for a while, or has to connect again."""
    service = cluster.plane.service
    if service is None:
        return
    if cluster.rng.random() < 0.5:
        service.cut()
    else:
        _disturb(cluster, service, cluster.rng.choice(MODES))


def edit_lease(cluster: Cluster) -> None:
    """Somebody gives the Lease to nobody who is there, to nobody at all, or deletes it."""
    draw = cluster.rng.random()
    if draw < 0.4:
        cluster.patch(LEASES, "Lease", LEASE, {"spec": {"holderIdentity": "somebody"}})
    elif draw < 0.7:
        cluster.patch(LEASES, "Lease", LEASE, {"spec": {"holderIdentity": ""}})
    else:
        cluster.delete(LEASES, "Lease", *LEASE)


def ask_to_leave(cluster: Cluster) -> None:
    """SIGTERM for a process, and a new one a little later."""
    name = cluster.rng.choice(cluster.plane.layout.replicas)
    if name in cluster.running():
        cluster.plane.processes[name].stop()
        cluster.in_steps(10, partial(cluster.restart, name))


def restart_api_server(cluster: Cluster) -> None:
    """SIGKILL for the API server, sometimes after SIGTERM, and a new one a little later.

    It forgets what happened before, so every watch has to begin with a list.
    """
    process, is_killed = cluster.plane.processes[API_SERVER], cluster.rng.random() < 0.5
    if not process.running:
        return
    if is_killed:
        process.kill()
    else:
        process.stop(ENDING_SECONDS)
    cluster.in_steps(10, cluster.start_api_server)


def _disturb(cluster: Cluster, proxy: Proxy, mode: Mode, delay: float = 0.0) -> None:
    proxy.disturb(mode, delay=delay)
    cluster.in_steps(40, partial(_mend, proxy))


def _mend(proxy: Proxy) -> None:
    proxy.disturb("Reset")
    proxy.disturb("Pass")


ACTIONS_WITH_FAULTS: Final[dict[Action, int]] = {
    **ACTIONS,
    kill: 6,
    pause: 6,
    ask_to_leave: 4,
    cut_off: 6,
    slow_down: 4,
    cut_scheduler_off: 4,
    edit_lease: 4,
    restart_api_server: 1,
}
"""How often, in relation to one another."""

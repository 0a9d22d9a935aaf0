"""NodePorts: two pods on one node cannot have the same protocol and host port on overlapping addresses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import ClassVar, NamedTuple

from api.core import Container, ContainerPort, Pod, PodSpec
from nodes.filters.filter import PodFilter, Tenant, Token

__all__ = ["HostPort", "NodePorts"]

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - compared with, not bound to


class HostPort(NamedTuple):
    """A port of the node that a pod takes."""

    protocol: str
    address: str
    port: int

    def conflicts(self, other: HostPort) -> bool:
        """Whether two pods on one node cannot have these two ports.

        0.0.0.0 overlaps every address. Another address overlaps itself and 0.0.0.0.
        """
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)


class PortToken(Token):
    """A host port of a member. The member forbids the token; every pod with a conflicting port brings it."""

    __slots__ = ("port",)
    reason: ClassVar[str] = "node(s) didn't have free ports for the requested pod ports"
    by_labels: ClassVar[bool] = False

    def __init__(self, port: HostPort) -> None:
        self.port = port

    def brought_by(self, tenant: Tenant) -> bool:
        """The pod has a conflicting port, which may be the same port."""
        return tenant.needs is not None and any(self.port.conflicts(port) for port in tenant.needs)

    def forbidden_by(self, tenant: Tenant) -> bool:
        """The pod has exactly this port."""
        return tenant.needs is not None and self.port in tenant.needs


class NodePorts(PodFilter[tuple[HostPort, ...]]):
    """Needs: the host ports of containers and sidecars, sorted.

    Like the scheduler (GetHostPorts), it does not count other init containers. With `hostNetwork`, the API server makes
    every container port a host port. No API server has seen a pod from a file, so the filter does the same.
    """

    name: ClassVar[str] = "NodePorts"

    def needs(self, pod: Pod) -> tuple[HostPort, ...] | None:
        """The pod's host ports, sorted. None for a pod without host ports."""
        ports = [port for container in _containers(pod.spec) for port in container.ports or ()]
        taken = {_host_port(port, pod.spec.host_network) for port in ports}
        return tuple(sorted(port for port in taken if port.port > 0)) or None

    def tokens(self, members: Collection[Tenant], running: Iterable[Tenant]) -> Iterator[PortToken]:
        """One token for each port of a member."""
        ports = {port for member in members for port in member.needs or ()}
        return (PortToken(port) for port in sorted(ports))


def _containers(spec: PodSpec) -> list[Container]:
    """The containers that run as long as the pod runs."""
    sidecars = [each for each in spec.init_containers or () if each.restart_policy == "Always"]
    return [*(spec.containers or ()), *sidecars]


def _host_port(port: ContainerPort, host_network: bool) -> HostPort:
    """The host port that a container port takes; its `port` is 0 if it takes none."""
    number = port.host_port or (port.container_port if host_network else 0)
    return HostPort(port.protocol or "TCP", port.host_ip or ANY_ADDRESS, number)

"""NodePorts: no two pods on a node with the same protocol and host port on overlapping addresses."""

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
        """Whether two pods cannot have both: 0.0.0.0 overlaps every address, other addresses only themselves."""
        if (self.protocol, self.port) != (other.protocol, other.port):
            return False
        return self.address == other.address or ANY_ADDRESS in (self.address, other.address)


class PortToken(Token):
    """A host port of a member: the member forbids it, and every pod with a port that conflicts brings it."""

    __slots__ = ("port",)
    reason: ClassVar[str] = "node(s) didn't have free ports for the requested pod ports"
    by_labels: ClassVar[bool] = False

    def __init__(self, port: HostPort) -> None:
        self.port = port

    def brought_by(self, tenant: Tenant) -> bool:
        """A port that conflicts, be it the same."""
        return tenant.needs is not None and any(self.port.conflicts(port) for port in tenant.needs)

    def forbidden_by(self, tenant: Tenant) -> bool:
        """The very port."""
        return tenant.needs is not None and self.port in tenant.needs


class NodePorts(PodFilter[tuple[HostPort, ...]]):
    """Needs: the host ports of containers and sidecars, sorted.

    Other init containers do not count, as the scheduler has it (GetHostPorts). With `hostNetwork` the API server makes
    every container port a host port; pods from files have not met one, so that it is done here too.
    """

    name: ClassVar[str] = "NodePorts"

    def needs(self, pod: Pod) -> tuple[HostPort, ...] | None:
        """None for a pod without host ports."""
        ports = [port for container in _containers(pod.spec) for port in container.ports or ()]
        taken = {_host_port(port, pod.spec.host_network) for port in ports}
        return tuple(sorted(port for port in taken if port.port > 0)) or None

    def tokens(self, members: Collection[Tenant], running: Iterable[Tenant]) -> Iterator[PortToken]:
        """One for every port of a member."""
        ports = {port for member in members for port in member.needs or ()}
        return (PortToken(port) for port in sorted(ports))


def _containers(spec: PodSpec) -> list[Container]:
    """Those that run as long as the pod does."""
    sidecars = [each for each in spec.init_containers or () if each.restart_policy == "Always"]
    return [*(spec.containers or ()), *sidecars]


def _host_port(port: ContainerPort, host_network: bool) -> HostPort:
    """Without a host port, `port` of the result is 0."""
    number = port.host_port or (port.container_port if host_network else 0)
    return HostPort(port.protocol or "TCP", port.host_ip or ANY_ADDRESS, number)

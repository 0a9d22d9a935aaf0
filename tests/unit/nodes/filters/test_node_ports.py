"""NodePorts: which ports a pod takes of its node, and which of them conflict."""

from __future__ import annotations

from typing import Any

import pytest

from nodes.filters.filter import Tenant
from nodes.filters.node_ports import HostPort, NodePorts
from tests.kit.objects import pod

PORTS = NodePorts()


def needs(*ports: dict[str, Any], **spec: Any) -> tuple[HostPort, ...] | None:
    return PORTS.needs(pod("p", **{"containers": [{"name": "c", "ports": list(ports)}], **spec}))


def test_a_container_port_alone_takes_nothing_of_the_node() -> None:
    assert needs({"containerPort": 80}) is None


def test_defaults_are_tcp_and_every_address() -> None:
    assert needs({"containerPort": 8080, "hostPort": 80}) == (HostPort("TCP", "0.0.0.0", 80),)  # noqa: S104
    full = {"containerPort": 8080, "hostPort": 80, "hostIP": "10.0.0.1", "protocol": "UDP"}
    assert needs(full) == (HostPort("UDP", "10.0.0.1", 80),)


def test_on_the_host_network_every_container_port_is_a_host_port() -> None:
    taken = needs({"containerPort": 80}, {"containerPort": 81, "hostPort": 81}, hostNetwork=True)
    assert taken is not None
    assert [port.port for port in taken] == [80, 81]


@pytest.mark.parametrize(("policy", "counts"), [("Always", True), ("OnFailure", False), (None, False)])
def test_sidecars_take_ports_and_other_init_containers_do_not(policy: str | None, counts: bool) -> None:
    init = {"name": "i", "restartPolicy": policy, "ports": [{"containerPort": 80, "hostPort": 80}]}
    assert (needs(initContainers=[init]) is not None) is counts


@pytest.mark.parametrize(
    ("one", "other", "conflict"),
    [
        (("TCP", "0.0.0.0", 80), ("TCP", "0.0.0.0", 80), True),  # noqa: S104
        (("TCP", "0.0.0.0", 80), ("TCP", "10.0.0.1", 80), True),  # noqa: S104
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.1", 80), True),
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.2", 80), False),
        (("TCP", "::", 80), ("TCP", "10.0.0.2", 80), False),
        (("TCP", "10.0.0.1", 80), ("UDP", "10.0.0.1", 80), False),
        (("TCP", "10.0.0.1", 80), ("TCP", "10.0.0.1", 81), False),
    ],
)
def test_which_ports_conflict(one: tuple[str, str, int], other: tuple[str, str, int], conflict: bool) -> None:
    ports = HostPort(*one), HostPort(*other)
    for mine, theirs in (ports, ports[::-1]):
        member, running = Tenant((mine,), "a", {}), Tenant((theirs,), "b", {})
        (token,) = PORTS.tokens([member], [running])
        assert token.forbidden_by(member)
        assert token.brought_by(member)
        assert token.brought_by(running) is conflict
        assert not token.brought_by(Tenant(None, "b", {}))

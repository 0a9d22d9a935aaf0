"""Which addresses requests to worker clusters may go to.

Whoever may write a kubeconfig must not reach what only this process reaches: services on loopback, and the metadata
service of a cloud. Each address is checked when a socket for it is made, so no name can change its address after the
check.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

__all__ = ["AddressError", "AddressGuard", "kind_of", "refusal_in"]

Address = IPv4Address | IPv6Address

METADATA: Final = frozenset(
    map(
        ip_address,
        (
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "fd00:ec2::254",
        ),
    )
)
"""Services of clouds that give credentials to whoever can reach them: most clouds, Amazon ECS, Alibaba, Oracle, Azure,
and Amazon by IPv6."""
THIS_NETWORK: Final = ip_network("0.0.0.0/8")
BROADCAST: Final = ip_address("255.255.255.255")
REFUSAL: Final = "the server's address is {}, and multikueue.allowedNetworks has no such"
KINDS: Final = ("a metadata service", "unspecified", "loopback", "link-local", "multicast")
TRANSLATED: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"), IPv6Network("::/96"))
"""Networks whose addresses end with an IPv4 address (RFC 6052, RFC 8215, RFC 4291)."""


class AddressError(OSError):
    """The address is not allowed. The message says of what kind it is."""


class AddressGuard:
    """Makes sockets, but not for addresses that are not allowed. One for each client."""

    def __init__(self, allowed: Iterable[str]) -> None:
        """`allowed`: networks that are allowed whatever they are. Raises ValueError for what is no network."""
        self._allowed = tuple(map(ip_network, allowed))

    def check(self, host: str) -> None:
        """Raises AddressError for an address (as text) that is not allowed."""
        address = ip_address(host)
        inner = embedded(address)
        if any(each in network for each in (address, inner) for network in self._allowed):
            return
        if kind := kind_of(address):
            raise AddressError(REFUSAL.format(kind))

    def socket(self, address: tuple[Any, ...]) -> socket.socket:
        """A socket for an entry of `socket.getaddrinfo`. Raises AddressError (see aiohttp's `socket_factory`)."""
        family, kind, protocol, _, where = address
        self.check(where[0])
        return socket.socket(family=family, type=kind, proto=protocol)


def refusal_in(error: OSError) -> str:
    """What an AddressError says; empty for other errors. A name has several addresses: the faults of all of them
    come as one error with all texts."""
    return next((text for kind in KINDS if (text := REFUSAL.format(kind)) in str(error)), "")


def kind_of(address: Address) -> str:
    """Why the address is not allowed; empty if it is."""
    inner = embedded(address)
    if inner in METADATA:
        return "a metadata service"
    for kind, is_so in (
        ("unspecified", inner.is_unspecified or inner in THIS_NETWORK),
        ("loopback", inner.is_loopback),
        ("link-local", inner.is_link_local),
        ("multicast", inner.is_multicast or inner == BROADCAST),
    ):
        if is_so:
            return kind
    return ""


def embedded(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for; any other address as it is."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    bits = int(address)
    if bits > 1 and any(address in network for network in TRANSLATED):
        return IPv4Address(bits & 0xFFFFFFFF)
    return address

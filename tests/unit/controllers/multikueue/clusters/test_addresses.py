"""The addresses that requests to worker clusters are sent to."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

import aiohttp
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from controllers.multikueue.clusters.addresses import AddressError, AddressGuard, kind_of, refusal_in


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("127.0.0.1", "loopback"),
        ("127.8.9.1", "loopback"),
        ("::1", "loopback"),
        ("169.254.1.1", "link-local"),
        ("fe80::1", "link-local"),
        ("fe80::1%1", "link-local"),
        ("169.254.169.254", "a metadata service"),
        ("fd00:ec2::254", "a metadata service"),
        ("100.100.100.200", "a metadata service"),
        ("168.63.129.16", "a metadata service"),
        ("0.0.0.0", "unspecified"),  # noqa: S104
        ("0.1.2.3", "unspecified"),
        ("::", "unspecified"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "multicast"),
        ("ff02::1", "multicast"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:169.254.169.254", "a metadata service"),
        ("::127.0.0.1", "loopback"),
        ("64:ff9b::7f00:1", "loopback"),
        ("64:ff9b::a9fe:a9fe", "a metadata service"),
        ("2002:7f00:1::", "loopback"),
        ("10.0.0.1", ""),
        ("192.168.1.1", ""),
        ("8.8.8.8", ""),
        ("::ffff:10.0.0.1", ""),
        ("fd00::1", ""),
        ("2001:4860:4860::8888", ""),
    ],
)
def test_kinds_of_addresses(host: str, kind: str) -> None:
    assert kind_of(ip_address(host)) == kind
    guard = AddressGuard([])
    if kind:
        with pytest.raises(AddressError, match=kind):
            guard.check(host)
    else:
        guard.check(host)


@given(st.ip_addresses(v=4))
def test_an_address_inside_of_another_one_is_the_same(address: IPv4Address) -> None:
    """No spelling of an IPv4 address opens what the address itself does not."""
    number = int(address)
    spelt = [
        IPv6Address((0xFFFF << 32) | number),
        IPv6Address((0x64FF9B << 96) | number),
        IPv6Address((0x2002 << 112) | (number << 80)),
    ]
    for each in spelt:
        assert kind_of(each) == kind_of(address)


@given(st.ip_addresses())
def test_what_is_allowed_is_allowed_and_nothing_else(address: IPv4Address | IPv6Address) -> None:
    AddressGuard([str(address)]).check(str(address))
    other = AddressGuard(["127.0.0.0/8"])
    if kind_of(address) and "loopback" not in kind_of(address):
        with pytest.raises(AddressError):
            other.check(str(address))


def test_a_mapped_address_is_allowed_with_its_own_network() -> None:
    AddressGuard(["127.0.0.0/8"]).check("::ffff:127.0.0.1")
    with pytest.raises(AddressError):
        AddressGuard(["127.0.0.0/8"]).check("::1")


class Names(aiohttp.abc.AbstractResolver):
    """A resolver that says for every name that it is loopback."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[aiohttp.abc.ResolveResult]:
        return [
            {
                "hostname": host,
                "host": "127.0.0.1",
                "port": port,
                "family": socket.AF_INET,
                "proto": 0,
                "flags": 0,
            }
        ]

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f.1", "worker.example"])
@pytest.mark.parametrize("allowed", [[], ["127.0.0.0/8"]])
async def test_the_address_that_is_connected_to_is_checked(host: str, allowed: list[str]) -> None:
    """Whatever the URL calls it, and whatever a name server answers."""
    came: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        came.append(request.host)
        return web.Response()

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    guard = AddressGuard(allowed)
    connector = aiohttp.TCPConnector(socket_factory=guard.socket, resolver=Names())
    try:
        async with aiohttp.ClientSession(connector=connector) as session:
            if allowed:
                async with session.get(f"http://{host}:{port}/") as response:
                    assert response.status == 200
            else:
                with pytest.raises(aiohttp.ClientConnectorError) as caught:
                    await session.get(f"http://{host}:{port}/")
                assert "address is loopback" in refusal_in(caught.value.os_error)
    finally:
        await runner.cleanup()
    assert bool(came) == bool(allowed)


def test_a_refusal_is_told_from_other_faults_of_the_same_name() -> None:
    guard = AddressGuard([])
    with pytest.raises(AddressError) as caught:
        guard.check("127.0.0.1")
    both = OSError(f"Multiple exceptions: [Errno 111] Connect call failed, {caught.value}")
    assert refusal_in(both) == refusal_in(caught.value) == str(caught.value)
    assert refusal_in(OSError("[Errno 111] Connect call failed")) == ""

"""Requests that come from elsewhere: by another name, from another page."""

from __future__ import annotations

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from web.guard import check

HOSTS = ("page.example", "192.0.2.7")


def refused(method: str = "GET", *, is_data: bool = True, **headers: str | list[str]) -> str:
    """Why the request is refused; empty if it is not."""
    found: CIMultiDict[str] = CIMultiDict()
    for name, values in headers.items():
        for value in [values] if isinstance(values, str) else values:
            found.add(name.replace("_", "-"), value)
    fault = check(method, CIMultiDictProxy(found), HOSTS, is_data=is_data)
    assert fault is None or (fault.status, fault.reason) == (403, "Misdirected")
    return fault.message if fault is not None else ""


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.0.0.1:9445", "127.9.9.9:1", "localhost:9445", "LocalHost", "localhost.", "[::1]:80", "[::1]",
     "page.example", "PAGE.example:443", "192.0.2.7:9445"],
)  # fmt: skip
def test_our_names(host: str) -> None:
    assert refused(Host=host) == ""


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:9445", "127.0.0.1.evil.example", "page.example.evil", "192.0.2.8", "0.0.0.0:9445",
     "", " ", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1 evil", "a@127.0.0.1", "127.0.0.1/", "[::1", "localhost..",
     "2130706433", "localhost\u0130", "127.0.0.1#"],
)  # fmt: skip
@pytest.mark.parametrize("is_data", [True, False])
def test_names_of_others_also_for_the_page_itself(host: str, is_data: bool) -> None:
    assert "Host" in refused(is_data=is_data, Host=host)


def test_one_header_host_is_needed() -> None:
    assert "Host" in refused()
    assert "Host" in refused(Host=["127.0.0.1", "evil.example"])
    assert "Host" in refused(Host=["127.0.0.1", "127.0.0.1"])


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "SAME-ORIGIN", "other"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_data_is_for_our_own_page(method: str, site: str) -> None:
    """All ports of a computer are the same site."""
    assert "Sec-Fetch-Site" in refused(method, Host="localhost", Sec_Fetch_Site=site)


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_our_own_page_and_an_address_that_was_typed_in_get_data(site: str) -> None:
    assert refused("GET", Host="localhost:1", Sec_Fetch_Site=site, Origin="http://localhost:1") == ""


def test_a_link_from_elsewhere_opens_the_page() -> None:
    assert refused("GET", is_data=False, Host="localhost", Sec_Fetch_Site="cross-site") == ""
    assert refused("POST", is_data=False, Host="localhost", Sec_Fetch_Site="cross-site") != ""


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://127.0.0.1:8000", "http://127.0.0.1", "null", "", "127.0.0.1:9445",
     "file://", "ftp://127.0.0.1:9445", "http://127.0.0.1:9445.evil.example", "http://localhost:9445"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_origin_gets_no_data(method: str, origin: str) -> None:
    assert "Origin" in refused(method, Host="127.0.0.1:9445", Origin=origin)


@pytest.mark.parametrize(
    ("host", "origin"), [("127.0.0.1:9", "http://127.0.0.1:9"), ("Page.example", "https://page.example")]
)
def test_the_own_origin_gets_data(host: str, origin: str) -> None:
    """Whoever ends TLS before us may leave the scheme another one."""
    assert refused("POST", Host=host, Origin=origin) == ""

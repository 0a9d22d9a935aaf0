"""Which requests come from our own page: by Host, Origin and Sec-Fetch-Site. Pure. And the headers of each answer.

A page of another site can have the browser send requests here. By DNS rebinding it can even read the answers, and its
name is in Host then.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from multidict import CIMultiDictProxy

from serving.addresses import is_loopback
from web.errors import Refused, misdirected

__all__ = ["HEADERS", "check"]

AUTHORITY: Final = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[a-z0-9._-]+?)\.?)(?::[0-9]{1,5})?")
SAFE: Final = frozenset({"GET", "HEAD"})
OURS: Final = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site: our own page asks, or nobody's page does (an address that was typed in)."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "reprieve",
}
"""Of each answer."""


def check(
    method: str, headers: CIMultiDictProxy[str], hosts: Collection[str], *, is_data: bool
) -> Refused | None:
    """None if the request may be answered. `hosts`: our names besides loopback ones.

    `is_data`: it asks for data. A link from elsewhere may open the page itself.
    """
    named = headers.getall("Host", list[str]())
    host = _host(named[0]) if len(named) == 1 else ""
    if not host:
        return misdirected("the request must have one header Host, with the name of this server")
    if not is_loopback(host) and host not in hosts:
        return misdirected("the name in the header Host is neither a loopback address nor in page.hosts")
    if not is_data and method in SAFE:
        return None
    if headers.get("Sec-Fetch-Site", "none") not in OURS:
        return misdirected("the request comes from another site (Sec-Fetch-Site)")
    if (origin := headers.get("Origin")) is not None and not _is_same(origin, named[0]):
        return misdirected("the request comes from another origin (Origin)")
    return None


def _host(authority: str) -> str:
    """The name or address in a header Host. Empty if it is no such header."""
    found = AUTHORITY.fullmatch(authority.lower())
    return (found["address"] or found["name"]) if found is not None else ""


def _is_same(origin: str, host: str) -> bool:
    scheme, separator, authority = origin.lower().partition("://")
    return bool(separator) and scheme in ("http", "https") and authority == host.lower()

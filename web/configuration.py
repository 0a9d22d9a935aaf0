"""The page's part of the Configuration file."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Final

from msgspec import Meta, field

from api.validation import FieldError
from serving.addresses import is_loopback
from serving.sections import Count, FilePath, GuardedListener, Poll, Port, Seconds, Section

__all__ = ["CertificateConfiguration", "PageConfiguration", "check_page"]

Name = Annotated[str, Meta(min_length=1, max_length=253)]
HOST: Final = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


class CertificateConfiguration(Section, kw_only=True):
    """The serving certificate: paths of PEM files.

    pollSeconds: between two looks at the files, which are read again when they change.
    """

    cert_file: FilePath
    key_file: FilePath
    poll_seconds: Poll = 10


class PageConfiguration(GuardedListener, kw_only=True):
    """The listener for browsers. Another address than loopback needs `tls` and `hosts`.

    hosts: the names by which browsers reach it, without ports, besides loopback ones.
    recheckSeconds: how long an answer of the API server counts about who somebody is and what they may list.
    sessionSeconds: how long somebody stays logged in at most.
    """

    bind_address: str = "127.0.0.1"
    port: Port = 9445
    max_body_bytes: Count = 64 * 1024
    read_timeout_seconds: Seconds = 5
    tls: CertificateConfiguration | None = None
    hosts: list[Name] = field(default_factory=list)
    recheck_seconds: Annotated[float, Meta(ge=1, le=600)] = 30
    session_seconds: Annotated[float, Meta(ge=60, le=7 * 86400)] = 8 * 3600


def check_page(page: PageConfiguration) -> None:
    """Raises FieldError for settings that do not go together."""
    for index, host in enumerate(page.hosts):
        if not _is_host(host):
            raise FieldError(
                f"page.hosts[{index}]", "must be a name in lower case, or an address, without a port"
            )
    if is_loopback(page.bind_address):
        return
    if page.tls is None:
        raise FieldError(
            "page.tls", f"is missing: page.bindAddress is {page.bind_address}, no loopback address"
        )
    if not page.hosts:
        raise FieldError(
            "page.hosts", f"is empty: page.bindAddress is {page.bind_address}, no loopback address"
        )


def _is_host(host: str) -> bool:
    try:
        return str(ipaddress.ip_address(host)) == host
    except ValueError:
        return HOST.fullmatch(host) is not None

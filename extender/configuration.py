"""The extender's part of the Configuration file."""

from __future__ import annotations

import ipaddress

from msgspec import field

from api.validation import FieldError
from serving.sections import FilePath, GuardedListener, Poll, Port, Section

__all__ = [
    "ExtenderConfiguration",
    "TLSConfiguration",
    "check_extender",
]


class TLSConfiguration(Section):
    """Mutual TLS: our certificate, and the CA of those who may call. Paths of PEM files.

    pollSeconds: between two looks at the files, which are read again when they change.
    """

    cert_file: FilePath
    key_file: FilePath
    client_ca_file: FilePath = field(name="clientCAFile")
    poll_seconds: Poll = 10


class ExtenderConfiguration(GuardedListener, kw_only=True):
    """The listener that kube-scheduler calls. Without `tls` it needs `plainHTTP` and a loopback address."""

    port: Port = 9443
    tls: TLSConfiguration | None = None
    plain_http: bool = field(name="plainHTTP", default=False)


def check_extender(extender: ExtenderConfiguration) -> None:
    """Raises FieldError for settings that do not go together."""
    if extender.tls is not None:
        if extender.plain_http:
            raise FieldError("extender.plainHTTP", "cannot be true beside extender.tls")
    elif not extender.plain_http:
        raise FieldError(
            "extender.tls", "is missing (plainHTTP: true does without it, on a loopback address only)"
        )
    elif not _is_loopback(extender.bind_address):
        raise FieldError(
            "extender.bindAddress", f"must be a loopback address with plainHTTP, not {extender.bind_address}"
        )


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"

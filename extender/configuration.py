"""The extender's part of the Configuration file."""

from __future__ import annotations

import os
from typing import Annotated, Final

from msgspec import Meta, field

from api.validation import FieldError
from serving.addresses import is_loopback
from serving.sections import FilePath, GuardedListener, Poll, Port, Seconds, Section

__all__ = [
    "POD_IP",
    "ExtenderConfiguration",
    "PeersConfiguration",
    "TLSConfiguration",
    "check_extender",
    "own_address",
]

POD_IP: Final = "POD_IP"
"""The environment variable with the address of our own Pod."""
Name = Annotated[str, Meta(min_length=1)]


class TLSConfiguration(Section):
    """Mutual TLS: our certificate, and the CA of those who may call. Paths of PEM files.

    pollSeconds: between two looks at the files, which are read again when they change.
    """

    cert_file: FilePath
    key_file: FilePath
    client_ca_file: FilePath = field(name="clientCAFile")
    poll_seconds: Poll = 10


class PeersConfiguration(Section):
    """How a replica that does not lead passes a call on to the one that leads.

    host: where the other replicas reach this one; null: the environment variable POD_IP. serverName: a name that the
    certificates of all replicas have. filterSeconds, preemptSeconds: how long the other one may take. What is left of
    the scheduler's httpTimeout is for the answer that this replica then gives itself.
    """

    host: Name | None = None
    server_name: Name = "reprieve.reprieve-system.svc"
    filter_seconds: Seconds = 0.4
    preempt_seconds: Seconds = 1.5


class ExtenderConfiguration(GuardedListener, kw_only=True):
    """The listener that kube-scheduler calls. Without `tls` it needs `plainHTTP` and a loopback address."""

    port: Port = 9443
    tls: TLSConfiguration | None = None
    plain_http: bool = field(name="plainHTTP", default=False)
    peers: PeersConfiguration = field(default_factory=PeersConfiguration)


def check_extender(extender: ExtenderConfiguration) -> None:
    """Raises FieldError for settings that do not go together."""
    if extender.tls is not None:
        if extender.plain_http:
            raise FieldError("extender.plainHTTP", "cannot be true beside extender.tls")
    elif not extender.plain_http:
        raise FieldError(
            "extender.tls", "is missing (plainHTTP: true does without it, on a loopback address only)"
        )
    elif not is_loopback(extender.bind_address):
        raise FieldError(
            "extender.bindAddress", f"must be a loopback address with plainHTTP, not {extender.bind_address}"
        )


def own_address(extender: ExtenderConfiguration) -> str:
    """HOST:PORT at which other replicas reach this one; empty if that is not known."""
    host = extender.peers.host or os.environ.get(POD_IP, "")
    if not host or not extender.port:
        return ""
    return f"[{host}]:{extender.port}" if ":" in host else f"{host}:{extender.port}"

"""Sections of the Configuration file that several services have."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

__all__ = [
    "Count",
    "FilePath",
    "GuardedListener",
    "Listener",
    "OpsConfiguration",
    "Poll",
    "Port",
    "Seconds",
    "Section",
]

Port = Annotated[int, Meta(ge=0, le=65535)]
"""A TCP port. 0 lets the system choose."""
Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0, le=86400)]
Poll = Annotated[float, Meta(gt=0, le=60)]
"""The seconds between two checks whether something has changed."""
FilePath = Annotated[str, Meta(min_length=1)]


class Section(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Base class of every section: camelCase names, and no unknown fields."""


class Listener(Section, kw_only=True):
    """The address and port of a service."""

    bind_address: str = "0.0.0.0"  # noqa: S104 - nobody knows a Pod's address beforehand
    port: Port


class GuardedListener(Listener, kw_only=True):
    """A listener with limits for requests, because not only the kubelet calls it.

    readTimeoutSeconds is the time for the head of a request, and again for its body.
    """

    max_body_bytes: Count = 16 * 1024 * 1024
    read_timeout_seconds: Seconds = 2
    max_concurrent_requests: Count = 64
    max_connections: Count = 1024


class OpsConfiguration(Listener, kw_only=True):
    """The listener for probes and metrics. It speaks plain HTTP."""

    port: Port = 9080

"""Addresses that only this computer reaches."""

from __future__ import annotations

import ipaddress

__all__ = ["is_loopback"]


def is_loopback(address: str) -> bool:
    """Whether it is a loopback address (127.0.0.0/8 or ::1), or the name of one."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"

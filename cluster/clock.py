"""Kubernetes' times: RFC 3339 on the wire, seconds since the epoch inside."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ["parse_rfc3339", "rfc3339_micro_now", "rfc3339_now"]


def rfc3339_now() -> str:
    """The present as meta/v1 Time has it: UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro_now() -> str:
    """The present as meta/v1 MicroTime has it: UTC, microseconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_rfc3339(text: str) -> float:
    """Seconds since the epoch; a time without a zone is UTC. Raises ValueError for what is no time."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()

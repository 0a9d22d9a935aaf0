"""What the conditions of a MultiKueueCluster say. Pure. Reasons and messages are Kueue's where it has them (MK 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from api.times import rfc3339

__all__ = ["ACTIVE", "CONNECTED", "Activity"]

ACTIVE: Final = "Active"
FAILED: Final = "ClientConnectionFailed"
LOADING: Final = "load client config failed: "


@dataclass(frozen=True, slots=True)
class Activity:
    """Whether a cluster is active, and why not."""

    reason: str
    text: str
    """Without attempts."""
    attempts: int = 0
    """How many attempts have failed in a row."""
    next_attempt: float = 0.0
    """When the next one begins, in seconds since 1970."""

    @property
    def is_active(self) -> bool:
        """Whether there is a connection."""
        return self.reason == ACTIVE

    @property
    def message(self) -> str:
        """The message of the condition."""
        if not self.attempts:
            return self.text
        when = rfc3339(self.next_attempt)
        return f"{self.text}; connection attempts: {self.attempts}, next connection attempt: {when}"

    @classmethod
    def unloaded(cls, reason: str, error: str) -> Activity:
        """There is no kubeconfig that can be used."""
        return cls(reason, f"{LOADING}{error}")

    @classmethod
    def unconnected(cls, error: str, reason: str = FAILED) -> Activity:
        """The connection failed, or was lost."""
        return cls(reason, error)


CONNECTED: Final = Activity(ACTIVE, "Connected")

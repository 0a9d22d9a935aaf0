"""placeholder until P1 is merged"""

from enum import StrEnum


class Proof(StrEnum):
    """x."""

    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"

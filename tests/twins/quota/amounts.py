"""Sums of amounts in 64 bits, as Kueue's resources.Amount: unlimited stays unlimited, all else stays below it."""

from __future__ import annotations

from tests.twins.quota.quotas import UNLIMITED

__all__ = ["add", "subtract"]

LEAST = -(2**63)


def _bounded(value: int) -> int:
    return max(LEAST, min(value, UNLIMITED - 1))


def add(a: int, b: int) -> int:
    """`a + b`."""
    return UNLIMITED if UNLIMITED in (a, b) else _bounded(a + b)


def subtract(a: int, b: int) -> int:
    """`a - b`; nothing is left of anything else once an unlimited amount is taken of it."""
    if a == b:
        return 0
    if a == UNLIMITED:
        return UNLIMITED
    return LEAST if b == UNLIMITED else _bounded(a - b)

"""Reads quantities in objects of unknown shape."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from api.quantity import Quantity, QuantityError, parse

__all__ = ["ZERO", "is_negative", "quantity"]

ZERO: Final = Quantity(0, 0)
SHORT: Final = 64
"""In characters. Longer quantities are not cached: users do not write them, and they would fill the memory."""


def quantity(value: Any) -> Quantity | None:
    """The quantity; None for null and for an invalid quantity. Decoding refuses the invalid one."""
    kind = type(value)
    if kind is str:
        return _of_short(value) if len(value) <= SHORT else _of_text(value)
    if kind is not int and kind is not float:
        return None
    try:
        return parse(value)
    except QuantityError:
        return None


def is_negative(value: Any) -> bool:
    """Whether it is a quantity below zero."""
    if type(value) is str and "-" not in value:
        return False
    amount = quantity(value)
    return amount is not None and ZERO.exceeds(amount)


@lru_cache(maxsize=1 << 14)
def _of_short(text: str) -> Quantity | None:
    return _of_text(text)


def _of_text(text: str) -> Quantity | None:
    try:
        return parse(text)
    except QuantityError:
        return None

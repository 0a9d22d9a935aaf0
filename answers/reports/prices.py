"""Prices as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Final

from answers.reports.costs import Prices
from api.requests import is_extended

__all__ = ["price_of", "prices_of"]

AMOUNT: Final = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
"""Neither a sign nor an exponent: so it is finite, and not negative."""


def price_of(text: str) -> tuple[str, Decimal]:
    """What an hour of a resource costs, written as `nvidia.com/gpu=2.5`. Raises ValueError."""
    resource, sign, amount = text.partition("=")
    if not sign:
        raise ValueError(f"{text!r} is no price such as nvidia.com/gpu=2.5")
    if resource not in ("cpu", "memory") and not is_extended(resource):
        raise ValueError(f"{resource!r} is neither cpu, memory nor a device such as nvidia.com/gpu")
    if not AMOUNT.fullmatch(amount):
        raise ValueError(f"{amount!r} is no amount such as 2.5")
    return resource, Decimal(amount)


def prices_of(given: Iterable[tuple[str, Decimal]]) -> Prices:
    """By resource. Raises ValueError for one that has two prices."""
    prices = dict[str, Decimal]()
    for resource, price in given:
        if resource in prices:
            raise ValueError(f"{resource} has two prices")
        prices[resource] = price
    return prices

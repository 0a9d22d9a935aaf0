"""Prices in options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import click

from answers.reports.costs import Prices
from api.requests import is_extended

__all__ = ["Price", "prices_of"]

AMOUNT: Final = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")
"""Neither a sign nor an exponent: so it is finite, and not negative."""


class Price(click.ParamType[tuple[str, Decimal]]):
    """What an hour of a resource costs, written as nvidia.com/gpu=2.5."""

    name = "price"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Decimal]:
        """See click."""
        if isinstance(value, tuple):
            return value
        resource, sign, amount = value.partition("=")
        if not sign:
            self.fail(f"{value!r} is no price such as nvidia.com/gpu=2.5", param, ctx)
        if resource not in ("cpu", "memory") and not is_extended(resource):
            self.fail(f"{resource!r} is neither cpu, memory nor a device such as nvidia.com/gpu", param, ctx)
        if not AMOUNT.fullmatch(amount):
            self.fail(f"{amount!r} is no amount such as 2.5", param, ctx)
        return resource, Decimal(amount)


def prices_of(context: click.Context, param: click.Parameter, given: Sequence[tuple[str, Decimal]]) -> Prices:
    """By resource. Each may have one price."""
    prices = dict(given)
    if len(prices) < len(given):
        names = [name for name, _ in given]
        twice = next(name for name in names if names.count(name) > 1)
        raise click.BadParameter(f"{twice} has two prices", context, param)
    return prices

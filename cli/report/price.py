"""Prices in options."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import click

from answers.reports import prices
from answers.reports.costs import Prices

__all__ = ["Price", "prices_of"]


class Price(click.ParamType[tuple[str, Decimal]]):
    """What an hour of a resource costs, written as nvidia.com/gpu=2.5."""

    name = "price"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Decimal]:
        """See click."""
        if isinstance(value, tuple):
            return value
        try:
            return prices.price_of(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def prices_of(context: click.Context, param: click.Parameter, given: Sequence[tuple[str, Decimal]]) -> Prices:
    """By resource. Each may have one price."""
    try:
        return prices.prices_of(given)
    except ValueError as error:
        raise click.BadParameter(str(error), context, param) from None

"""Durations in options."""

from __future__ import annotations

from typing import Any

import click

from api.durations import parse_span

__all__ = ["Duration"]


class Duration(click.ParamType[int]):
    """Seconds, written as 90s, 30m, 2h, 1h30m or 7d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See click."""
        if isinstance(value, int):
            return value
        try:
            return parse_span(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)

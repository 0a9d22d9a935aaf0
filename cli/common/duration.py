"""Durations in options."""

from __future__ import annotations

import re
from typing import Any, Final

import click

__all__ = ["Duration"]

UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION: Final = re.compile(r"(?:\d+[smhd])+")
LONGEST_SECONDS: Final = 366 * 86400


class Duration(click.ParamType[int]):
    """Seconds, written as 90s, 30m, 2h, 1h30m or 7d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """See click."""
        if isinstance(value, int):
            return value
        if not DURATION.fullmatch(value):
            self.fail(f"{value!r} is no duration such as 30m, 2h or 1h30m", param, ctx)
        seconds = sum(int(number) * UNITS[unit] for number, unit in re.findall(r"(\d+)([smhd])", value))
        if not 0 < seconds <= LONGEST_SECONDS:
            self.fail(f"{value!r} is not between a second and a year", param, ctx)
        return seconds

"""A figure of `bench.page` beside its aim, and the figures that are made of times alone. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rich.table import Table

__all__ = ["Figure", "delays", "shown", "table_of"]


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured."""

    what: str
    value: float
    aim: float | None
    """None if the figure has no aim."""
    unit: str = ""
    """Empty for a ratio."""
    at_least: bool = False
    """The aim is the least. Otherwise it is the most."""
    remark: str = ""

    @property
    def is_met(self) -> bool:
        """Whether it is as it should be. What was not measured is not."""
        if self.aim is None:
            return True
        return self.value >= self.aim if self.at_least else self.value <= self.aim


def shown(value: float, unit: str) -> str:
    """The number with its unit."""
    if math.isnan(value):
        return "not measured"
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2
    return f"{value:,.{digits}f}{' ' * bool(unit)}{unit}"


def table_of(title: str, figures: Sequence[Figure]) -> Table:
    """A row for each. Ratios come first."""
    table = Table("", "measured", "aim", "", "", title=title, title_justify="left")
    for each in sorted(figures, key=lambda figure: bool(figure.unit)):
        sign = "at least" if each.at_least else "at most"
        aim = "" if each.aim is None else f"{sign} {shown(each.aim, each.unit)}"
        says: Any = "" if each.aim is None else "[green]met[/]" if each.is_met else "[red]missed[/]"
        table.add_row(each.what, shown(each.value, each.unit), aim, says, each.remark)
    return table


def delays(sent: Sequence[float], heard: Sequence[Sequence[float]]) -> list[float]:
    """How long after each change the last stream had it. Times in seconds, in their order.

    A stream has a change with the last event that came before the next change, or else with the first one after that.
    After the last change, `sent` has one more time: when the measurement ended. A stream that got nothing more is not
    known to have the change, and counts as if it had it at the end.
    """
    return [
        max(_had(times, begins, ends, sent[-1]) for times in heard) - begins
        for begins, ends in pairwise(sent)
    ]


def _had(times: Sequence[float], begins: float, ends: float, last: float) -> float:
    first, after = bisect_right(times, begins), bisect_left(times, ends)
    if first < after:
        return times[after - 1]
    return times[after] if after < len(times) else last

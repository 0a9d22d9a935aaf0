"""What a report says of costs: four lines that have nothing in common, and their sum. Each is an upper bound.

Pure. Amounts are exact until they are printed: Python's fractions of hours, and of money.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, NamedTuple

from api.instead import LINES, Costs, ResourceSeconds, beyond_ours

__all__ = ["Bill", "Line", "Prices", "bill_of", "seconds_of"]

Prices = Mapping[str, Decimal]
"""By resource: what an hour of a core, a GiB or a device costs."""
HOUR: Final = 3600
DEVICE: Final = "nvidia.com/gpu"
NAMES: Final[Mapping[str, str]] = {
    "servedNobody": "lost work of victims that served nobody",
    "idleRemainders": "idle remainders of broken groups",
    "heldInPieces": "room that gangs in pieces held",
    "beyondOurs": "lost work of victims beyond ours",
}


class Line(NamedTuple):
    """One line of the costs, or their sum."""

    key: str
    """For programs."""
    name: str
    hours: Fraction
    money: Fraction | None
    """None without prices."""

    @property
    def shown_hours(self) -> str:
        """With two decimals."""
        return shown(self.hours)

    @property
    def shown_money(self) -> str:
        """With two decimals; empty without prices."""
        return shown(self.money) if self.money is not None else ""

    def plain(self) -> dict[str, Any]:
        """For programs. Money is a text, so that nobody rounds it."""
        money = self.shown_money if self.money is not None else None
        return {"name": self.key, "hours": float(self.shown_hours), "money": money}


@dataclass(frozen=True, slots=True)
class Bill:
    """How costs are counted in one report."""

    resource: str
    """Hours are of this one alone."""
    prices: Prices

    def lines(self, costs: Costs) -> list[Line]:
        """The four lines."""
        amounts = costs.served_nobody, costs.idle_remainders, costs.held_in_pieces, beyond_ours(costs)
        return [
            Line(key, name, self._hours(each), self._money(each))
            for (key, name), each in zip(NAMES.items(), amounts, strict=True)
        ]

    def total(self, costs: Costs) -> Line:
        """Their sum."""
        lines = self.lines(costs)
        money = sum(each.money or 0 for each in lines) if self.prices else None
        hours = sum((each.hours for each in lines), Fraction())
        return Line("sum", "sum", hours, Fraction(money) if money is not None else None)

    def cost(self, costs: Costs) -> Fraction:
        """By which decisions are compared: money if there are prices, else hours."""
        total = self.total(costs)
        return total.money if total.money is not None else total.hours

    def without_price(self, costs: Costs) -> list[str]:
        """Resources that were lost or held, and that have no price. Empty without prices."""
        lost = {name for line in LINES for name, seconds in getattr(costs, line).items() if seconds}
        return sorted(lost - self.prices.keys()) if self.prices else []

    def plain(self, costs: Costs) -> dict[str, Any]:
        """For programs."""
        return {
            "resource": self.resource,
            "prices": {name: str(price) for name, price in self.prices.items()},
            "lines": [each.plain() for each in self.lines(costs)],
            "sum": self.total(costs).plain(),
            "withoutPrice": self.without_price(costs),
        }

    def _hours(self, seconds: ResourceSeconds) -> Fraction:
        return Fraction(seconds.get(self.resource, 0), HOUR)

    def _money(self, seconds: ResourceSeconds) -> Fraction | None:
        if not self.prices:
            return None
        parts = (seconds.get(name, 0) * Fraction(price) for name, price in self.prices.items())
        return sum(parts, Fraction()) / HOUR


def bill_of(costs: Costs, prices: Prices) -> Bill:
    """Hours are of `nvidia.com/gpu` if these costs have any, else of CPU."""
    has_devices = any(getattr(costs, line).get(DEVICE) for line in LINES)
    return Bill(DEVICE if has_devices else "cpu", prices)


def seconds_of(costs: Costs) -> dict[str, Any]:
    """The amounts as they are stored, for programs: whole seconds by resource."""
    return {
        "servedNobody": costs.served_nobody,
        "idleRemainders": costs.idle_remainders,
        "heldInPieces": costs.held_in_pieces,
        "victims": costs.victims,
        "ours": costs.ours,
        "beyondOurs": beyond_ours(costs),
        "unknown": costs.unknown,
        "unknownOurs": costs.unknown_ours,
    }


def shown(amount: Fraction) -> str:
    """An amount that is not negative, with two decimals."""
    cents = (amount * 100 + Fraction(1, 2)) // 1
    return f"{cents // 100}.{cents % 100:02d}"

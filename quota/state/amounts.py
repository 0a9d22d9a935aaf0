"""Quantities as the quota search counts them (pkg/resources of Kueue).

Canonical units are thousandths of a CPU for cpu, and whole units for every other resource. Amounts are rounded up. A
quota that does not fit 64 bits is unlimited. A request that does not fit 64 bits is an error.
"""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from typing import Final

from api.quantity import Quantity, QuantityError, parse
from native.quota.quotas import UNLIMITED

__all__ = ["TOO_MUCH", "QuotaError", "fair_weight", "quota_amount", "request_amount", "shown"]

Given = str | int | float | Quantity | None
"""A quantity as text or number, or already parsed. Null means zero."""

CPU: Final = "cpu"
MILLI: Final = 3
MAX_QUOTA: Final = {True: UNLIMITED // 1000 * 1000, False: UNLIMITED}
"""A quota of this size or more is unlimited. The key says whether the resource is cpu: its limit is the largest number
of whole CPUs."""
DIGITS: Final = 20
"""A number with more digits than this does not fit 64 bits."""
BYTES: Final = frozenset({"memory", "ephemeral-storage"})
HUGE_PAGES: Final = "hugepages-"
KIBI: Final = 1024
"""Fewer bytes are written with decimal suffixes, as by Kubernetes: 1000 bytes are `1k`."""
DECIMAL: Final = ("", "k", "M", "G", "T", "P", "E")
BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
TOO_MUCH: Final = "is too much: it does not fit 64 bits"
LEAST_WEIGHT: Final = Decimal("1e-9")


class QuotaError(ValueError):
    """An object that the quota search cannot use."""

    def __init__(self, subject: str, field: str, problem: str) -> None:
        """`subject` is the object, such as `Workload ns/name`, or "" if only the caller knows it.

        `field` is the path of the field, such as `spec.podSets[0].name`.
        """
        super().__init__(": ".join(part for part in (subject, field, problem) if part))
        self.subject, self.field, self.problem = subject, field, problem


def quota_amount(resource: str, quantity: Given, subject: str, field: str) -> int:
    """A nominal quota or a limit in canonical units: 0 or more; UNLIMITED if it does not fit 64 bits. Raises
    QuotaError."""
    amount = _amount(resource == CPU, quantity, subject, field)
    return UNLIMITED if amount >= MAX_QUOTA[resource == CPU] else amount


def request_amount(resource: str, quantity: Given, subject: str, field: str) -> int:
    """A requested or used amount in canonical units: 0 or more, below UNLIMITED. Raises QuotaError."""
    amount = _amount(resource == CPU, quantity, subject, field)
    if amount >= UNLIMITED:
        raise QuotaError(subject, field, TOO_MUCH)
    return amount


def fair_weight(quantity: Given, subject: str, field: str) -> float:
    """A weight of fair sharing: 0, or more than 1n, as Kueue's webhook requires. Raises QuotaError."""
    weight = _decimal(_parsed(quantity, subject, field))
    if weight < 0:
        raise QuotaError(subject, field, "must be greater than or equal to 0")
    if 0 < weight <= LEAST_WEIGHT:
        raise QuotaError(subject, field, "must be more than 1n where it is not 0")
    return float(weight)


def shown(resource: str, amount: int) -> str:
    """An amount as kubectl shows it, and as Kueue writes it: `1500m` of cpu, `2Gi` of memory, `unlimited`."""
    if amount >= UNLIMITED:
        return "unlimited"
    if resource == CPU and amount % 1000:
        return f"{amount}m"
    whole = amount // 1000 if resource == CPU else amount
    is_bytes = resource in BYTES or resource.startswith(HUGE_PAGES)
    step, suffixes = (1024, BINARY) if is_bytes and whole >= KIBI else (1000, DECIMAL)
    power = 0
    while whole and whole % step == 0 and power < len(suffixes) - 1:
        whole, power = whole // step, power + 1
    return f"{whole}{suffixes[power]}"


def _amount(cpu: bool, quantity: Given, subject: str, field: str) -> int:
    if type(quantity) is str:
        amount = _of_text(cpu, quantity)
        if amount is not None:
            return amount
    parsed = _parsed(quantity, subject, field)
    if parsed.unscaled < 0:
        raise QuotaError(subject, field, "must be greater than or equal to 0")
    return _canonical(cpu, parsed)


@lru_cache(maxsize=1 << 14)
def _of_text(cpu: bool, text: str) -> int | None:
    """The amount in canonical units, or None if the text is negative or not a quantity.

    The cache makes this fast for texts that occur again and again.
    """
    try:
        parsed = parse(text)
    except QuantityError:
        return None
    return None if parsed.unscaled < 0 else _canonical(cpu, parsed)


def _parsed(quantity: Given, subject: str, field: str) -> Quantity:
    if isinstance(quantity, Quantity):
        return quantity
    try:
        return parse(quantity)
    except QuantityError as error:
        raise QuotaError(subject, field, str(error)) from None


def _canonical(cpu: bool, quantity: Quantity) -> int:
    """A quantity of 0 or more in canonical units, rounded up. It is UNLIMITED if it is that large or larger."""
    places = quantity.exponent + (MILLI if cpu else 0)
    if quantity.unscaled and places > DIGITS:
        return UNLIMITED
    if places >= 0:
        return min(UNLIMITED, quantity.unscaled * int(10**places))
    # More decimal places than this can only say whether the quantity is zero.
    divisor = int(10 ** min(-places, quantity.unscaled.bit_length() + 1))
    return min(UNLIMITED, -(-quantity.unscaled // divisor))


def _decimal(quantity: Quantity) -> Decimal:
    # This is exact. Arithmetic would round, and Python limits the length of numbers in text.
    sign, digits, _ = Decimal(quantity.unscaled).as_tuple()
    return Decimal((sign, digits, quantity.exponent))

"""Resource quantities, equal to apimachinery's `resource.Quantity` on every input (v0.37.1).

apimachinery keeps a quantity in one of two forms: *small* (an int64 and a power of ten) or *big* (a decimal of any
size). The form depends on the text. The two forms round negative numbers differently, and they overflow differently
beyond int64. So this module has both forms. Overflow follows Go on amd64. Every function takes time in proportion to
the text. Sums and comparisons are exact up to FAR.

See docs/decisions/0020.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from api.words import shown

__all__ = ["CACHED_LENGTH", "MILLI", "Quantity", "QuantityError", "parse", "value"]

NANO: Final = -9
MILLI: Final = -3
SMALL_DIGITS: Final = 18
"""The maximum number of digits in the small form."""
MAX_INT64: Final = 2**63 - 1
MIN_INT64: Final = -(2**63)
ONE_STEP: Final = (1, 2, 3, 6, 9)
"""Powers of ten by which the small form multiplies in one step, and keeps the low bits. Other powers give 0."""
FAR: Final = 4096
"""The maximum power of ten. Numbers are cut here, because 10**2147483647 would fill the memory.

The low 64 bits are zero long before. A number of 10**FAR nano units or more keeps only its last digits, which decide
the result of an overflow. Such a number is greater than any smaller number, but two of them cannot be compared.
"""
CACHED_LENGTH: Final = 64
"""Longer texts are not cached. No valid quantity is longer in practice, and such texts would fill the cache."""

INT64_DIGITS: Final = 19

# The pattern never backtracks, like apimachinery's scanner. Backtracking would take the cube of the length.
SPLIT: Final = re.compile(r"([+-]?)(0*+)([0-9]*+)(?:\.([0-9]*+))?+([eEinumkKMGTP]*+[+-]?[0-9]*+)")
DECIMAL_SUFFIXES: Final = {
    "": 0,
    "n": -9,
    "u": -6,
    "m": -3,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
BINARY_SUFFIXES: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
EXPONENT: Final = re.compile(r"[eE]([+-]?)0*+([0-9]*+)(?<=[0-9])")
SPACE: Final = " \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""The characters that apimachinery trims from a JSON string before it decodes escapes. Tabs and newlines stay."""


class QuantityError(ValueError):
    """A value is not a quantity. The message shows the value."""


class Quantity(NamedTuple):
    """The number unscaled * 10**exponent. `big` tells apimachinery's two forms apart (see the module)."""

    unscaled: int
    exponent: int
    big: bool = False

    def scaled(self, scale: int) -> int:
        """ScaledValue: the number in units of 10**scale, rounded up. An int64 that overflows as in Go."""
        if self.big:
            return _scaled_big(self.unscaled, self.exponent - scale)
        if self.exponent < scale:
            return _away_from_zero(self.unscaled, scale - self.exponent)
        places = _int32(self.exponent - scale)
        scaled = _scaled_up(self.unscaled, places)
        if scaled is None:
            return _int64(self.unscaled * int(10**places)) if places in ONE_STEP else 0
        return scaled

    def add(self, other: Quantity) -> Quantity:
        """The sum. It is big if one of the two is big, or if it leaves the range of the small form."""
        if not self.big and not other.big:
            total = _add_small(self, other)
            if total is not None:
                return total
        left, right = self.as_big(), other.as_big()
        exponent = min(left.exponent, right.exponent)
        return Quantity(left._at(exponent) + right._at(exponent), exponent, big=True)

    def exceeds(self, other: Quantity) -> bool:
        """Whether this quantity is greater than the other one."""
        if self.exponent == other.exponent:
            return self.unscaled > other.unscaled
        left, right = self.as_big(), other.as_big()
        exponent = min(left.exponent, right.exponent)
        return left._at(exponent) > right._at(exponent)

    def as_big(self) -> Quantity:
        """The same number in the big form."""
        return self if self.big else Quantity(self.unscaled, min(self.exponent, FAR), big=True)

    def _at(self, exponent: int) -> int:
        return self.unscaled * int(10 ** (self.exponent - exponent))


def parse(quantity: str | int | float | None) -> Quantity:
    """The quantity of a value in a manifest. Null is zero, and surrounding space is trimmed.

    Raises QuantityError for a text that apimachinery refuses, and for a value that JSON cannot hold.
    """
    if type(quantity) is not str:
        return _parse(_text(quantity))
    try:
        return _parse_cached(quantity) if len(quantity) <= CACHED_LENGTH else _parse(quantity)
    except QuantityError:
        trimmed = quantity.strip(SPACE)
        if trimmed == quantity:
            raise
        return _parse(trimmed)


def value(quantity: str | int | float | None) -> int:
    """ParseQuantity and Value: whole units, rounded up. Raises QuantityError."""
    if type(quantity) is str and len(quantity) <= CACHED_LENGTH:
        return _value(quantity)
    return _parse(_text(quantity)).scaled(0)


@lru_cache(maxsize=1 << 14)
def _value(text: str) -> int:
    return _parse(text).scaled(0)


def _text(quantity: str | int | float | None) -> str:
    """A number in the form of Go's JSON encoder: up to 21 digits without an exponent, beyond that with one."""
    if isinstance(quantity, str):
        return quantity
    if quantity is None:
        return "0"
    if isinstance(quantity, int) and not isinstance(quantity, bool) and MIN_INT64 <= quantity < 2**64:
        return str(quantity)
    if isinstance(quantity, bool) or not abs(quantity) <= 1.7976931348623157e308:
        raise QuantityError(f"not a quantity: {shown(quantity)}")
    number = float(quantity)
    return format(Decimal(repr(number)), "f") if 1e-6 <= abs(number) < 1e21 or not number else repr(number)


def _parse(text: str) -> Quantity:
    """ParseQuantity."""
    match = SPLIT.fullmatch(text) if text else None
    if match is None:
        raise QuantityError(f"not a quantity: {shown(text)}")
    sign, zeros, whole, fraction, suffix = match.groups(default="")
    binary, exponent = _suffix(suffix, text)
    small = _small(sign, whole or "0", fraction, binary, exponent)
    if small is not None:
        return small
    if not zeros and not whole and not fraction:
        raise QuantityError(f"not a quantity, it has no digits: {shown(text)}")
    if binary:
        return _big_binary(sign, whole, fraction, exponent)
    return _big_decimal(sign, whole + fraction, _int32(len(fraction) + _int32(-exponent)))


@lru_cache(maxsize=1 << 14)
def _parse_cached(text: str) -> Quantity:
    return _parse(text)


def _suffix(suffix: str, text: str) -> tuple[bool, int]:
    """The meaning of a suffix: (whether it is a power of two, its exponent)."""
    if (exponent := DECIMAL_SUFFIXES.get(suffix)) is not None:
        return False, exponent
    if (exponent := BINARY_SUFFIXES.get(suffix)) is not None:
        return True, exponent
    match = EXPONENT.fullmatch(suffix)
    parsed = int(match[1] + (match[2] or "0")) if match and len(match[2]) <= INT64_DIGITS else MAX_INT64 + 1
    if not MIN_INT64 <= parsed <= MAX_INT64:
        raise QuantityError(f"not a quantity, unknown suffix: {shown(text)}")
    return False, _int32(parsed)


def _small(sign: str, whole: str, fraction: str, binary: bool, exponent: int) -> Quantity | None:
    """The small form, or None if apimachinery does not use it."""
    if binary:
        # apimachinery's own guess at the number of decimal digits of the factor.
        if fraction or 15 - len(whole) - exponent * 3 // 10 - 1 < 0:
            return None
        factor, exponent = 1 << exponent, 0
    else:
        if len(whole) + len(fraction) > SMALL_DIGITS:
            return None
        factor, exponent = 1, _int32(exponent - len(fraction))
    unscaled = int(whole + fraction) * factor
    if exponent < NANO or unscaled > MAX_INT64:
        return None
    return Quantity(-unscaled if sign == "-" else unscaled, exponent)


def _big_decimal(sign: str, digits: str, scale: int) -> Quantity:
    """The big form of digits * 10**-scale: whole nano units, rounded away from zero."""
    shift = _int32(-NANO - scale)
    kept, dropped = (digits, "") if shift >= 0 else (digits[:shift], digits[shift:])
    places = max(0, min(shift, FAR))
    end = max(0, len(kept) - (FAR - places))
    nano = int(kept[end:] or "0") * int(10**places) + _any(kept[:end]) * int(10**FAR) + _any(dropped)
    if nano == 0:
        return Quantity(0, max(-FAR, min(FAR, -scale)), big=True)
    return Quantity(-nano if sign == "-" else nano, NANO, big=True)


def _big_binary(sign: str, whole: str, fraction: str, exponent: int) -> Quantity:
    """The big form of a number with a binary suffix: whole nano units, and at most the largest int64."""
    limit = MAX_INT64 * 10**-NANO
    nano = limit + 1
    if len(whole) <= INT64_DIGITS:
        # So far behind the digits of the factor, it only counts whether a digit is not zero.
        fraction = fraction[:FAR] + "1" * _any(fraction[FAR:])
        nano = _away_from_zero(int(whole + fraction or "0") * 10**-NANO << exponent, len(fraction))
    if nano > limit:
        # The cap is a number without decimals. The kept digits decide the result of an overflow.
        return Quantity(-MAX_INT64 if sign == "-" else MAX_INT64, 0, big=True)
    if nano == 0:
        return Quantity(0, -len(fraction), big=True)
    return Quantity(-nano if sign == "-" else nano, NANO, big=True)


def _any(digits: str) -> bool:
    """Whether one of the digits is not zero."""
    return bool(digits.strip("0"))


def _int32(number: int) -> int:
    """Go's conversion to int32."""
    return (number + 2**31) % 2**32 - 2**31


def _int64(number: int) -> int:
    """Go's conversion of a big.Int to int64: the low 64 bits."""
    return (number + 2**63) % 2**64 - 2**63


def _add_small(left: Quantity, right: Quantity) -> Quantity | None:
    """int64Amount.Add: the sum, or None if it overflows."""
    if right.unscaled == 0:
        return left
    if left.unscaled == 0:
        return right
    exponent = min(left.exponent, right.exponent)
    a = _scaled_up(left.unscaled, left.exponent - exponent)
    b = _scaled_up(right.unscaled, right.exponent - exponent)
    if a is None or b is None or not MIN_INT64 <= a + b <= MAX_INT64:
        return None
    return Quantity(a + b, exponent)


def _scaled_up(unscaled: int, places: int) -> int | None:
    """unscaled * 10**places, or None outside int64. Unchanged for negative `places`, like upstream's loop."""
    if places <= 0 or unscaled == 0:
        return unscaled
    scaled = unscaled * int(10 ** min(places, 20))
    return scaled if MIN_INT64 <= scaled <= MAX_INT64 else None


def _away_from_zero(unscaled: int, places: int) -> int:
    """unscaled / 10**places, rounded away from zero."""
    divisor = int(10 ** min(places, max(FAR, unscaled.bit_length())))
    magnitude = -(-abs(unscaled) // divisor)
    return magnitude if unscaled >= 0 else -magnitude


def _scaled_big(unscaled: int, places: int) -> int:
    """scaledValue: unscaled * 10**places as an int64, rounded as each of upstream's three branches rounds."""
    if places == 0:
        return _int64(unscaled)
    if places > 0:
        return _int64(_int64(unscaled) * (int(10**places) if places < 19 else MIN_INT64))
    divisor = int(10 ** min(-places, max(FAR, unscaled.bit_length())))
    if unscaled < MAX_INT64 and -places < 19:
        low = _int64(unscaled)
        quotient, remainder = divmod(abs(low), divisor)
        return (quotient if low >= 0 else -quotient) + bool(remainder)
    quotient, remainder = divmod(unscaled, divisor)
    return _int64(_int64(quotient) + bool(remainder))

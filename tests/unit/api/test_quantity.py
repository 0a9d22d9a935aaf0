"""Quantities against apimachinery v0.37.1, whose answers are recorded beside this file."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.quantity import MILLI, Quantity, QuantityError, parse, value
from tests.unit.api.golden import golden


def ours(text: str) -> list[int] | None:
    try:
        return [parse(text).scaled(MILLI), value(text)]
    except QuantityError:
        return None


def test_equals_apimachinery() -> None:
    recorded = golden("quantity")
    assert len(recorded) > 3000
    assert sum(answer is None for _, answer in recorded) > 300
    wrong = [(text[:80], answer, ours(text)) for text, answer in recorded if ours(text) != answer]
    assert not wrong, f"{len(wrong)} of {len(recorded)}: {wrong[:5]}"


@pytest.mark.parametrize(
    ("text", "milli", "whole"),
    [
        ("100m", 100, 1),
        ("4", 4000, 4),
        ("16Gi", 16 * 2**30 * 1000, 16 * 2**30),
        ("1500u", 2, 1),
        ("1e3", 1000_000, 1000),
        ("1E", 0, 10**18),  # a thousand times that is beyond int64
        (".", 0, 0),
        ("", None, None),
        (" 1", None, None),
        ("1ki", None, None),
        ("\u0661", None, None),  # a digit, in Arabic
    ],
)
def test_well_known(text: str, milli: int | None, whole: int | None) -> None:
    assert ours(text) == (None if milli is None else [milli, whole])


@pytest.mark.parametrize(
    ("number", "milli", "whole"),
    [
        (2, 2000, 2),
        (0.5, 500, 1),
        (1e-7, 1, 1),
        (-0.0, 0, 0),
        (None, 0, 0),
        (1.2345678901234568e20, ours("123456789012345680000"), None),
        (10**30, ours("1e30"), None),
    ],
)
def test_numbers_of_manifests(number: float | None, milli: int | list[int], whole: int | None) -> None:
    expected = milli if isinstance(milli, list) else [milli, whole]
    assert [parse(number).scaled(MILLI), value(number)] == expected


@pytest.mark.parametrize(
    "number", [True, float("nan"), float("inf"), 16**10_000], ids=lambda number: type(number).__name__
)
def test_no_numbers(number: float) -> None:
    with pytest.raises(QuantityError):
        value(number)


@pytest.mark.parametrize("text", ["1e-2000000000", "11111111111111111111e2000000000", "0.0e2147483647"])
def test_far_exponents_do_not_fill_the_memory(text: str) -> None:
    assert value(text) in (0, 1)
    assert not parse(text).add(parse("1Ei")).exceeds(parse(text).add(parse("2Ei")))


@pytest.mark.parametrize(
    ("text", "milli", "whole"),
    [
        ("0" * 100_000 + "x", None, None),
        ("1" * 1_000_000 + "x", None, None),
        ("1." + "1" * 1_000_000 + "x", None, None),
        ("1e" + "1" * 1_000_000, None, None),
        ("1e" + "0" * 1_000_000 + "3", 1000_000, 1000),
        ("9" * 3_000_000, -1000, -1),  # the low 64 bits
        ("-" + "9" * 3_000_000 + "7", 3000, 3),
        ("9" * 3_000_000 + ".0000000001", -999, 0),
        ("9" * 3_000_000 + "e-2999998", 100_000, 100),
        ("0." + "0" * 3_000_000 + "1e3000000", 100, 1),
        ("0." + "0" * 3_000_000 + "1", 1, 1),
        ("0." + "0" * 3_000_000, 0, 0),
        ("0." + "0" * 3_000_000 + "1Ki", 1, 1),
        ("1." + "5" * 3_000_000 + "Ki", 1_592_889, 1593),
        ("1" + "0" * 3_000_000 + "Ki", -1000, 2**63 - 1),
    ],
    ids=lambda value: f"{len(value)} characters" if isinstance(value, str) else None,
)
def test_megabytes_do_not_take_the_square_of_their_digits(
    text: str, milli: int | None, whole: int | None
) -> None:
    assert ours(text) == (None if milli is None else [milli, whole])


def test_numbers_of_any_size_are_compared() -> None:
    assert parse("1" + "0" * 4000).exceeds(parse("9" * 4000))
    assert parse("1" + "0" * 3_000_000).exceeds(parse("9" * 4000))
    assert parse("1" * 4090 + ".5").exceeds(parse("9" * 4000))
    assert parse("9" * 4000).exceeds(parse("-" + "9" * 3_000_000))
    assert parse("9" * 3_000_000 + "e-2999998").add(parse("-100")) == Quantity(0, -9, big=True)


def test_manifests_may_have_space_around() -> None:
    assert parse(" 2 ") == parse("2")
    with pytest.raises(QuantityError):
        parse("\t2")
    with pytest.raises(QuantityError, match=r"\.\.\. \(10000 characters\)"):
        parse("x" * 10_000)


NUMBERS = st.decimals(min_value=-(10**6), max_value=10**6, allow_nan=False, places=6).map(lambda d: f"{d:f}")


@given(NUMBERS, NUMBERS)
def test_small_sums_and_comparisons_are_exact(left: str, right: str) -> None:
    a, b = parse(left), parse(right)
    total = a.add(b)
    assert fraction(total) == Fraction(left) + Fraction(right)
    assert a.exceeds(b) == (Fraction(left) > Fraction(right))
    assert abs(total.scaled(MILLI)) == -(-abs(fraction(total) * 1000) // 1)


@given(st.text(alphabet="0123456789.+-eEinumkKMGTP ", max_size=30))
def test_answers_or_refuses(text: str) -> None:
    answer = ours(text)
    assert answer is None or all(-(2**63) <= number < 2**63 for number in answer)


def fraction(quantity: Quantity) -> Fraction:
    return quantity.unscaled * Fraction(10) ** quantity.exponent

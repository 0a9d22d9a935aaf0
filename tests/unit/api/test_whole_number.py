"""Texts that people write where a number is expected."""

from __future__ import annotations

import pytest

from api.syntax import whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [("1", 1), ("007", 7), ("9", 9), ("0", None), ("10", None), ("", None), ("1h", None), ("-1", None)],
)
def test_a_number_within_bounds(text: str, number: int | None) -> None:
    assert whole_number(text, 1, 9) == number


@pytest.mark.parametrize("text", ["\u0663", "\u00b2", "9" * 5000])
def test_what_python_would_read_or_fail_at_is_no_number(text: str) -> None:
    assert whole_number(text, 1, 2**31 - 1) is None

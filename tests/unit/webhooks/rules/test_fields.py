"""What is not of the type asked for is not there, and the rest keeps its place."""

from __future__ import annotations

from typing import Any

import pytest

from webhooks.rules.fields import child, entries, integer, items, text, texts


@pytest.mark.parametrize("other", [None, 5, "x", True])
def test_what_is_of_another_type_is_not_there(other: Any) -> None:
    assert child({"a": {"b": other}}, "a", "b") == {}
    assert child({"a": other}, "a", "b") == {}
    assert items({"a": other}, "a") == []
    assert texts({"a": other}, "a") == []
    assert entries({"a": other}, "a") == {}
    assert text({"a": [other]}, "a") == ""
    assert integer({"a": [other]}, "a") is None


def test_what_is_there() -> None:
    assert child({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}
    assert items({"a": [{"b": 1}, 5, {"c": 1}]}, "a") == [{"b": 1}, {}, {"c": 1}]
    assert items({"a": [{}, {"b": 1}]}, "a") == [{}, {"b": 1}]
    assert texts({"a": ["b", 5, "c"]}, "a") == ["b", "", "c"]
    assert entries({"a": {"b": "c", "d": 5}}, "a") == {"b": "c"}
    assert text({"a": "b"}, "a") == "b"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(3, 3), (-1, -1), (3.0, 3), (3.5, None), ("3", None), (True, None), (None, None), (1e300, int(1e300))],
)
def test_an_integer_is_one_however_it_is_written(value: Any, expected: int | None) -> None:
    found = integer({"a": value}, "a")
    assert (found, type(found)) == (expected, type(expected))

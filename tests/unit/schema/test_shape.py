"""One look at a decoded JSON value."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema._shape import Shape, nested_deeper

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=12,
)


def leaf(kind: str) -> Shape:
    return Shape(kind, {}, None, None)


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@given(VALUES, st.integers(0, 6))
def test_depth(value: Any, limit: int) -> None:
    assert nested_deeper(value, limit) == (depth(value) > limit)


def test_depth_takes_no_more_stack_than_its_limit() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    assert nested_deeper(value, 100)
    while value:
        value = value.pop()  # to free it all at once would take stack


FITTING: dict[str, list[Any]] = {
    "string": ["", "x"],
    "boolean": [True],
    "integer": [3, -(2**70)],
    "number": [3, 3.5],
    "integer or string": [3, "25%"],
    "object": [{}, {"any": [1]}],
    "array": [[], [1, "x"]],
    "": ["x", 3, True, {}, []],
}
EVERYTHING: list[Any] = [None, "x", True, 3, 3.0, {}, []]


@pytest.mark.parametrize("kind", FITTING)
def test_types(kind: str) -> None:
    shape = leaf(kind)
    assert all(shape.fits(value) for value in [None, *FITTING[kind]])
    kinds = {type(value) for value in [None, *FITTING[kind]]}
    if kind:
        assert not any(shape.fits(value) for value in EVERYTHING if type(value) not in kinds)


def test_below() -> None:
    text = leaf("string")
    shape = Shape("object", {"name": text, "sizes": Shape("array", {}, leaf("integer"), None)}, None, None)
    assert shape.fits({"name": "x", "sizes": [1, None, 2], "unknown": 3})
    assert not shape.fits({"name": 3})
    assert not shape.fits({"sizes": [1, "2"]})
    labels = Shape("object", {}, text, None)
    assert labels.fits({"a": "b"})
    assert not labels.fits({"a": "b", "c": {}})


def test_texts_are_checked() -> None:
    asked: list[str] = []

    def is_even(value: str) -> bool:
        asked.append(value)
        return len(value) % 2 == 0

    shape = Shape("quantity", {}, None, is_even)
    assert shape.fits("ab")
    assert shape.fits(3)
    assert not shape.fits("abc")
    assert not shape.fits("x" * 66)
    assert asked == ["ab", "abc"]


def test_an_error_of_the_check_is_raised() -> None:
    def broken(value: str) -> bool:
        raise ZeroDivisionError(value)

    shape = Shape("array", {}, Shape("date-time", {}, None, broken), None)
    with pytest.raises(ZeroDivisionError):
        shape.fits(["x"])

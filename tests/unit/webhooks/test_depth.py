"""How deep JSON is nested."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.depth import is_shallow, nested_deeper


def lists_of(texts: st.SearchStrategy[str]) -> st.SearchStrategy[list[Any]]:
    values: st.SearchStrategy[Any] = st.recursive(
        texts,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=12,
    )
    return st.lists(values, max_size=3)


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@given(lists_of(st.text('a[]{}"\\', max_size=5)), st.integers(1, 6))
def test_never_is_anything_too_deep_taken_for_shallow(value: Any, limit: int) -> None:
    assert nested_deeper(value, limit) == (depth(value) > limit)
    for text in (json.dumps(value), json.dumps(value, indent=1)):
        assert not is_shallow(text.encode(), limit) or depth(value) <= limit


@given(lists_of(st.text('a"\\', max_size=5)))
def test_strings_without_brackets_are_no_obstacle(value: Any) -> None:
    text = json.dumps(value).encode()
    assert is_shallow(text, depth(value))
    assert not is_shallow(text, depth(value) - 1)


@pytest.mark.parametrize("text", ['["]", ["]", "["], "["]', r'["\"[\"", []]', "[" * 3 + '"\\\\"' + "]" * 3])
def test_brackets_in_strings_hide_nothing(text: str) -> None:
    assert not is_shallow(text.encode(), 1)


def test_many_brackets_are_not_looked_at_again_and_again() -> None:
    assert not is_shallow(b"[" + b"[]," * 10_000 + b"[]]", 100)

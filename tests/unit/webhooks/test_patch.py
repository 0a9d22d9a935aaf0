"""The patch makes the one object into the other, by the rules of RFC 6902."""

from __future__ import annotations

import copy
import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from webhooks.patch import json_patch

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.just(0.5) | st.text("ab/~", max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~0", max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


def applied(document: Any, operations: list[dict[str, Any]]) -> Any:
    """RFC 6902, as far as it is used."""
    root = {"": copy.deepcopy(document)}
    for operation in operations:
        names = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")]
        target: Any = root
        for name in names[:-1]:
            target = target[int(name) if isinstance(target, list) else name]
        last: Any = int(names[-1]) if isinstance(target, list) else names[-1]
        if operation["op"] == "remove":
            del target[last]
        else:
            assert operation["op"] == "add" or last in (
                range(len(target)) if isinstance(target, list) else target
            )
            target[last] = copy.deepcopy(operation["value"])
    return root[""]


@given(old=JSON, new=JSON)
def test_it_makes_the_old_into_the_new(old: Any, new: Any) -> None:
    operations = list(json_patch(old, new))
    result = applied(old, operations)
    assert result == new
    assert repr(result) == repr(applied(new, [])) or isinstance(new, dict | list)


@given(value=JSON)
def test_what_is_equal_needs_nothing(value: Any) -> None:
    # Read anew: a copy would hold the very same texts and numbers.
    assert list(json_patch(value, json.loads(json.dumps(value)))) == []


@pytest.mark.parametrize(
    ("old", "new", "operations"),
    [
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a/b": {"~": 1}}, {"a/b": {}}, [{"op": "remove", "path": "/a~1b/~0"}]),
        ({"a": [1, 2]}, {"a": [1, 3]}, [{"op": "replace", "path": "/a/1", "value": 3}]),
        ({"a": [1]}, {"a": [1, 2]}, [{"op": "replace", "path": "/a", "value": [1, 2]}]),
        ({}, {"b": {"c": 1}}, [{"op": "add", "path": "/b", "value": {"c": 1}}]),
    ],
)
def test_operations(old: Any, new: Any, operations: list[dict[str, Any]]) -> None:
    assert list(json_patch(old, new)) == operations

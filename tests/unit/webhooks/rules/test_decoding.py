"""What no reader of Kueue's objects can read; see also the property tests."""

from __future__ import annotations

from typing import Any

import pytest

from schema.verdict import INVALID, TYPE_INVALID, Cause
from webhooks.rules.decoding import Node, value_causes

TIME = {"type": "string", "format": "date-time"}
QUANTITY = {"x-kubernetes-int-or-string": True, "pattern": "^[0-9]"}


@pytest.mark.parametrize("value", ["x", 1, True, [1], {"a": 1}])
def test_without_a_type_anything_can_be_read(value: Any) -> None:
    node = Node({})
    assert node.shape.fits(value)
    assert list(value_causes(node, value, "a")) == []


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "integer"}, 3.0),
        ({"type": "number"}, 3.5),
        ({"x-kubernetes-int-or-string": True}, 3.5),
        (QUANTITY, 3.5),
        (TIME, "2026-01-02T03:04:05Z"),
    ],
)
def test_what_can_be_read(schema: dict[str, Any], value: Any) -> None:
    assert list(value_causes(Node(schema), value, "a")) == []


@pytest.mark.parametrize(
    ("schema", "value", "type_", "message"),
    [
        ({"type": "integer"}, 1.5, INVALID, "1.5 is no integer"),
        ({"type": "integer"}, "1", TYPE_INVALID, "'1' is no integer"),
        ({"type": "object"}, [], TYPE_INVALID, "[] is no object"),
        (TIME, "soon", INVALID, "'soon' is no time, such as 2006-01-02T15:04:05Z"),
        ({"x-kubernetes-int-or-string": True}, [], TYPE_INVALID, "[] is no integer or string"),
    ],
)
def test_a_message_says_what_is_no_such_thing(
    schema: dict[str, Any], value: Any, type_: str, message: str
) -> None:
    assert list(value_causes(Node(schema), value, "a")) == [Cause("a", type_, message)]

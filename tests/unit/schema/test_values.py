"""Types and bounds; the causes are those that API server 1.37.1 gives."""

from __future__ import annotations

from typing import Any

import pytest

from schema.correlation import Correlated
from schema.lists import duplicates
from schema.nodes import read_node
from schema.values import value_causes

Json = dict[str, Any]

STRING: Json = {"type": "string"}
INT32: Json = {"type": "integer", "format": "int32"}
QUANTITY: Json = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, STRING],
    "pattern": "^[0-9]+$",
}


def causes(schema: Json, value: Any, *old: Any) -> set[tuple[str, str]]:
    node = read_node({"type": "object", "properties": {"a": schema}, "required": ["a"]})
    new = {"a": value}
    correlated = Correlated(new, {"a": old[0]}, node) if old else None
    return {
        (each.field, each.type.removeprefix("FieldValue")) for each in value_causes(node, new, correlated)
    }


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (STRING, "x"),
        (STRING | {"nullable": True}, None),
        (INT32, 2**31 - 1),
        (INT32, 3.0),
        (INT32, 0.0),
        (INT32, -(2.0**31)),
        ({"type": "integer"}, 2**63 - 1),
        ({"type": "number", "format": "double"}, 1),
        ({"type": "boolean"}, False),
        (QUANTITY, 1),
        (QUANTITY, "1"),
        (QUANTITY, 1.0),
        # An API server checks formats of strings alone, and leaves the type to them.
        ({"type": "string", "format": "date-time"}, ["x"]),
        (STRING | {"maxLength": 1}, "\N{GRINNING FACE}"),
        (STRING | {"enum": ["x"]}, "x"),
        ({"anyOf": [{"type": "integer"}, STRING]}, 1),
        ({"type": "array"}, [1]),
        ({"type": "object"}, {}),
        (INT32 | {"minimum": 0}, 0),
        (INT32 | {"maximum": 5}, 5),
        ({"type": "integer"}, 2.0**53 - 1),
        ({"type": "integer"}, 1 - 2.0**53),
        ({"type": "integer"}, -(2**63)),
        (STRING | {"minLength": 2}, "ab"),
        ({"type": "array", "minItems": 1, "maxItems": 1}, [1]),
        ({"type": "object", "minProperties": 1, "maxProperties": 1}, {"x": 1}),
    ],
)
def test_what_is_right(schema: Json, value: Any) -> None:
    assert causes(schema, value) == set()


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (STRING, None, {("a", "TypeInvalid")}),
        (STRING, 1, {("a", "TypeInvalid")}),
        (STRING, True, {("a", "TypeInvalid")}),
        ({"type": "boolean"}, 1, {("a", "TypeInvalid")}),
        ({"type": "integer"}, True, {("a", "TypeInvalid")}),
        (INT32, "1", {("a", "TypeInvalid")}),
        (INT32, 2**31, {("<nil>", "Invalid")}),
        (INT32, -(2**31) - 1, {("<nil>", "Invalid")}),
        (INT32, 1e9 * 9, {("<nil>", "Invalid")}),
        ({"type": "integer"}, 2**63, {("<nil>", "Invalid")}),
        ({"type": "integer"}, -(2**63) - 1, {("<nil>", "Invalid")}),
        # Of larger floats nobody knows which integer was meant.
        ({"type": "integer"}, 2.0**53, {("a", "TypeInvalid")}),
        ({"type": "integer"}, -(2.0**53), {("a", "TypeInvalid")}),
        (INT32, 1.5, {("a", "TypeInvalid"), ("<nil>", "Invalid")}),
        (INT32, 1e300, {("a", "TypeInvalid"), ("<nil>", "Invalid")}),
        (INT32, 1 + 1e-10, {("<nil>", "Invalid")}),
        (INT32 | {"minimum": 0}, -1, {("a", "Invalid")}),
        (INT32 | {"maximum": 5}, 6, {("a", "Invalid")}),
        ({"type": "integer", "minimum": 5}, True, {("a", "TypeInvalid")}),
        ({"type": "number", "format": "double"}, "x", {("a", "TypeInvalid")}),
        ({"x-kubernetes-int-or-string": True}, [], {("a", "TypeInvalid")}),
        ({"anyOf": [{"type": "integer"}, STRING]}, [], {("a", "TypeInvalid"), ("<nil>", "Invalid")}),
        ({"anyOf": [INT32, STRING | {"maxLength": 1}]}, "ab", {("a", "TypeInvalid"), ("<nil>", "Invalid")}),
        (QUANTITY, 1.5, {("a", "TypeInvalid"), ("<nil>", "Invalid")}),
        (QUANTITY, {}, {("a", "TypeInvalid"), ("<nil>", "Invalid")}),
        (QUANTITY, None, {("a", "TypeInvalid")}),
        (QUANTITY, "x", {("a", "Invalid")}),
        (STRING | {"enum": ["x"]}, "y", {("a", "NotSupported")}),
        ({"type": "integer", "enum": [1]}, 1.0, {("a", "NotSupported")}),
        (STRING | {"enum": ["x"]}, 1, {("a", "NotSupported"), ("a", "TypeInvalid")}),
        (STRING | {"maxLength": 2, "pattern": "^a"}, "bbb", {("a", "TooLong")}),
        (STRING | {"minLength": 2, "pattern": "^a"}, "b", {("a", "Invalid")}),
        ({"type": "string", "format": "date-time"}, "soon", {("a", "TypeInvalid")}),
        ({"type": "string", "format": "date-time"}, {}, {("a", "TypeInvalid")}),
        (
            {"type": "array", "maxItems": 1, "items": STRING},
            ["x", 1],
            {("a", "TooMany"), ("a[1]", "TypeInvalid")},
        ),
        ({"type": "array", "minItems": 1}, [], {("a", "Invalid")}),
        ({"type": "object", "maxProperties": 1}, {"x": 1, "y": 2}, {("a", "TooMany")}),
        ({"type": "object", "minProperties": 1}, {}, {("a", "Invalid")}),
        ({"type": "object", "properties": {"b": STRING}, "required": ["b"]}, {}, {("a.b", "Required")}),
        ({"type": "object", "additionalProperties": STRING}, {"x/y": 1}, {("a.x/y", "TypeInvalid")}),
    ],
)
def test_what_is_wrong(schema: Json, value: Any, expected: set[tuple[str, str]]) -> None:
    assert causes(schema, value) == expected


SHORT: Json = STRING | {"maxLength": 1}
ENTRY: Json = {"type": "object", "properties": {"name": STRING, "b": SHORT}}
MAP: Json = {
    "type": "array",
    "items": ENTRY,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
KINDED: Json = {"type": "object", "properties": {"name": STRING, "kind": SHORT}}
NONE: Json = {"type": "array", "maxItems": 0}
TWO: Json = MAP | {"maxItems": 2}
ATOMIC: Json = {"type": "array", "items": ENTRY, "x-kubernetes-list-type": "atomic"}


@pytest.mark.parametrize(
    ("schema", "value", "old", "expected"),
    [
        (SHORT, "long", "long", set()),
        (SHORT, "longer", "long", {("a", "TooLong")}),
        (ENTRY, {"b": "long", "name": "new"}, {"b": "long", "name": "old"}, set()),
        (ENTRY, {"b": "long"}, {}, {("a.b", "TooLong")}),
        (ENTRY, {"b": "long"}, None, {("a.b", "TooLong")}),
        (KINDED, {"kind": "long", "name": "new"}, {"kind": "long", "name": "old"}, set()),
        (ENTRY, {"b": "long"}, "b", {("a.b", "TooLong")}),
        (ENTRY, "b", {"b": "x"}, {("a", "TypeInvalid")}),
        (SHORT, "ab", ["a", "b"], {("a", "TooLong")}),
        (NONE, [1], [1], set()),
        (NONE, [1], [1.0], {("a", "TooMany")}),
        (NONE, [1], 5, {("a", "TooMany")}),
        (NONE, [{"n": 1}], [{"n": 1.0}], {("a", "TooMany")}),
        (NONE, [[1]], [[1, 2]], {("a", "TooMany")}),
        # Entries of a map list are compared by key, wherever they stand.
        (MAP, [{"name": "x"}, {"name": "y", "b": "long"}], [{"name": "y", "b": "long"}], set()),
        (MAP, [{"name": "x", "b": "long"}], [{"name": "y", "b": "long"}], {("a[0].b", "TooLong")}),
        (MAP, [{"b": "long"}], [{"b": "long"}], {("a[0].b", "TooLong")}),
        (MAP, [{"name": "x", "b": "long"}], {"name": "x", "b": "long"}, {("a[0].b", "TooLong")}),
        (MAP, [5], [5], {("a[0]", "TypeInvalid")}),
        (MAP, [{"name": [], "b": ""}], [{"name": [], "b": ""}], {("a[0].name", "TypeInvalid")}),
        (TWO, [{"name": "x"}, {"name": "y"}, {"name": "z"}], [{"name": n} for n in "zyx"], set()),
        (
            TWO,
            [{"name": "x"}, {"name": "y"}, {"name": "z"}],
            [{"name": n} for n in "xyzw"],
            {("a", "TooMany")},
        ),
        # Of other lists either everything is as it was, or all of it is new.
        (ATOMIC, [{"b": "long"}], [{"b": "long"}], set()),
        (ATOMIC, [{"b": "longer"}], [{"b": "long"}], {("a[0].b", "TooLong")}),
        (ATOMIC, [{"b": "long"}], [{"b": "long", "name": "x"}], {("a[0].b", "TooLong")}),
        (ATOMIC, [{"b": "long"}], [{}], {("a[0].b", "TooLong")}),
        (ATOMIC, [{"b": "long"}, {}], [{"b": "long"}], {("a[0].b", "TooLong")}),
        # 1, 1.0 and true are three things.
        (SHORT, 1, 1, set()),
        (SHORT, 1.0, 1, {("a", "TypeInvalid")}),
        (SHORT, True, 1, {("a", "TypeInvalid")}),
        (SHORT, None, None, set()),
    ],
)
def test_what_did_not_change_may_stay(
    schema: Json, value: Any, old: Any, expected: set[tuple[str, str]]
) -> None:
    assert causes(schema, value, old) == expected


def test_the_kind_is_never_an_old_fault() -> None:
    node = read_node({"type": "object", "properties": {"kind": SHORT, "spec": {"type": "object"}}})
    value = {"kind": "long"}
    assert [
        cause.field
        for cause in value_causes(node, value, Correlated(value, {"kind": "long", "spec": {}}, node))
    ]


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (STRING | {"maxLength": 1}, "ab", "may have 1 character at most, not 2"),
        (STRING | {"minLength": 2}, "a", "must have 2 characters or more, not 1"),
        ({"type": "array", "maxItems": 0}, [1], "may have 0 items at most, not 1"),
        ({"type": "object", "minProperties": 1}, {}, "must have 1 key or more, not 0"),
        ({"type": "object", "maxProperties": 0}, {"x": 1}, "may have 0 keys at most, not 1"),
        (INT32 | {"minimum": 2, "maximum": 3}, 1, "must be 2 or more, not 1"),
        (INT32 | {"minimum": 2, "maximum": 3}, 4, "must be 3 or less, not 4"),
        (INT32, 2**31, "a must be an integer of int32, not 2147483648"),
        ({"type": "integer"}, 2**63, "a must be an integer of int64, not 9223372036854775808"),
        (STRING | {"pattern": "^a$"}, "b", "'b' does not match ^a$"),
        (STRING, 1, "must be of type string, not integer"),
        (STRING | {"enum": ["x", "y"]}, "z", "'z' is not one of x, y"),
    ],
)
def test_a_message_says_what_there_is_and_what_there_may_be(schema: Json, value: Any, message: str) -> None:
    node = read_node({"type": "object", "properties": {"a": schema}})
    assert [cause.message for cause in value_causes(node, {"a": value}, None)] == [message]


SET: Json = {"type": "array", "items": STRING, "x-kubernetes-list-type": "set"}
PAIRS: Json = MAP | {"x-kubernetes-list-map-keys": ["name", "b"]}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (SET, ["x", "y"], []),
        (SET, ["x", "y", "x", "x", "y"], ["a[2]", "a[4]"]),
        (SET, [1, 1.0, True], []),
        (SET, [["x"], ["x"]], ["a[1]"]),
        (MAP, [{"name": "x", "b": "1"}, {"name": "x", "b": "2"}], ["a[1]"]),
        (MAP, [{"b": "1"}, None, {}], ["a[1]"]),
        (MAP, ["x", "y"], ["a[0]"]),
        (PAIRS, [{"name": "x", "b": "1"}, {"name": "x", "b": "2"}, {"name": "x", "b": "1"}], ["a[2]"]),
        (ATOMIC, [{"name": "x"}, {"name": "x"}], []),
        ({"type": "object", "additionalProperties": SET}, {"k.l": ["x", "x"]}, ["a[k.l][1]"]),
        ({"type": "array", "items": SET}, [["x"], ["x", "x"]], ["a[1][1]"]),
    ],
)
def test_duplicates(schema: Json, value: Any, expected: list[str]) -> None:
    node = read_node({"type": "object", "properties": {"a": schema}})
    assert [cause.field for cause in duplicates(node, {"a": value})] == expected


def test_an_entry_of_a_map_list_is_an_object() -> None:
    node = read_node({"type": "object", "properties": {"a": MAP}})
    (cause,) = duplicates(node, {"a": [5]})
    assert (cause.field, cause.type) == ("a[0]", "FieldValueInvalid")


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": []},
        {"type": "text"},
        {"type": "string", "format": "email"},
        {"x-kubernetes-preserve-unknown-fields": True},
    ],
)
def test_no_keyword_is_passed_over(schema: Json) -> None:
    with pytest.raises(ValueError, match=r"known|no such type|nothing checks"):
        read_node(schema)

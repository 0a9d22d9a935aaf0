"""When CEL rules are asked, with which old value, and where their causes are."""

from __future__ import annotations

from typing import Any

import pytest

from schema.correlation import Correlated
from schema.nodes import read_node
from schema.rules import rule_causes
from schema.verdict import Cause

Json = dict[str, Any]
INTEGER: Json = {"type": "integer"}


def ruled(schema: Json, rule: str, **more: Any) -> Json:
    return schema | {"x-kubernetes-validations": [{"rule": rule, **more}]}


def causes(schema: Json, new: Json, old: Json | None = None) -> list[Cause]:
    """Of an object with these properties."""
    node = read_node({"type": "object", "properties": schema})
    correlated = None if old is None else Correlated(new, old, node)
    return list(rule_causes(node, new, old, correlated))


POSITIVE = ruled(INTEGER, "self > 0")
ENTRY: Json = {"type": "object", "properties": {"name": {"type": "string"}, "kind": POSITIVE}}
MAP: Json = {
    "type": "array",
    "items": ENTRY,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
}
ATOMIC: Json = {"type": "array", "items": ENTRY}
GROWS = ruled(INTEGER, "self >= oldSelf")
NEW_IS_POSITIVE = ruled(INTEGER, "oldSelf.hasValue() || self > 0", optionalOldSelf=True)
GROWS_OR_NEW = ruled(INTEGER, "!oldSelf.hasValue() || self >= oldSelf.value()", optionalOldSelf=True)


@pytest.mark.parametrize(
    ("schema", "new", "old", "fields"),
    [
        ({"a": POSITIVE}, {"a": 0}, None, ["a"]),
        ({"a": POSITIVE}, {"a": 1}, None, []),
        ({"a": POSITIVE | {"nullable": True}}, {"a": None}, None, []),
        ({"a": POSITIVE}, {"a": 0}, {"a": 0}, []),
        ({"a": POSITIVE}, {"a": 0}, {"a": -1}, ["a"]),
        # Without an old value, that of what it is in decides: it changed.
        ({"a": POSITIVE}, {"a": 0}, {}, ["a"]),
        ({"a": GROWS}, {"a": 0}, None, []),
        ({"a": GROWS}, {"a": 0}, {}, []),
        ({"a": GROWS}, {"a": 0}, {"a": 1}, ["a"]),
        ({"a": GROWS}, {"a": 1}, {"a": 1}, []),
        # A rule about changes is asked of what did not change, too.
        ({"a": ruled(INTEGER, "self > oldSelf")}, {"a": 1}, {"a": 1}, ["a"]),
        ({"a": GROWS_OR_NEW}, {"a": 0}, None, []),
        ({"a": GROWS_OR_NEW}, {"a": 0}, {}, []),
        ({"a": NEW_IS_POSITIVE}, {"a": 0}, None, ["a"]),
        ({"a": NEW_IS_POSITIVE}, {"a": 0}, {"a": 1}, []),
        ({"a": GROWS_OR_NEW}, {"a": 0}, {"a": 1}, ["a"]),
        # The kind of the object itself is never an old fault, a field of that name further below is.
        ({"kind": POSITIVE}, {"kind": 0}, {"kind": 0}, ["kind"]),
        ({"a": ENTRY}, {"a": {"kind": 0, "name": "x"}}, {"a": {"kind": 0, "name": "y"}}, []),
        # Entries of a map list go by their keys, those of others by the list.
        ({"a": MAP}, {"a": [{"name": "x"}, {"name": "y", "kind": 0}]}, {"a": [{"name": "y", "kind": 0}]}, []),
        ({"a": MAP}, {"a": [{"name": "x", "kind": 0}]}, {"a": [{"name": "y", "kind": 0}]}, ["a[0].kind"]),
        ({"a": ATOMIC}, {"a": [{"kind": 0}]}, {"a": [{"kind": 0}]}, []),
        ({"a": ATOMIC}, {"a": [{"kind": 0}, {}]}, {"a": [{"kind": 0}]}, ["a[0].kind"]),
        ({"a": {"type": "object", "additionalProperties": POSITIVE}}, {"a": {"b.c": 0}}, None, ["a[b.c]"]),
    ],
)
def test_rules(schema: Json, new: Json, old: Json | None, fields: list[str]) -> None:
    assert [cause.field for cause in causes(schema, new, old)] == fields


def test_a_rule_may_name_a_field_and_give_its_message() -> None:
    named = ruled(ENTRY, "self.name == 'x'", fieldPath=".name", message="must be x")
    (cause,) = causes({"a": named}, {"a": {"name": "y"}})
    assert (cause.field, cause.type, cause.message) == ("a.name", "FieldValueInvalid", "must be x")


def test_without_a_message_the_rule_is_told() -> None:
    assert [cause.message for cause in causes({"a": POSITIVE}, {"a": 0})] == ["failed rule: self > 0"]


def test_what_cannot_be_told_is_a_fault() -> None:
    (cause,) = causes({"a": ruled(ENTRY, "self.name == 'x'", message="must be x")}, {"a": {}})
    assert (cause.field, cause.message) == ("a", "must be x (it cannot be evaluated: no such key: name)")

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.validation import FieldError, join
from cli.common.merging import Merged

Json = dict[str, Any]

KEYS = st.sampled_from(["a", "b", "example.com/c", ""])
VALUES = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "x"]) | st.lists(st.just(1))
DOCUMENTS = st.recursive(
    st.dictionaries(KEYS, VALUES), lambda inner: st.dictionaries(KEYS, VALUES | inner), max_leaves=12
)
NAMES = ("one", "two", "three")


def leaves(document: Json, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """Every value with its path. An empty mapping is a value, too."""
    found: list[tuple[tuple[str, ...], Any]] = []
    for key, value in document.items():
        here = (*path, key)
        found += leaves(value, here) if isinstance(value, dict) and value else [(here, value)]
    return found


def put(document: Json, path: tuple[str, ...], value: Any) -> None:
    *around, last = path
    for key in around:
        document = document.setdefault(key, {})
    document[last] = dict(value) if isinstance(value, dict) else value


def written(path: tuple[str, ...]) -> str:
    found = ""
    for key in path:
        found = join(found, key)
    return found


def merged(parts: dict[str, Json], whole: frozenset[str] = frozenset()) -> Merged:
    found = Merged(whole)
    for name, part in parts.items():
        found.add(part, name)
    return found


@given(st.data())
def test_however_a_document_is_divided_the_parts_make_it(data: st.DataObject) -> None:
    """A value may be in several parts. The order of the parts does not matter."""
    document = data.draw(DOCUMENTS)
    parts: dict[str, Json] = {name: {} for name in data.draw(st.permutations(NAMES))}
    first: dict[tuple[str, ...], str] = {}
    for path, value in leaves(document):
        having = data.draw(st.sets(st.sampled_from(NAMES), min_size=1))
        for name in having:
            put(parts[name], path, value)
        first[path] = next(name for name in parts if name in having)
    found = merged(parts)
    assert found.document == document
    for path, name in first.items():
        assert found.names(written(path)) == [name]


@given(st.data())
def test_two_values_of_one_field_are_an_error_with_both_names(data: st.DataObject) -> None:
    document = data.draw(DOCUMENTS.filter(leaves))
    path, value = data.draw(st.sampled_from(leaves(document)))
    other = data.draw(VALUES.filter(lambda each: (type(each), each) != (type(value), value)))
    changed: Json = {}
    put(changed, path, other)
    for parts in ({"one": document, "two": changed}, {"two": changed, "one": document}):
        with pytest.raises(FieldError) as caught:
            merged(parts)
        assert caught.value.path == written(path)
        assert {"one", "two"} <= set(caught.value.problem.replace(",", " ").split())


@pytest.mark.parametrize(
    ("one", "other", "problem"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b: is 1 in one, and 2 in other"),
        ({"a": 1}, {"a": True}, "a: is 1 in one, and true in other"),
        ({"a": "1"}, {"a": 1}, 'a: is "1" in one, and 1 in other'),
        ({"a": [1]}, {"a": [True]}, "a: is [1] in one, and [true] in other"),
        ({"a": [1]}, {"a": [1, 2]}, "a: is [1] in one, and [1, 2] in other"),
        ({"a": [{"b": 1}]}, {"a": [{"c": 1}]}, 'a: is [{"b": 1}] in one, and [{"c": 1}] in other'),
        ({"a": None}, {"a": {"b": 1}}, 'a: is null in one, and {"b": 1} in other'),
        ({"a": {}}, {"a": None}, "a: is {} in one, and null in other"),
        ({"a": {"b": "x" * 80}}, {"a": 1}, f'a: is {{"b": "{"x" * 50}... in one, and 1 in other'),
        ({"w": {"x": 1}}, {"w": {"y": 1}}, 'w: is {"x": 1} in one, and {"y": 1} in other'),
        ({"w": {}}, {"w": {"y": 1}}, 'w: is {} in one, and {"y": 1} in other'),
    ],
)
def test_conflicts(one: Json, other: Json, problem: str) -> None:
    with pytest.raises(FieldError) as caught:
        merged({"one": one, "other": other}, frozenset({"w"}))
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ({"a": 5}, {"a": 5.0}, {"a": 5}),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}, {"a": [1, {"b": 2}]}),
        ({"a": {}}, {"a": {"b": 1}}, {"a": {"b": 1}}),
        ({"w": {"x": 1}}, {"w": {"x": 1}, "a": 1}, {"w": {"x": 1}, "a": 1}),
        ({}, {}, {}),
    ],
)
def test_what_goes_together(one: Json, other: Json, both: Json) -> None:
    assert merged({"one": one, "other": other}, frozenset({"w"})).document == both


def test_the_parts_are_not_changed() -> None:
    one: Json = {"a": {"b": 1}}
    merged({"one": one, "other": {"a": {"c": 2}}})
    assert one == {"a": {"b": 1}}


def test_a_value_that_is_not_itself_is_no_conflict_with_itself() -> None:
    assert list(merged({"one": {"a": float("nan")}}).document) == ["a"]


def test_a_missing_field_belongs_to_all_that_have_its_section() -> None:
    found = merged({"one": {"a": {"b": 1}, "d": {}}, "other": {"a": {"c": 2}}, "third": {}})
    assert found.names("a.x") == ["one", "other"]
    assert found.names("a.b[0].x") == ["one"]
    assert found.names("d.x") == ["one"]
    assert found.names("ax") == found.names("") == ["one", "other", "third"]


def completed(own: Json, other: Json) -> Json:
    """The document with the other's fields where it has none."""
    both = {
        key
        for key in own.keys() & other.keys()
        if isinstance(own[key], dict) and isinstance(other[key], dict)
    }
    return {**other, **own, **{key: completed(own[key], other[key]) for key in both}}


@given(DOCUMENTS, DOCUMENTS)
def test_own_values_come_first(own: Json, other: Json) -> None:
    found = merged({"own": own})
    found.complete(merged({"other": other}))
    assert found.document == completed(own, other)
    for path, value in leaves(own):
        if value != {}:
            assert found.names(written(path)) == ["own"]

from __future__ import annotations

import math
import re

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from api.yaml import MAX_DEPTH, Dumper, YamlError, documents

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc.-/ 1", min_size=1), inner, max_size=4)
    ),
    max_leaves=20,
)


PLACE = re.compile(r"line \d+, column \d+: .|character \d+: .")


def is_json(value: object) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(is_json, value))
    return value is None or isinstance(value, str | int | float)


def one(text: str) -> object:
    (document,) = documents(text)
    return document


@given(JSON)
@example("0E0")
@example("1e3")
@example("0o7")
@example({"1e3": "-1_0"})
@example("100m")
def test_what_was_dumped_is_read_back(value: object) -> None:
    assert one(yaml.dump(value, Dumper=Dumper)) == value


MARKS = st.sampled_from(
    ["a", "1", "- ", "? ", ": ", "\n", "  ", "{", "}", "[", "]", ",", "&x ", "*x", "<<", "!!str "]
)
TEXTS = st.text() | st.lists(MARKS, max_size=12).map("".join)


@given(TEXTS)
@example("a: {b: [1, ~, 'x']}\n---\n2026-01-01\n")
@example("&x [a, *x]")
@example("a: \x00")
def test_any_text_is_read_as_json_or_refused_with_its_place(text: str) -> None:
    read: list[object] = []
    fault = None
    try:
        read += documents(text)
    except YamlError as error:
        fault = str(error)
    assert fault is None or PLACE.match(fault)
    assert all(map(is_json, read))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01", "2026-01-01"),
        ("12:30", "12:30"),
        ("1e3", 1000.0),
        ("100m", "100m"),
        ("1Gi", "1Gi"),
        ("0.5", 0.5),
        ("0x1f", 31),
        ("-010", -8),
        ("'5'", "5"),
        ("!!str 5", "5"),
        ("Yes", True),
        ("off", False),
        ("~", None),
        ("=", "="),
        ("-.inf", -math.inf),
        ("9" * 5000, "9" * 5000),
        ("0xffffffffffffffff", 2**64 - 1),
        ("0x1" + "0" * 16, "0x1" + "0" * 16),
        ("-0b1" + "0" * 64, "-0b1" + "0" * 64),
        ("0x" + "f" * 5000, "0x" + "f" * 5000),
    ],
)
def test_scalars_are_json(text: str, value: object) -> None:
    assert one(text) == value
    assert type(one(text)) is type(value)


def test_several_documents_with_empty_ones() -> None:
    assert list(documents("a: 1\n---\n---\n- b\n")) == [{"a": 1}, None, ["b"]]
    assert list(documents("# nothing\n")) == []


def test_keys_are_strings() -> None:
    assert one("1: a\ntrue: b\n") == {"1": "a", "true": "b"}


def test_aliases_and_merge_keys() -> None:
    assert one("a: &a {x: 1, y: 2}\nb: *a\nc: {<<: *a, y: 3}\nd: {<<: [{x: 9}, *a]}") == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 1, "y": 2},
        "c": {"x": 1, "y": 3},
        "d": {"x": 9, "y": 2},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2\n", "line 2, column 1: key 'a' is there twice"),
        ("a: *b\n", "line 1, column 4: alias *b names nothing before it"),
        ("a: &a [*a]\n", "line 1, column 8: alias *a names nothing before it"),
        ("[" * 100_000, f"nested deeper than {MAX_DEPTH} levels"),
        ("- " * 2_000 + "a", f"nested deeper than {MAX_DEPTH} levels"),
        ("? [a]\n: b", "line 1, column 3: a key must be a string"),
        ("a: {<<: 5}", "only mappings can be merged"),
        ("a:\n\t- b", "line 2, column 1"),
        ('"\\ud800"', "invalid Unicode"),
        ("a: \x00", "character 4: control characters are not allowed"),
    ],
)
def test_faults_name_the_place(text: str, message: str) -> None:
    with pytest.raises(YamlError) as caught:
        list(documents(text))
    assert message in str(caught.value)


def test_aliases_of_aliases_do_not_fill_the_memory() -> None:
    lines = ["a0: &a0 [" + ", ".join(["x"] * 10) + "]"]
    lines += [f"a{i}: &a{i} [" + ", ".join([f"*a{i - 1}"] * 10) + "]" for i in range(1, 9)]
    with pytest.raises(YamlError, match="aliases repeat too much"):
        list(documents("\n".join(lines)))


def test_a_text_may_be_refused_aliases() -> None:
    with pytest.raises(YamlError, match="line 2, column 4: aliases are not accepted here"):
        list(documents("a: &x 1\nb: *x\n", most_aliased=0))
    assert list(documents("a: &x 1\n", most_aliased=0)) == [{"a": 1}]

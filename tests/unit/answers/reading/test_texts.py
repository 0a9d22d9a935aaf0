"""Texts as tools write them, taken apart."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers.errors import InputError
from answers.reading.texts import parsed
from tests.kit.examples import examples


def read(text: str) -> list[Any]:
    return [document and document.read(dict) for document in parsed(text.encode(), "f.json")]


A, B, C = {"a": 1}, {"b": [2]}, {"c": "\u65e5"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("null", [None]),
        ('{"a":1}{"b":[2]}', [A, B]),
        ('{\n "a": 1\n}\n{\n "b": [\n2\n]\n}\n', [A, B]),
        ('{"a":1}\r\n\r\n{"b":[2]}\r\n', [A, B]),
        ('[{"a":1},{"b":[2]}]', [A, B]),
        ('[]{"a":1}', [A]),
        ("- a: 1\n- b: [2]\n", [A, B]),
        ('{"a":1}\n{"b":[2]}\n---\nc: \u65e5\n', [A, B, C]),
        ('c: \u65e5\n---\n{"a":1}\n{"b":[2]}', [C, A, B]),
        ('c: \u65e5\r\n---\r\n{"a":1}{"b":[2]}\r\n', [C, A, B]),
        ('---\n{"a": 1}\n...\n---\n{"b": [2]}\n{"a": 1}', [A, B, A]),
        ("{a: 1}\n---\n{b: [2]}", [A, B]),
        ('\ufeff{"a":1}\ufeff{"b":[2]}\n\ufeff{"a":1}', [A, B, A]),
        ("# Source: chart/a.yaml\na: 1\n---\n# Source: chart/b.yaml\n---\nb: [2]\n", [A, None, B]),
        ("%YAML 1.1\n---\na: 1\n", [A]),
        ("a: |\n  x\n  ---\n  y\n", [{"a": "x\n---\ny\n"}]),
    ],
)
def test_what_tools_write(text: str, expected: list[Any]) -> None:
    assert [each for each in read(text) if each is not None] == [
        each for each in expected if each is not None
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"a":1}\n{"b":\n', "f.json: line 3, column 1: Expecting value"),
        ("c: 1\n---\n\n" + '{"a":1}\n{"b":x}', "f.json: line 5, column 6: Expecting value"),
        ('{"a":1}\nNAME  READY\n', "f.json: line 2, column 1: Expecting value"),
        ('{"a":1}{"b":1}\n---\n\nb: [\n', "f.json: line 5, column 1: "),
        ("NAME  READY\na     1/1\n", "f.json: has text in place of objects"),
        ("pod/a\npod/b\n", "f.json: has text in place of objects"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(InputError) as raised:
        read(text)
    assert str(raised.value).startswith(problem)


VALUES = st.dictionaries(
    st.text("ab-{}[]:\n\"'", max_size=5),
    st.recursive(
        st.none() | st.integers(-9, 9) | st.text("a-{}[]#:\n \"'\\\ufeff", max_size=8),
        lambda inner: st.lists(inner, max_size=3),
    ),
    max_size=3,
)
BETWEEN = st.sampled_from(["", "\n", "\r\n", " ", "\n---\n", "\n\n---\n\n", "\n--- # a\n"])


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(VALUES, BETWEEN, st.sampled_from([None, 1]))))
def test_joined_values_are_all_read(parts: list[tuple[dict[str, Any], str, int | None]]) -> None:
    text = "".join(json.dumps(value, indent=indent) + between for value, between, indent in parts)
    assert [each for each in read(text) if each is not None] == [value for value, _, _ in parts]

"""Nulls and defaults, as an API server keeps an object."""

from __future__ import annotations

import math
from typing import Any

import pytest

from schema.decoding import completed, pruned
from schema.nodes import read_node

TEXT = {"type": "string"}
NODE = read_node(
    {
        "type": "object",
        "properties": {
            "text": TEXT,
            "nullable": TEXT | {"nullable": True},
            "filled": TEXT | {"default": "x"},
            "nullable-filled": TEXT | {"default": "x", "nullable": True},
            "list": {
                "type": "array",
                "items": {"type": "object", "properties": {"filled": TEXT | {"default": "x"}}},
            },
            "number": {"type": "integer"},
            "map": {"type": "object", "additionalProperties": TEXT | {"default": "x"}},
        },
    }
)
FILLED = {"filled": "x", "nullable-filled": "x"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, FILLED),
        ({"text": None, "nullable": None}, FILLED | {"nullable": None}),
        ({"filled": None, "nullable-filled": None}, {"filled": "x", "nullable-filled": None}),
        ({"filled": "", "nullable-filled": "y"}, {"filled": "", "nullable-filled": "y"}),
        ({"unknown": None}, FILLED | {"unknown": None}),
        ({"map": {"a": None, "b": "y"}}, FILLED | {"map": {"a": "x", "b": "y"}}),
        ({"list": [{}, None, {"filled": "y"}]}, FILLED | {"list": [{"filled": "x"}, None, {"filled": "y"}]}),
    ],
)
def test_nulls_and_defaults(given: dict[str, Any], kept: dict[str, Any]) -> None:
    assert completed(NODE, given) == kept


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (2**63 - 1, 2**63 - 1),
        (-(2**63), -(2**63)),
        (2**63, float(2**63)),
        (-(2**63) - 1, -float(2**63)),
        (10**400, math.inf),
        (-(10**400), -math.inf),
    ],
)
def test_integers_beyond_64_bits_are_floats(given: int, kept: float) -> None:
    number = completed(NODE, {"number": given})["number"]
    assert (number, type(number)) == (kept, type(kept))


def test_what_is_stored_is_read_without_unknown_fields() -> None:
    stored = {"text": "a", "unknown": {}, "list": [{"filled": "y", "unknown": 1}]}
    assert pruned(NODE, stored) == {"text": "a", "list": [{"filled": "y"}]}

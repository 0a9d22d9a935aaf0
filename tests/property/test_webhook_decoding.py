"""What is taken for sound at first sight is sound."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.kit.examples import examples
from tests.kit.spoiled import JUNK, SOUND, spoiled
from webhooks.rules import Object
from webhooks.rules.decoding import TYPES, Node, decoding_causes, root_node, value_causes

TEXT = st.from_regex(r"\A[-+0-9.eEKMGTPikmnu]{0,9}\Z") | st.text(max_size=6)
TIME = st.from_regex(
    r"\A[0-9]{4}-[01][0-9]-[0-3][0-9][Tt][0-2][0-9]:[0-6][0-9]:[0-6][0-9]([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})\Z"
)


def leaf(kind: str) -> Node:
    """The schema of a value of this type."""
    formats = {"date-time": {"type": "string", "format": "date-time"}}
    numbers = {"quantity": {"x-kubernetes-int-or-string": True, "pattern": "x"}}
    return Node(
        (formats | numbers | {"integer or string": {"x-kubernetes-int-or-string": True}}).get(
            kind, {"type": kind}
        )
    )


@settings(max_examples=examples(1000), deadline=None)
@given(st.sampled_from(sorted(TYPES)), TEXT | TIME | JUNK)
@example("quantity", "1e999")
@example("quantity", "-1E-999")
@example("quantity", "1.Ki")
@example("quantity", "1" * 65)
@example("date-time", "2026-02-29T00:00:00Z")
@example("date-time", "0000-01-31T00:00:00Z")
@example("integer", 3.0)
@example("number", 3.5)
def test_of_leaves(kind: str, value: Any) -> None:
    node = leaf(kind)
    assert node.type == kind
    if node.shape.fits(value):
        assert value is None or list(value_causes(node, value, "x")) == []


@settings(max_examples=examples(250), deadline=None)
@given(st.sampled_from([each for each in SOUND if each["kind"] != "Pod"]).flatmap(lambda each: spoiled(each)))
def test_of_objects(whole: Object) -> None:
    slow = [
        cause
        for part in ("spec", "status")
        if (node := root_node(whole["kind"]).fields.get(part)) is not None and whole.get(part) is not None
        for cause in value_causes(node, whole[part], part)
    ]
    assert list(decoding_causes(whole["kind"], copy.deepcopy(whole))) == slow


@pytest.mark.parametrize(
    "whole", [each for each in SOUND if each["kind"] != "Pod"], ids=lambda each: str(each["kind"])
)
def test_most_is_taken_at_first_sight(whole: Object) -> None:
    assert root_node(whole["kind"]).fields["spec"].shape.fits(whole["spec"])

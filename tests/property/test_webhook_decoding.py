"""What is taken for sound at first sight is sound."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.property.test_webhook_rules import JUNK, SOUND, spoiled
from webhooks.rules import Object
from webhooks.rules.decoding import SOUND as LEAVES
from webhooks.rules.decoding import TYPES, Node, decoding_causes, root_node, value_causes

TEXT = st.from_regex(r"\A[-+0-9.eEKMGTPikmnu]{0,9}\Z") | st.text(max_size=6)
TIME = st.from_regex(
    r"\A[0-9]{4}-[01][0-9]-[0-3][0-9][Tt][0-2][0-9]:[0-6][0-9]:[0-6][0-9]([.,][0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})\Z"
)


@settings(max_examples=1000, deadline=None)
@given(st.sampled_from(sorted(LEAVES)), TEXT | TIME | JUNK)
@example("quantity", "1e999")
@example("quantity", "-1E-999")
@example("quantity", "1.Ki")
@example("date-time", "2026-02-29T00:00:00Z")
@example("date-time", "0000-01-31T00:00:00Z")
@example("integer", 3.0)
def test_of_leaves(kind: str, value: Any) -> None:
    node = Node({"type": kind})
    node.type = kind
    assert kind in TYPES
    try:
        msgspec.convert(value, LEAVES[kind])
    except msgspec.ValidationError:
        return
    assert list(value_causes(node, value, "x")) == []


@settings(max_examples=250, deadline=None)
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
    msgspec.convert(whole["spec"], root_node(whole["kind"]).fields["spec"].sound)

"""Selectors and tolerations, with the meanings they have upstream."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.core import NodeSelector, Taint, Toleration
from api.meta import LabelSelector
from api.selectors import check_node_selector, matches, node_selector_matches, tolerates

LABELS = {"app": "web", "tier": "front", "empty": "", "cores": "16", "zone.example.com/name": "a"}


def selector(*expressions: tuple[str, str, list[str]], **labels: str) -> LabelSelector:
    requirements = [{"key": key, "operator": op, "values": values} for key, op, values in expressions]
    return msgspec.convert({"matchLabels": labels, "matchExpressions": requirements}, LabelSelector)


def terms(*terms_: dict[str, Any]) -> NodeSelector:
    return msgspec.convert({"nodeSelectorTerms": list(terms_)}, NodeSelector)


def expressions(*requirements: tuple[str, str, list[str]]) -> dict[str, Any]:
    return {"matchExpressions": [{"key": k, "operator": op, "values": v} for k, op, v in requirements]}


def fields(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


def test_none_selects_nothing_and_empty_everything() -> None:
    assert not matches(None, LABELS)
    assert matches(LabelSelector(), LABELS)
    assert matches(LabelSelector(), {})


@pytest.mark.parametrize(
    ("given_selector", "expected"),
    [
        (selector(app="web", tier="front"), True),
        (selector(app="web", tier="back"), False),
        (selector(missing=""), False),
        (selector(empty=""), True),
        (selector(("app", "In", ["db", "web"])), True),
        (selector(("missing", "In", [""])), False),
        (selector(("app", "NotIn", ["web"])), False),
        (selector(("missing", "NotIn", ["web"])), True),
        (selector(("empty", "Exists", [])), True),
        (selector(("missing", "Exists", [])), False),
        (selector(("empty", "DoesNotExist", [])), False),
        (selector(("missing", "DoesNotExist", [])), True),
        (selector(("app", "Exists", []), app="db"), False),
    ],
)
def test_label_selectors(given_selector: LabelSelector, expected: bool) -> None:
    assert matches(given_selector, LABELS) is expected


@pytest.mark.parametrize(
    ("given_selector", "field"),
    [
        (selector(("app", "In", [])), r"selector\.matchExpressions\[0\]\.values"),
        (selector(("app", "Exists", ["x"])), r"selector\.matchExpressions\[0\]\.values"),
        (selector(("app", "Gt", ["1"])), r"selector\.matchExpressions\[0\]\.operator"),
        (selector(("app", "Exists", []), ("a b", "Exists", [])), r"selector\.matchExpressions\[1\]\.key"),
        (selector(("app", "In", ["-x"])), r"selector\.matchExpressions\[0\]\.values"),
        (selector(app="a/b"), r"selector\.matchLabels\[app\]"),
        (LabelSelector(match_labels={"a/b/c": "x"}), r"selector\.matchLabels"),
        (LabelSelector(match_labels={"x" * 64: "x"}), r"selector\.matchLabels"),
    ],
)
def test_invalid_label_selectors_are_named_even_when_another_part_fails(
    given_selector: LabelSelector, field: str
) -> None:
    with pytest.raises(ValueError, match=field):
        matches(given_selector, {})


@pytest.mark.parametrize(
    ("node_selector", "expected"),
    [
        (terms(), False),
        (terms({}), False),
        (terms({}, expressions(("app", "Exists", []))), True),
        (terms(expressions(("app", "In", ["db"])), expressions(("tier", "In", ["front"]))), True),
        (terms(expressions(("app", "In", ["web"]), ("tier", "In", ["back"]))), False),
        (terms(expressions(("cores", "Gt", ["15"]))), True),
        (terms(expressions(("cores", "Gt", ["16"]))), False),
        (terms(expressions(("cores", "Lt", ["17"]))), True),
        (terms(expressions(("app", "Gt", ["1"]))), False),
        (terms(expressions(("missing", "Lt", ["1"]))), False),
        (terms(fields("metadata.name", "In", "n1")), True),
        (terms(fields("metadata.name", "NotIn", "n1")), False),
        (terms(fields("metadata.name", "In", "n2")), False),
        (terms(fields("metadata.uid", "In", "n1")), False),
        (terms(expressions(("app", "Exists", [])) | fields("metadata.name", "In", "n2")), False),
        # Invalid terms select nothing and leave the others alone.
        (terms(expressions(("cores", "Gt", ["many"]))), False),
        (terms(fields("metadata.name", "In", "n1", "n2")), False),
        (terms(fields("metadata.name", "Exists"), expressions(("app", "Exists", []))), True),
    ],
)
def test_node_selectors(node_selector: NodeSelector, expected: bool) -> None:
    assert node_selector_matches(node_selector, LABELS, "n1") is expected


@pytest.mark.parametrize(
    ("term", "field"),
    [
        (expressions(("cores", "Gt", ["-1"])), r"\.nodeSelectorTerms\[1\]\.matchExpressions\[0\]\.values"),
        (expressions(("cores", "Gt", ["9223372036854775808"])), r"matchExpressions\[0\]\.values"),
        (expressions(("cores", "Near", ["1"])), r"matchExpressions\[0\]\.operator"),
        (fields("metadata.name", "In", "a", "b"), r"matchFields\[0\]\.values"),
        (fields("metadata.name", "Exists"), r"matchFields\[0\]\.operator"),
    ],
)
def test_invalid_node_selectors_are_named(term: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match=field):
        check_node_selector(terms({}, term))


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (Toleration(), False),
        (Toleration(operator="Exists"), True),
        (Toleration(key="gpu", operator="Exists"), True),
        (Toleration(key="gpu", value="8"), True),
        (Toleration(key="gpu", operator="Equal", value="9"), False),
        (Toleration(value="8"), True),
        (Toleration(key="cpu", operator="Exists"), False),
        (Toleration(operator="Exists", effect="NoSchedule"), True),
        (Toleration(operator="Exists", effect="NoExecute"), False),
        (Toleration(key="gpu", operator="Lt", value="9"), False),
        (Toleration(key="gpu", operator="Gt", value="7"), False),
        (Toleration(key="gpu", operator="exists"), False),
    ],
)
def test_tolerations(toleration: Toleration, expected: bool) -> None:
    assert tolerates(toleration, Taint(key="gpu", value="8", effect="NoSchedule")) is expected


@pytest.mark.parametrize(
    ("operator", "bound", "number", "expected"),
    [
        ("Lt", "9", "8", True),
        ("Lt", "8", "8", False),
        ("Gt", "7", "8", True),
        ("Gt", "8", "8", False),
        ("Gt", "-9", "-8", True),
        ("Gt", "", "8", False),
        ("Gt", "7", "eight", False),
        ("Gt", "07", "8", False),
        ("Gt", "+7", "8", False),
        ("Gt", "-0", "8", False),
        ("Lt", "9223372036854775808", "8", False),
    ],
)
def test_tolerations_that_compare(operator: str, bound: str, number: str, expected: bool) -> None:
    """Numbers as a person writes them, of 64 bits; anything else covers nothing."""
    toleration = Toleration(key="gpu", operator=operator, value=bound)
    taint = Taint(key="gpu", value=number, effect="NoSchedule")
    assert tolerates(toleration, taint, comparisons=True) is expected
    assert not tolerates(toleration, taint)


KEYS = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["", "1", "2", "x"])
LABEL_SETS = st.dictionaries(KEYS, VALUES)


@given(KEYS, st.lists(VALUES, min_size=1), LABEL_SETS)
def test_opposite_operators_disagree(key: str, values: list[str], labels: dict[str, str]) -> None:
    assert matches(selector((key, "In", values)), labels) != matches(selector((key, "NotIn", values)), labels)
    assert matches(selector((key, "Exists", [])), labels) != matches(
        selector((key, "DoesNotExist", [])), labels
    )


@given(LABEL_SETS, LABEL_SETS)
def test_match_labels_are_a_subset(wanted: dict[str, str], labels: dict[str, str]) -> None:
    assert matches(LabelSelector(match_labels=wanted), labels) == (wanted.items() <= labels.items())

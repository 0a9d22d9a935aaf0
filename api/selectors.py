"""Matches label selectors, node selectors and tolerations like kube-scheduler 1.37 with default gates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from api.core import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Taint, Toleration
from api.meta import LabelSelector
from api.names import is_label_value, is_qualified_name

__all__ = [
    "check_node_selector",
    "check_selector",
    "matches",
    "node_selector_matches",
    "selects",
    "tolerates",
]

LABEL_OPERATORS: Final = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})
NODE_OPERATORS: Final = LABEL_OPERATORS | {"Gt", "Lt"}
INTEGER: Final = re.compile(r"[+-]?[0-9]+")
CANONICAL_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*")


class Requirement(Protocol):
    """meta/v1 LabelSelectorRequirement and core/v1 NodeSelectorRequirement, which differ in their operators."""

    @property
    def key(self) -> str: ...
    @property
    def operator(self) -> str: ...
    @property
    def values(self) -> list[str] | None: ...


def matches(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether the selector selects the labels. As in policy/v1, None selects nothing, and an empty one everything.

    Raises ValueError, which names the field, for a selector that an API server would refuse.
    """
    if selector is None:
        return False
    check_selector(selector)
    return selects(selector, labels)


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether the selector selects the labels. The selector must be valid: see `check_selector`."""
    if any(labels.get(key) != value for key, value in (selector.match_labels or {}).items()):
        return False
    return all(_holds(requirement, labels) for requirement in selector.match_expressions or ())


def node_selector_matches(selector: NodeSelector, labels: Mapping[str, str], node_name: str) -> bool:
    """Whether one of the selector's terms selects the node. An empty or invalid term selects no node."""
    return any(_term_matches(term, labels, node_name) for term in selector.node_selector_terms or ())


def tolerates(toleration: Toleration, taint: Taint, *, comparisons: bool = False) -> bool:
    """Whether the toleration covers the taint.

    With `comparisons`, the operators Lt and Gt cover taints with a lower or greater number. In kube-scheduler 1.37
    their gate, TaintTolerationComparisonOperators, is off by default.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    if toleration.operator in ("Lt", "Gt"):
        return comparisons and _compares(toleration, taint)
    return toleration.operator == "Exists"


def _compares(toleration: Toleration, taint: Taint) -> bool:
    texts = toleration.value, taint.value
    if not all(CANONICAL_INTEGER.fullmatch(text) for text in texts):
        return False
    bound, number = map(_int64, texts)
    if number is None or bound is None:
        return False
    return number < bound if toleration.operator == "Lt" else number > bound


def check_selector(selector: LabelSelector, path: str = "selector") -> None:
    """Raise ValueError for an invalid selector. The message names the invalid field below `path`."""
    for key, label in (selector.match_labels or {}).items():
        _check_key(key, f"{path}.matchLabels")
        if not is_label_value(label):
            raise ValueError(f"{path}.matchLabels[{key}]: not a label value: {label!r}")
    for index, requirement in enumerate(selector.match_expressions or ()):
        _check_requirement(requirement, LABEL_OPERATORS, f"{path}.matchExpressions[{index}]")


def check_node_selector(selector: NodeSelector, path: str = "nodeSelector") -> None:
    """Raise ValueError for an invalid selector. The message names the invalid field below `path`."""
    for index, term in enumerate(selector.node_selector_terms or ()):
        _check_term(term, f"{path}.nodeSelectorTerms[{index}]")


def _term_matches(term: NodeSelectorTerm, labels: Mapping[str, str], node_name: str) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    try:
        _check_term(term, "")
    except ValueError:
        # The scheduler skips an invalid term. Other terms may still select the node.
        return False
    return all(_holds(requirement, labels) for requirement in term.match_expressions or ()) and all(
        _field_holds(requirement, node_name) for requirement in term.match_fields or ()
    )


def _field_holds(requirement: NodeSelectorRequirement, node_name: str) -> bool:
    """Whether a requirement on fields holds. A node has only the field metadata.name; other fields are empty."""
    held = node_name if requirement.key == "metadata.name" else ""
    return (held in (requirement.values or ())) == (requirement.operator == "In")


def _holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether a valid requirement on labels holds."""
    held = labels.get(requirement.key)
    values: Sequence[str] = requirement.values or ()
    match requirement.operator:
        case "In":
            return held is not None and held in values
        case "NotIn":
            return held is None or held not in values
        case "Exists":
            return held is not None
        case "DoesNotExist":
            return held is None
        case _:
            number, bound = _int64(held or ""), _int64(values[0])
            if number is None or bound is None:
                return False
            return number > bound if requirement.operator == "Gt" else number < bound


def _check_term(term: NodeSelectorTerm, path: str) -> None:
    for index, requirement in enumerate(term.match_expressions or ()):
        _check_requirement(requirement, NODE_OPERATORS, f"{path}.matchExpressions[{index}]")
    for index, requirement in enumerate(term.match_fields or ()):
        where = f"{path}.matchFields[{index}]"
        if requirement.operator not in ("In", "NotIn"):
            raise ValueError(f"{where}.operator: must be In or NotIn, not {requirement.operator!r}")
        if len(requirement.values or ()) != 1:
            raise ValueError(f"{where}.values: must have one value")


def _check_requirement(requirement: Requirement, operators: frozenset[str], path: str) -> None:
    _check_key(requirement.key, f"{path}.key")
    operator, values = requirement.operator, requirement.values or ()
    if operator not in operators:
        raise ValueError(f"{path}.operator: not one of {', '.join(sorted(operators))}: {operator!r}")
    if operator in ("In", "NotIn") and not values:
        raise ValueError(f"{path}.values: {operator} needs at least one value")
    if operator in ("Exists", "DoesNotExist") and values:
        raise ValueError(f"{path}.values: {operator} takes no values")
    if operator in ("Gt", "Lt") and (len(values) != 1 or _int64(values[0]) is None):
        raise ValueError(f"{path}.values: {operator} takes one integer")
    for value in values:
        if not is_label_value(value):
            raise ValueError(f"{path}.values: not a label value: {value!r}")


def _check_key(key: str, path: str) -> None:
    if not is_qualified_name(key):
        raise ValueError(f"{path}: not a label key: {key!r}")


def _int64(text: str) -> int | None:
    """Go's strconv.ParseInt(text, 10, 64)."""
    if INTEGER.fullmatch(text) is None or len(text) > 64:
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None

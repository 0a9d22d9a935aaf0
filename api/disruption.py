"""What users say of disruption in annotations of pods and PodGroups."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeVar

from api.validation import FieldError
from api.words import shown

__all__ = [
    "BUDGETS_ANNOTATION",
    "BUDGET_POLICIES",
    "COST_ANNOTATION",
    "COST_MOST",
    "DISRUPTION_TARGET",
    "BudgetPolicy",
    "DaemonSetPods",
    "ScoreTerm",
    "budget_policy",
    "check_terms",
    "disruption_cost",
    "parse_budget_policy",
    "parse_cost",
]

T = TypeVar("T")

ScoreTerm = Literal["DisruptionCost", "Cascade", "Fragmentation"]
"""An optional term of a plan's score."""

BudgetPolicy = Literal["Ignore", "Prefer", "Respect"]
"""How far PodDisruptionBudgets count when somebody is evicted. Ignore: not at all. Prefer: a plan that exceeds them
less is better. Respect: no plan exceeds them."""
BUDGET_POLICIES: Final[tuple[BudgetPolicy, ...]] = ("Ignore", "Prefer", "Respect")
"""The stricter ones come later."""

DaemonSetPods = Literal["Keep", "Evict"]
"""Keep: no pod of a DaemonSet is evicted. Its controller creates it again on the same node, whatever that takes.
Evict: it goes like any other pod."""

DISRUPTION_TARGET: Final = "DisruptionTarget"
"""The condition of a pod that is about to be evicted (KEP-3329), and of its PodGroup."""
COST_ANNOTATION: Final = "reprieve.dev/disruption-cost"
"""On a pod or PodGroup: what it costs to evict it. Higher is dearer, and no annotation means 0."""
BUDGETS_ANNOTATION: Final = "reprieve.dev/disruption-budgets"
"""On a PodGroup: the BudgetPolicy for those who are evicted for it."""
COST_MOST: Final = 2**31 - 1

COST: Final = re.compile(r"[0-9]{1,10}", re.ASCII)


def parse_cost(text: str) -> int:
    """The value of COST_ANNOTATION. Raises ValueError, which does not name the annotation."""
    if not COST.fullmatch(text) or int(text) > COST_MOST:
        raise ValueError(f"{shown(text)} is not a whole number from 0 to {COST_MOST}")
    return int(text)


def parse_budget_policy(text: str) -> BudgetPolicy:
    """The value of BUDGETS_ANNOTATION. Raises ValueError, which does not name the annotation."""
    for policy in BUDGET_POLICIES:
        if text == policy:
            return policy
    raise ValueError(f"{shown(text)} is not {', '.join(BUDGET_POLICIES[:-1])} or {BUDGET_POLICIES[-1]}")


def check_terms(terms: Sequence[ScoreTerm], field: str) -> None:
    """Raises FieldError if a term of the score, which this field gives, is there twice."""
    for index, term in enumerate(terms):
        if term in terms[:index]:
            raise FieldError(f"{field}[{index}]", f"{term} is there already")


def disruption_cost(annotations: Mapping[str, str] | None) -> int | None:
    """What these annotations say; None if they do not say it, or not in a way that can be read."""
    return _said(annotations, COST_ANNOTATION, parse_cost)


def budget_policy(annotations: Mapping[str, str] | None) -> BudgetPolicy | None:
    """What these annotations say; None if they do not say it, or not in a way that can be read."""
    return _said(annotations, BUDGETS_ANNOTATION, parse_budget_policy)


def _said(annotations: Mapping[str, str] | None, name: str, parse: Callable[[str], T]) -> T | None:
    text = annotations.get(name) if annotations else None
    try:
        return parse(text) if text is not None else None
    except ValueError:
        return None

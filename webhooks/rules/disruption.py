"""The annotations of pods and PodGroups that say what disruption costs and how far budgets count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from api.disruption import BUDGETS_ANNOTATION, COST_ANNOTATION, parse_budget_policy, parse_cost
from webhooks.rules.fields import child, entries
from webhooks.rules.request import Object

__all__ = ["annotation_faults"]

PARSERS: Final[dict[str, Callable[[str], object]]] = {
    BUDGETS_ANNOTATION: parse_budget_policy,
    COST_ANNOTATION: parse_cost,
}


def annotation_faults(item: Object, *annotations: str) -> Iterator[tuple[str, str]]:
    """Pairs of (field, fault) of an object of any kind. Only these annotations are looked at."""
    said = entries(child(item, "metadata"), "annotations")
    for annotation in annotations:
        if annotation not in said:
            continue
        try:
            PARSERS[annotation](said[annotation])
        except ValueError as error:
            yield f"metadata.annotations[{annotation}]", str(error)

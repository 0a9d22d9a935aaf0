"""Selectors, tolerations and conditions, checked as apimachinery checks them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from api.syntax import condition_reason_faults, label_value_faults
from api.times import is_zero
from api.words import shown
from schema.labels import invalid, label_causes, label_key_causes
from schema.verdict import DUPLICATE, FORBIDDEN, INVALID, NOT_SUPPORTED, REQUIRED, TOO_LONG, Cause
from webhooks.rules.fields import entries, integer, items, text, texts
from webhooks.rules.request import Object

__all__ = [
    "condition_causes",
    "selector_causes",
    "toleration_causes",
]

MAX_REASON: Final = 1024
MAX_MESSAGE: Final = 32 * 1024
STATUSES: Final = ("False", "True", "Unknown")


def toleration_causes(tolerations: Iterable[Object], path: str) -> Iterator[Cause]:
    """The faults in the keys of tolerations. An empty key stands for all keys."""
    for index, toleration in enumerate(tolerations):
        if key := text(toleration, "key"):
            yield from label_key_causes(key, f"{path}[{index}].key")


def selector_causes(selector: Object, path: str) -> Iterator[Cause]:
    """The faults in a meta/v1 LabelSelector."""
    yield from label_causes(entries(selector, "matchLabels"), f"{path}.matchLabels")
    for index, requirement in enumerate(items(selector, "matchExpressions")):
        yield from _requirement_causes(requirement, f"{path}.matchExpressions[{index}]")


def _requirement_causes(requirement: Object, path: str) -> Iterator[Cause]:
    operator, values = text(requirement, "operator"), texts(requirement, "values")
    if operator in ("In", "NotIn"):
        if not values:
            yield Cause(f"{path}.values", REQUIRED, f"operator {operator} needs values")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield Cause(f"{path}.values", FORBIDDEN, f"operator {operator} takes no values")
    else:
        yield Cause(
            f"{path}.operator", INVALID, f"{shown(operator)} is not In, NotIn, Exists or DoesNotExist"
        )
    yield from label_key_causes(text(requirement, "key"), f"{path}.key")
    for index, value in enumerate(values):
        yield from invalid(f"{path}.values[{index}]", label_value_faults(value))


def condition_causes(conditions: Iterable[Object], path: str) -> Iterator[Cause]:
    """The faults in a list of meta/v1 Conditions."""
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind = text(condition, "type")
        if kind in seen:
            yield Cause(f"{path}[{index}].type", DUPLICATE, f"{shown(kind)} is there already")
        seen.add(kind)
        yield from label_key_causes(kind, f"{path}[{index}].type")
        yield from _status_causes(condition, f"{path}[{index}]")
        yield from _text_causes(condition, f"{path}[{index}]")


def _status_causes(condition: Object, path: str) -> Iterator[Cause]:
    if (status := text(condition, "status")) not in STATUSES:
        yield Cause(f"{path}.status", NOT_SUPPORTED, f"{shown(status)} is not one of {', '.join(STATUSES)}")
    if (integer(condition, "observedGeneration") or 0) < 0:
        yield Cause(f"{path}.observedGeneration", INVALID, "is negative")
    if is_zero(condition.get("lastTransitionTime")):
        yield Cause(f"{path}.lastTransitionTime", REQUIRED, "must be set")


def _text_causes(condition: Object, path: str) -> Iterator[Cause]:
    reason = text(condition, "reason")
    if not reason:
        yield Cause(f"{path}.reason", REQUIRED, "must be set")
    else:
        yield from invalid(f"{path}.reason", condition_reason_faults(reason))
        if len(reason.encode(errors="replace")) > MAX_REASON:
            yield Cause(f"{path}.reason", TOO_LONG, f"is longer than {MAX_REASON} bytes")
    if len(text(condition, "message").encode(errors="replace")) > MAX_MESSAGE:
        yield Cause(f"{path}.message", TOO_LONG, f"is longer than {MAX_MESSAGE} bytes")

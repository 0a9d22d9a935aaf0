"""The objects that decide about the requests of pods besides the pods: LimitRanges and RuntimeClasses.

See `quota.search.adjusted`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from api.core import Quantities
from api.limits import LimitRange, LimitRangeItem, RuntimeClass
from quota.state.amounts import request_amount

__all__ = ["NO_SURROUNDINGS", "KnownSurroundings", "Summary", "Surroundings"]

CONTAINER: Final = "Container"
POD: Final = "Pod"


@dataclass(frozen=True, slots=True)
class Summary:
    """The LimitRanges of a namespace, taken together."""

    containers: LimitRangeItem | None = None
    """None: no LimitRange is about containers."""
    pods: LimitRangeItem | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the API server adds to pods, and what it refuses. It never changes: each change makes another one."""

    summaries: Mapping[str, Summary] = field(default_factory=dict)
    """By namespace; a namespace without LimitRanges is left out."""
    runtime_classes: Mapping[str, RuntimeClass] | None = None
    """By name. None: they are not known, and no RuntimeClass is missing."""


NO_SURROUNDINGS: Final = Surroundings()


class KnownSurroundings:
    """The surroundings that objects make. A snapshot of them never changes."""

    def __init__(self, *, partial: bool = False) -> None:
        """`partial`: as long as there is no RuntimeClass at all, none is missing."""
        self.now = Surroundings(runtime_classes=None if partial else {})
        self._ranges: dict[str, dict[str, LimitRange]] = {}
        """By namespace and name."""

    def apply(self, thing: LimitRange | RuntimeClass) -> bool:
        """Add an object, or replace the one with its name. Returns whether anything has changed. Raises QuotaError, and
        then changes nothing."""
        return self._apply_range(thing) if isinstance(thing, LimitRange) else self._apply_class(thing)

    def delete(self, kind: str, key: str) -> None:
        """Forget a LimitRange (`namespace/name`) or a RuntimeClass (name), if it is here."""
        if kind == "RuntimeClass":
            known = self.now.runtime_classes or {}
            left = {name: each for name, each in known.items() if name != key}
            self.now = replace(self.now, runtime_classes=left)
            return
        namespace, _, name = key.partition("/")
        ranges = self._ranges.get(namespace, {})
        self._set(namespace, {other: each for other, each in ranges.items() if other != name})

    def _apply_range(self, limits: LimitRange) -> bool:
        namespace, name = limits.metadata.namespace, limits.metadata.name
        ranges = self._ranges.get(namespace, {})
        if name in ranges and ranges[name].spec == limits.spec:
            return False
        _check(limits)
        self._set(namespace, {**ranges, name: limits})
        return True

    def _set(self, namespace: str, ranges: dict[str, LimitRange]) -> None:
        summaries = dict(self.now.summaries)
        if ranges:
            self._ranges[namespace] = ranges
            summaries[namespace] = summary_of(ranges.values())
        else:
            self._ranges.pop(namespace, None)
            summaries.pop(namespace, None)
        self.now = replace(self.now, summaries=summaries)

    def _apply_class(self, runtime: RuntimeClass) -> bool:
        name, known = runtime.metadata.name, self.now.runtime_classes or {}
        if name in known and known[name].overhead == runtime.overhead:
            return False
        overhead = runtime.overhead.pod_fixed if runtime.overhead is not None else None
        _check_amounts(overhead, f"RuntimeClass {name}", "overhead.podFixed")
        self.now = replace(self.now, runtime_classes={**known, name: runtime})
        return True


def summary_of(ranges: Iterable[LimitRange]) -> Summary:
    """The lowest maxima, the highest minima, and the defaults of the first object by name that has them."""
    items: dict[str, LimitRangeItem] = {}
    for each in sorted(ranges, key=lambda each: each.metadata.name):
        for item in each.spec.limits or ():
            items[item.type] = _joined(items[item.type], item) if item.type in items else item
    return Summary(items.get(CONTAINER), items.get(POD))


def _joined(one: LimitRangeItem, other: LimitRangeItem) -> LimitRangeItem:
    return LimitRangeItem(
        type=one.type,
        max=_picked(one.max, other.max, smaller=True),
        min=_picked(one.min, other.min, smaller=False),
        default={**(other.default or {}), **(one.default or {})},
        default_request={**(other.default_request or {}), **(one.default_request or {})},
    )


def _picked(one: Quantities | None, other: Quantities | None, *, smaller: bool) -> Quantities:
    picked = dict(one or {})
    for name, quantity in (other or {}).items():
        if name not in picked:
            picked[name] = quantity
            continue
        is_smaller = request_amount(name, quantity, "", name) < request_amount(name, picked[name], "", name)
        if is_smaller == smaller:
            picked[name] = quantity
    return picked


def _check(limits: LimitRange) -> None:
    subject = f"LimitRange {limits.metadata.namespace}/{limits.metadata.name}"
    for index, item in enumerate(limits.spec.limits or ()):
        path = f"spec.limits[{index}]"
        _check_amounts(item.max, subject, f"{path}.max")
        _check_amounts(item.min, subject, f"{path}.min")
        _check_amounts(item.default, subject, f"{path}.default")
        _check_amounts(item.default_request, subject, f"{path}.defaultRequest")


def _check_amounts(quantities: Quantities | None, subject: str, path: str) -> None:
    for name, quantity in (quantities or {}).items():
        request_amount(name, quantity, subject, f"{path}[{name}]")

"""The objects that decide about the requests of pods besides the pods: LimitRanges and RuntimeClasses.

See `quota.search.adjusted`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from api.core import Quantities
from api.limits import LimitRange, RuntimeClass
from quota.state.amounts import request_amount
from schema.defaults.limit_ranges import Summary, summary_of

__all__ = ["NO_SURROUNDINGS", "KnownSurroundings", "Surroundings"]


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

    def copied(self) -> KnownSurroundings:
        """The same objects. Later events of one do not change the other."""
        other = KnownSurroundings()
        other.now, other._ranges = self.now, dict(self._ranges)
        return other

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
        if name in known and _same(known[name], runtime):
            return False
        overhead = runtime.overhead.pod_fixed if runtime.overhead is not None else None
        _check_amounts(overhead, f"RuntimeClass {name}", "overhead.podFixed")
        self.now = replace(self.now, runtime_classes={**known, name: runtime})
        return True


def _same(one: RuntimeClass, other: RuntimeClass) -> bool:
    return (one.overhead, one.scheduling) == (other.overhead, other.scheduling)


def _check(limits: LimitRange) -> None:
    subject = f"LimitRange {limits.metadata.namespace}/{limits.metadata.name}"
    for index, item in enumerate(limits.spec.limits or ()):
        path = f"spec.limits[{index}]"
        _check_amounts(item.max, subject, f"{path}.max")
        _check_amounts(item.min, subject, f"{path}.min")
        _check_amounts(item.default, subject, f"{path}.default")
        _check_amounts(item.default_request, subject, f"{path}.defaultRequest")
        _check_amounts(item.max_limit_request_ratio, subject, f"{path}.maxLimitRequestRatio")


def _check_amounts(quantities: Quantities | None, subject: str, path: str) -> None:
    for name, quantity in (quantities or {}).items():
        request_amount(name, quantity, subject, f"{path}[{name}]")

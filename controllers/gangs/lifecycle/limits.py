"""How many pods may be evicted within an hour, and what was evicted when. Pure functions.

The count is made from the stored plans, so a new leader has the same one. See docs/decisions/0112.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from api.plans import PreemptionPlanSpec
from api.times import rfc3339
from api.words import counted

__all__ = [
    "HOUR_SECONDS",
    "IN_VAIN",
    "LIMIT",
    "NAMES",
    "NOWHERE",
    "REACHED",
    "Asked",
    "Evicted",
    "EvictionLimits",
    "LimitName",
    "Limited",
    "Pods",
    "Scope",
    "Tally",
    "brake",
    "limited",
    "namespaces_of",
    "tally",
]

HOUR_SECONDS: Final = 3600.0

LimitName = Literal["podsPerPlan", "podsPerHour", "podsPerNamespaceAndHour", "plansInVainPerHour"]
"""The fields of `planning.limits`."""
PER_PLAN: Final[LimitName] = "podsPerPlan"
PER_HOUR: Final[LimitName] = "podsPerHour"
PER_NAMESPACE: Final[LimitName] = "podsPerNamespaceAndHour"
IN_VAIN: Final[LimitName] = "plansInVainPerHour"
NAMES: Final = (PER_PLAN, PER_HOUR, PER_NAMESPACE, IN_VAIN)

LIMIT: Final = "EvictionLimit"
"""The reason of a gang whose decision has more victims than any hour or plan may have."""
REACHED: Final = "EvictionLimitReached"
"""The reason of a gang that waits until more may be evicted, and of a plan that ended because of that."""

Pods = Mapping[str, str]
"""Victims: namespaces by UID. A namespace that is not known is empty, and counts for every namespace."""
Scope = tuple[LimitName, str]
"""A limit, and the namespace that it is for. The namespace is empty for a limit of everything."""
NOWHERE: Final = ""


@dataclass(frozen=True, slots=True)
class EvictionLimits:
    """What operators set: `planning.limits`. None: no limit."""

    per_plan: int | None = None
    per_hour: int | None = None
    per_namespace: int | None = None
    """And hour: of the victims in one namespace."""
    in_vain: int | None = None
    """Plans per hour that evict in vain. After that, nobody is evicted for an hour."""


@dataclass(frozen=True, slots=True)
class Evicted:
    """What one plan evicted. Times are seconds since the epoch."""

    pods: Pods
    at: float
    """The latest time at which it evicted, as far as it has ended."""
    goes_on: bool = False
    """It still evicts, so its pods count however long ago it began."""

    def counts(self, now: float) -> bool:
        """Whether that was within the last hour."""
        return self.goes_on or now < self.until

    @property
    def until(self) -> float:
        """When its pods cease to count, if it evicts no more."""
        return self.at + HOUR_SECONDS


@dataclass(frozen=True, slots=True)
class Tally:
    """The pods that count at one moment. Each pod counts once."""

    pods: Pods
    until: Mapping[str, float]
    """When each of them (UID) ceases to count."""
    by_namespace: Mapping[str, int]

    def among(self, scope: Scope) -> int:
        """The number of pods that count for this limit."""
        name, namespace = scope
        if name == PER_HOUR:
            return len(self.pods)
        return self.by_namespace.get(namespace, 0) + self.by_namespace.get(NOWHERE, 0)

    def leaves(self, scope: Scope) -> list[float]:
        """When they cease to count, in order."""
        name, namespace = scope
        of = (uid for uid, place in self.pods.items() if name == PER_HOUR or place in (namespace, NOWHERE))
        return sorted(self.until[uid] for uid in of)


def tally(evicted: Iterable[Evicted], now: float) -> Tally:
    """What counts at `now`. A pod that several plans wanted to evict counts as long as the last of them does."""
    pods: dict[str, str] = {}
    until: dict[str, float] = {}
    for each in evicted:
        if not each.counts(now):
            continue
        for uid, namespace in each.pods.items():
            pods[uid] = namespace or pods.get(uid, NOWHERE)
            until[uid] = max(each.until, until.get(uid, 0.0))
    return Tally(pods, until, Counter(pods.values()))


def namespaces_of(spec: PreemptionPlanSpec) -> dict[str, str]:
    """The victims of a decision."""
    return {pod.uid: pod.namespace for victim in spec.victims for pod in victim.pods}


def brake(verdicts: Iterable[float], most: int | None, resumed: float) -> float:
    """Until when nobody is evicted because of plans in vain; 0 if that never was so. Times are seconds since the epoch.

    `verdicts`: when plans were found to be in vain. It lasts for an hour from the verdict that reached the limit, and a
    verdict of the time before somebody resumed does not count.
    """
    if most is None:
        return 0.0
    times = sorted(at for at in verdicts if at > resumed)
    pairs = zip(times, times[most - 1 :], strict=False)
    return max((last + HOUR_SECONDS for first, last in pairs if last - first < HOUR_SECONDS), default=0.0)


@dataclass(frozen=True, slots=True)
class Limited:
    """Why a decision is not carried out now."""

    reason: Literal["EvictionLimit", "EvictionLimitReached"]
    message: str
    """People of the preemptor's namespace read it, so it names no other namespace (docs/decisions/0037)."""
    scopes: tuple[Scope, ...]
    """The limits that it waits for."""
    pods: Pods
    """What it would evict."""
    until: float | None = None
    """When it may be carried out at the earliest, in seconds since the epoch. None: time alone does not tell."""

    @property
    def waits(self) -> bool:
        """Whether it may be carried out later."""
        return self.reason == REACHED


@dataclass(frozen=True, slots=True)
class Asked:
    """What the answer depends on besides the limits. Times are seconds since the epoch."""

    pods: Pods
    """Victims of the decision."""
    evicted: Tally
    now: float
    planned: Collection[Pods] = ()
    """Victims of plans that come first and have not evicted yet."""
    waiting: Mapping[Scope, float | None] = field(default_factory=dict)
    """Limits for which preemptors wait that come first, and until when they wait."""
    braked: float = 0.0
    """See `brake`."""


def limited(limits: EvictionLimits, asked: Asked) -> Limited | None:
    """Why these pods may not be evicted now; None if they may."""
    if not asked.pods:
        return None
    too_many = _too_many(limits, asked.pods)
    if too_many is not None:
        return too_many
    if asked.now < asked.braked:
        plans = counted(limits.in_vain or 0, "plan")
        why = f"{plans} evicted pods in vain within an hour (planning.limits.{IN_VAIN})"
        return _reached(((IN_VAIN, NOWHERE),), why, asked, asked.braked)
    taken = [found for each in _scopes(limits, asked.pods) if (found := _full(*each, asked))]
    if not taken:
        return None
    times = [until for _, _, until in taken]
    latest = None if None in times else max(until for until in times if until is not None)
    return _reached(tuple(scope for scope, _, _ in taken), taken[0][1], asked, latest)


def _too_many(limits: EvictionLimits, pods: Pods) -> Limited | None:
    """A decision with more victims than any hour may have never becomes possible by waiting."""
    most = max(Counter(pods.values()).values())
    for name, number, limit, of in (
        (PER_PLAN, len(pods), limits.per_plan, ""),
        (PER_HOUR, len(pods), limits.per_hour, ""),
        (PER_NAMESPACE, most, limits.per_namespace, " of one namespace"),
    ):
        if limit is not None and number > limit:
            why = f"it would evict {counted(number, 'pod')}{of}, and planning.limits.{name} is {limit}"
            return Limited(LIMIT, why, ((name, NOWHERE),), pods)
    return None


def _scopes(limits: EvictionLimits, pods: Pods) -> Iterator[tuple[Scope, int]]:
    """The limits that concern these pods."""
    if limits.per_hour is not None:
        yield (PER_HOUR, NOWHERE), limits.per_hour
    if limits.per_namespace is not None:
        for each in sorted({*pods.values()} - {NOWHERE}):
            yield (PER_NAMESPACE, each), limits.per_namespace


def _full(scope: Scope, limit: int, asked: Asked) -> tuple[Scope, str, float | None] | None:
    """Whether the limit leaves no room for the pods: why, and until when."""
    name, evicted = scope[0], asked.evicted
    new = _among(asked.pods, scope) - evicted.pods.keys()
    ahead = set[str]().union(*(_among(pods, scope) for pods in asked.planned))
    ahead -= evicted.pods.keys() | new
    used = evicted.among(scope)
    over = used + len(ahead) + len(new) - limit
    if over > 0:
        leaves = evicted.leaves(scope)
        until = leaves[over - 1] if over <= len(leaves) else None
        where = "" if name == PER_HOUR else " of one namespace"
        soon = f", {len(ahead)} more are about to be evicted" if ahead else ""
        was = f"{used} {'was' if used == 1 else 'were'} evicted within the last hour{soon}"
        why = (
            f"it would evict {counted(len(new), 'pod')}{where}, {was}, and planning.limits.{name} is {limit}"
        )
        return scope, why, until
    if scope in asked.waiting:
        return scope, f"a preemptor that comes first waits for planning.limits.{name}", asked.waiting[scope]
    return None


def _among(pods: Pods, scope: Scope) -> set[str]:
    name, namespace = scope
    return {uid for uid, place in pods.items() if name == PER_HOUR or place == namespace}


def _reached(scopes: tuple[Scope, ...], why: str, asked: Asked, until: float | None) -> Limited:
    """It waits. A time that has passed tells nothing: a plan evicts for longer than an hour."""
    if until is not None and until <= asked.now:
        until = None
    end = f" until {rfc3339(math.ceil(until))}" if until is not None else ""
    return Limited(REACHED, f"it waits{end}: {why}", scopes, asked.pods, until)

"""Which flavors a workload would get, in which it was looked for, and what stood in the way of each.

See docs/decisions/0013.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from native.codes import NO_CANDIDATES, PREEMPT, RECLAIM

__all__ = [
    "Assigned",
    "Assignment",
    "Attempt",
    "Check",
    "FlavorSearch",
    "Mode",
    "NoFitReason",
    "Outcome",
    "PodSetFlavors",
    "QuotaRule",
    "SIMULATED",
    "Stop",
    "Tried",
]

Mode = Literal["Fit", "Preempt", "NoFit"]

Outcome = Literal["Fit", "Reclaim", "Preempt", "NoCandidates", "NoFit"]
"""From best to worst. Reclaim: others give back what they borrowed. Preempt: workloads of the own ClusterQueue go, too.
NoCandidates: preemption would be needed, and nobody may go. Of these three the mode is Preempt."""

QuotaRule = Literal[
    "WithinAvailable",
    "ExceedsMaxQuota",
    "ExceedsNominalQuota",
    "NotSimulated",
    "PreemptionReclaims",
    "PreemptionSuffices",
    "NoPreemptionCandidates",
]
"""What decided about a resource in a flavor.

WithinAvailable: it is free. ExceedsMaxQuota: there would not be as much if nobody used any. ExceedsNominalQuota: it
is not free, and nobody goes for what is beyond the nominal quota. NotSimulated: it is not free, and another resource
rules the flavor out. The others are what a simulated preemption for this resource alone says.
"""

NoFitReason = Literal["", "WaitingForQuota", "ExceedsMaxQuota", "NoMatchingFlavor"]
"""Reason of QuotaReserved=False, from least to most severe."""

Stop = Literal["Fits", "WhenCanPreempt", "WhenCanBorrow", "LastFlavor", "NotCovered"]
"""Why no further flavor was tried: it fits without borrowing, the policy is MayStopSearch, there was none, or the
ClusterQueue has no quota for the resource in any."""

Tried = Mapping[str, Mapping[str, int]]
"""By pod set and resource: index of the last flavor tried in its group, -1 if that was the last there is."""

SIMULATED: Final[Mapping[int, tuple[Outcome, QuotaRule]]] = {
    NO_CANDIDATES: ("NoCandidates", "NoPreemptionCandidates"),
    PREEMPT: ("Preempt", "PreemptionSuffices"),
    RECLAIM: ("Reclaim", "PreemptionReclaims"),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One resource in one flavor. Amounts are in canonical units."""

    resource: str
    asked: int
    earlier: int
    """What earlier pod sets of the workload take of it."""
    available: int
    potential: int
    """What would be available if nobody used any."""
    nominal: int
    """The ClusterQueue's own quota."""
    borrowing: int
    """Height of the smallest subtree whose quota suffices; 0 is within the own quota."""
    outcome: Outcome | None
    """None where NotSimulated."""
    rule: QuotaRule
    reason: str
    """As Kueue puts it; "" where it fits."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One flavor for all resources of a group."""

    flavor: str
    outcome: Outcome
    """The worst of its resources."""
    borrowing: int
    """Of the resource with the worst outcome."""
    checks: tuple[Check, ...]
    """By resource; none if the pods cannot have this flavor at all."""
    mismatch: str
    """Why they cannot: the flavor is not there, its taints, labels."""

    @property
    def no_fit_reason(self) -> NoFitReason:
        if self.outcome != "NoFit":
            return ""
        if not self.checks:
            return "NoMatchingFlavor"
        exceeds = any(check.rule == "ExceedsMaxQuota" for check in self.checks)
        return "ExceedsMaxQuota" if exceeds else "WaitingForQuota"


@dataclass(frozen=True, slots=True)
class FlavorSearch:
    """The flavors that were tried for resources that must have the same one."""

    pod_sets: tuple[str, ...]
    """More than one where they share a podSetGroupName."""
    resources: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    chosen: str | None
    """The flavor taken; None if there is none."""
    stop: Stop


@dataclass(frozen=True, slots=True)
class Assigned:
    """The flavor of one resource."""

    flavor: str
    mode: Mode
    borrowing: int
    tried: int
    """Index of the last flavor tried in its group, -1 if that was the last there is."""


@dataclass(frozen=True, slots=True)
class PodSetFlavors:
    """The flavors of one pod set."""

    name: str
    count: int
    requests: Mapping[str, int]
    """By resource; `pods` is one of them if the ClusterQueue has quota for it."""
    flavors: Mapping[str, Assigned]
    """By resource. Without those that are not covered and of which nothing is asked."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The flavors of a workload."""

    mode: Mode
    borrowing: int
    """The highest of all resources."""
    pod_sets: tuple[PodSetFlavors, ...]
    """In the order of the spec. Where nothing fits: those before the one that does not."""
    usage: Mapping[tuple[str, str], int]
    """What they use together, by flavor and resource; more than 0."""
    contested: frozenset[tuple[str, str]]
    """Flavor-resources that are to be had only by preemption."""
    searches: tuple[FlavorSearch, ...]
    tried: Tried | None
    """Where the next search goes on; None if all flavors were tried."""
    message: str
    """As Kueue puts it; "" where it fits at once."""
    no_fit_reason: NoFitReason

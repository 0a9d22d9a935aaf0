"""The flavors that a workload would get, the flavors that were tried, and why each of them was taken or not.

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
"""The result for a resource or a flavor, from best to worst.

Reclaim: other ClusterQueues give back what they borrowed. Preempt: workloads of the same ClusterQueue are preempted,
too. NoCandidates: preemption would be needed, but no workload may be preempted. The mode of these three is Preempt.
"""

QuotaRule = Literal[
    "WithinAvailable",
    "ExceedsMaxQuota",
    "ExceedsNominalQuota",
    "NotSimulated",
    "PreemptionReclaims",
    "PreemptionSuffices",
    "NoPreemptionCandidates",
]
"""The rule that decided about a resource in a flavor.

WithinAvailable: the amount is free. ExceedsMaxQuota: the amount would not be free even if no quota was in use.
ExceedsNominalQuota: the amount is not free and is more than the nominal quota, and no workload may be preempted for
that. NotSimulated: the amount is not free, and another resource rules the flavor out. The other rules come from a
simulated preemption for this resource alone.
"""

NoFitReason = Literal["", "WaitingForQuota", "ExceedsMaxQuota", "NoMatchingFlavor"]
"""Reason of QuotaReserved=False, from least to most severe."""

Stop = Literal["Fits", "WhenCanPreempt", "WhenCanBorrow", "LastFlavor", "NotCovered"]
"""Why the search tried no further flavor.

Fits: the flavor fits without borrowing. WhenCanPreempt, WhenCanBorrow: this policy is MayStopSearch. LastFlavor:
there was no other flavor. NotCovered: the ClusterQueue has no quota for the resource in any flavor.
"""

Tried = Mapping[str, Mapping[str, int]]
"""By pod set and resource: the index of the last flavor that was tried in its group; -1 if it was the last flavor of
the group."""

SIMULATED: Final[Mapping[int, tuple[Outcome, QuotaRule]]] = {
    NO_CANDIDATES: ("NoCandidates", "NoPreemptionCandidates"),
    PREEMPT: ("Preempt", "PreemptionSuffices"),
    RECLAIM: ("Reclaim", "PreemptionReclaims"),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One resource in one flavor. Amounts are in canonical units (see `quota.state.amounts`)."""

    resource: str
    asked: int
    earlier: int
    """The amount that earlier pod sets of the workload take."""
    available: int
    potential: int
    """The amount that would be available if no quota was in use."""
    nominal: int
    """The ClusterQueue's own nominal quota."""
    borrowing: int
    """The height of the smallest subtree whose quota suffices. 0 means that the ClusterQueue's own quota suffices."""
    outcome: Outcome | None
    """None if the rule is NotSimulated."""
    rule: QuotaRule
    reason: str
    """The reason in Kueue's words; "" if the amount fits."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One flavor, tried for all resources of a group."""

    flavor: str
    outcome: Outcome
    """The worst outcome of its resources."""
    borrowing: int
    """The borrowing height of the resource with the worst outcome."""
    checks: tuple[Check, ...]
    """One check for each resource. Empty if the pods cannot use this flavor at all."""
    mismatch: str
    """Why the pods cannot use the flavor: it does not exist, or its taints or labels do not match. "" if they can."""

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
    """The flavors that were tried for a group of resources. The resources must get the same flavor."""

    pod_sets: tuple[str, ...]
    """Names. More than one if pod sets share a podSetGroupName."""
    resources: tuple[str, ...]
    attempts: tuple[Attempt, ...]
    chosen: str | None
    """The flavor that was taken; None if none was."""
    stop: Stop


@dataclass(frozen=True, slots=True)
class Assigned:
    """The flavor of one resource."""

    flavor: str
    mode: Mode
    borrowing: int
    tried: int
    """The index of the last flavor that was tried in its group; -1 if it was the last flavor of the group."""


@dataclass(frozen=True, slots=True)
class PodSetFlavors:
    """The flavors of one pod set."""

    name: str
    count: int
    """The number of pods that these flavors are for."""
    asked: int
    """The number of pods that the pod set asks for, without the reclaimable ones. `count` is less in a partial
    admission."""
    requests: Mapping[str, int]
    """Amounts by resource for `count` pods, in canonical units. `pods` is among them if the ClusterQueue has a quota
    for it."""
    flavors: Mapping[str, Assigned]
    """By resource. A resource that no quota covers is missing here if the pods ask for none of it."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The flavors of a workload."""

    mode: Mode
    borrowing: int
    """The largest borrowing height of all resources."""
    pod_sets: tuple[PodSetFlavors, ...]
    """In the order of the spec. If one pod set does not fit, only the pod sets before it are here."""
    usage: Mapping[tuple[str, str], int]
    """The amount of all pod sets together, by flavor and resource. Every amount is more than 0."""
    contested: frozenset[tuple[str, str]]
    """Pairs of flavor and resource that are free only after a preemption."""
    searches: tuple[FlavorSearch, ...]
    tried: Tried | None
    """Where the next search continues; None if all flavors were tried."""
    message: str
    """The problems in Kueue's words; "" if everything fits at once."""
    no_fit_reason: NoFitReason

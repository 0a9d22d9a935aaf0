"""The quota controller's part of the Configuration file."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from api.validation import FieldError
from native.codes import FINAL_SHARE, INITIAL_SHARE
from quota.search.decision import Options
from serving.sections import Count, Seconds, Section

__all__ = ["FairSharingConfiguration", "QuotaConfiguration", "QuotaMode", "check_quota", "search_options"]

QuotaMode = Literal["Off", "Observe", "Enforce"]
Strategy = Literal["LessThanOrEqualToFinalShare", "LessThanInitialShare"]

STRATEGIES: dict[Strategy, int] = {
    "LessThanOrEqualToFinalShare": FINAL_SHARE,
    "LessThanInitialShare": INITIAL_SHARE,
}
STRATEGY_LISTS: tuple[list[Strategy], ...] = (
    ["LessThanOrEqualToFinalShare"],
    ["LessThanInitialShare"],
    ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
)


class FairSharingConfiguration(Section):
    """Fair sharing, as in Kueue's Configuration.

    preemptionStrategies: the rules by which a ClusterQueue takes quota back from one with a larger share, in order: one
    of them, or LessThanOrEqualToFinalShare and then LessThanInitialShare.
    """

    preemption_strategies: list[Strategy] = field(default_factory=lambda: list(STRATEGIES))


class QuotaConfiguration(Section):
    """Who admits Workloads to ClusterQueues.

    mode: Off: the quota controller does not run. Observe: it writes nothing, and compares its decisions with what
    Kueue writes. Enforce: it admits, preempts and evicts. It does not start, and it stops, while Kueue manages.
    overdueSeconds: after this time an evicted Workload that still holds quota gets a condition and an event.
    freeOverdue: the quota of such a Workload is free then, although something of it may still run.
    planDeadlineSeconds: how long quota freed by a preemption is kept for its preemptor. It is more than
    overdueSeconds: otherwise others would take what an overdue victim gives back.
    planRetentionSeconds: how long PreemptionPlans that have ended stay.
    waitingMessageSeconds: the least time between two texts of why a Workload waits. A new reason is written at
    once.
    waitingReasonSeconds: how long a Workload waits for quota before its status says so. Other reasons are written at
    once. `reprieve queue`, `reprieve why` and metrics tell it at once, too.
    writesInFlight: writes of Workloads at a time. It is less while the API server refuses them (429).
    requirePlacement: a Job or PodGroup preempts others only if its pods would then find nodes. The nodes plane says so,
    where it runs in the same process. It knows the nodes that exist: false where a cluster autoscaler adds nodes.
    fairSharing: null: ClusterQueues take quota back by priority.
    kueueLease: the name of the Lease by which Kueue's managers elect their leader, in any namespace.
    """

    mode: QuotaMode = "Off"
    overdue_seconds: Seconds = 300
    free_overdue: bool = False
    plan_deadline_seconds: Seconds = 600
    plan_retention_seconds: Seconds = 86400
    waiting_message_seconds: Seconds = 10
    waiting_reason_seconds: Seconds = 30
    writes_in_flight: Count = 32
    require_placement: bool = True
    fair_sharing: FairSharingConfiguration | None = None
    kueue_lease: Annotated[str, Meta(min_length=1)] = "c1f6bfd2.kueue.x-k8s.io"


def check_quota(settings: QuotaConfiguration) -> None:
    """Raises FieldError for settings that do not go together."""
    if settings.plan_deadline_seconds <= settings.overdue_seconds:
        raise FieldError("quota.planDeadlineSeconds", "is not more than quota.overdueSeconds")
    if settings.fair_sharing is not None:
        _check_strategies(settings.fair_sharing.preemption_strategies)


def _check_strategies(given: list[Strategy]) -> None:
    """The rules are those of Kueue (pkg/config, validateFairSharing)."""
    path = "quota.fairSharing.preemptionStrategies"
    if not given:
        raise FieldError(path, "is empty")
    if given not in STRATEGY_LISTS:
        supported = ", ".join(f"[{', '.join(each)}]" for each in STRATEGY_LISTS)
        raise FieldError(path, f"[{', '.join(given)}] is none of {supported}")


def search_options(settings: QuotaConfiguration, *, time_based: bool) -> Options:
    """What decisions depend on. `time_based`: the feature gate TimeBasedSamePriorityPreemption (KEP-8522)."""
    sharing = settings.fair_sharing
    if sharing is None:
        return Options(time_based=time_based)
    strategies = tuple(STRATEGIES[each] for each in sharing.preemption_strategies)
    return Options(fair_sharing=True, strategies=strategies, time_based=time_based)

"""What must hold of Workloads and queues when nothing changes any longer. The judge is the engine itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from api.kueue import RESOURCE_IN_USE, ClusterQueue
from api.plans import PreemptionPlan
from api.workloads import ADMITTED, EVICTED, QUOTA_RESERVED, REQUEUED, Workload
from quota.cycle.cycle import cycle
from quota.cycle.queues import backs_off, heads, is_queued
from quota.search.decision import Options
from quota.state.activity import flavors_of, named_checks
from quota.state.amounts import QuotaError
from quota.state.state import QuotaState
from quota.state.workloads import effective_priority, holds_quota, key_of, requeue_at
from tests.kit.quota.history import Event, Object, QuotaHistory, condition_of, is_true

__all__ = ["stuck"]

ACTIVE_PLAN: Final = "Evicting"
PLAIN: Final = Options()
PASSER: Final = re.compile(r"it does not preempt while Workload (\S+) waits")
"""See `controllers.quota.plans.passers`."""
PAUSED: Final = re.compile(
    r"it does not preempt Workload (\S+) yet, because that Workload preempted it a short time ago"
)
"""See `controllers.quota.plans.mutual`."""
NO_PLACE: Final = "its pods would find no place on nodes"
"""See `controllers.quota.scheduling.agreement`."""


def stuck(history: QuotaHistory, now: int, options: Options = PLAIN) -> list[str]:
    """Whoever waits in the end although a cycle would admit it, or would preempt for it, or nothing ends its wait.

    `now` is in microseconds. `options`: those by which reprieve decides. The end is judged when nothing changes any
    longer, and no plan is carried out.
    """
    last = history.last()
    state = _state_of(last)
    plans = [each for each in last if isinstance(each, PreemptionPlan)]
    wrong = [
        f"{plan.metadata.namespace}/{plan.metadata.name} is still carried out"
        for plan in plans
        if plan.status is not None and plan.status.phase == ACTIVE_PLAN
    ]
    return [
        *wrong,
        *_left_out(state, now),
        *_left_waiting(state, now, options),
        *_left_between(state),
        *_left_in_deletion(last),
        *_miscounted(last),
    ]


def _state_of(last: list[Object]) -> QuotaState:
    """Without the objects that cannot be read."""
    state = QuotaState()
    for each in last:
        if not isinstance(each, PreemptionPlan | Event):
            with suppress(QuotaError):
                state.apply(each)
    return state


def _left_waiting(state: QuotaState, now: int, options: Options) -> Iterator[str]:
    """In a StrictFIFO ClusterQueue only the head may be stuck: the others wait for it."""
    snapshot = state.snapshot()
    waiting = [each for each in state.workloads.values() if is_queued(each) and not backs_off(each, now)]
    firsts = {key_of(each) for each in heads(snapshot, waiting, now)}
    for each in waiting:
        try:
            queue = snapshot.queue_of(each)
        except QuotaError:
            continue
        local = state.local_queues[f"{each.metadata.namespace}/{each.spec.queue_name}"]
        if queue.inactive or local.spec.stop_policy != "None":
            continue
        if queue.spec.queueing_strategy == "StrictFIFO" and key_of(each) not in firsts:
            continue
        (entry,) = cycle(state.snapshot(), [each], now, options)
        if entry.outcome == "Preempt" and (_waits_for_passer(state, each) or _pauses(state, each)):
            continue
        if entry.outcome in ("Admit", "Preempt"):
            yield f"{key_of(each)} waits, and a cycle says {entry.outcome}"


def _waits_for_passer(state: QuotaState, workload: Workload) -> bool:
    """Whether it says that it does not preempt while another one waits, and that one does, with a higher priority."""
    said = condition_of(workload, QUOTA_RESERVED)
    named = PASSER.search(said.message) if said is not None else None
    passer = state.workloads.get(named[1]) if named is not None else None
    return (
        passer is not None and is_queued(passer) and effective_priority(passer) > effective_priority(workload)
    )


def _pauses(state: QuotaState, workload: Workload) -> bool:
    """Whether it says that it was preempted for another one a short time ago, and that one holds quota. Or its pods
    would find no nodes, which is not judged here."""
    said = condition_of(workload, QUOTA_RESERVED)
    named = PAUSED.search(said.message) if said is not None else None
    other = state.workloads.get(named[1]) if named is not None else None
    return _has_no_place(state, workload) or (other is not None and holds_quota(other))


def _has_no_place(state: QuotaState, workload: Workload) -> bool:
    """Whether it says so, or another one of its queue that asks for the same: they are parked together."""
    equals = (
        each
        for each in state.workloads.values()
        if each.spec.queue_name == workload.spec.queue_name and each.spec.pod_sets == workload.spec.pod_sets
    )
    said = (condition_of(each, QUOTA_RESERVED) for each in equals)
    return any(each is not None and NO_PLACE in each.message for each in said)


def _left_out(state: QuotaState, now: int) -> Iterator[str]:
    """Those whose delay is over, and who are not queued again."""
    for each in state.workloads.values():
        requeued, until = condition_of(each, REQUEUED), requeue_at(each)
        delayed = requeued is not None and requeued.status == "False" and requeued.reason == "AdmissionCheck"
        if is_queued(each) and delayed and (until is None or until < now):
            yield f"{key_of(each)} is not queued again after its delay"


def _left_between(state: QuotaState) -> Iterator[str]:
    """Those that hold quota, whose checks have all been answered, and nothing follows; those that have none, and stay
    admitted."""
    for each in state.workloads.values():
        if is_true(each, ADMITTED) and not is_true(each, QUOTA_RESERVED):
            yield f"{key_of(each)} has no quota, and stays admitted"
        states = {check.state for check in each.status.admission_checks or ()}
        if not holds_quota(each) or is_true(each, EVICTED):
            continue
        if states & {"Retry", "Rejected"}:
            yield f"{key_of(each)} keeps its quota, and its checks say {', '.join(sorted(states))}"
        elif states <= {"Ready"} and not is_true(each, ADMITTED):
            yield f"{key_of(each)} has quota and no open check, and is not admitted"


def _left_in_deletion(last: list[Object]) -> Iterator[str]:
    """Objects that are being deleted, that nobody uses, and that have the finalizer."""
    queues = [each for each in last if isinstance(each, ClusterQueue)]
    workloads = [each for each in last if isinstance(each, Workload)]
    used = {
        "ClusterQueue": {
            each.status.admission.cluster_queue
            for each in workloads
            if holds_quota(each) and each.status.admission is not None
        },
        "ResourceFlavor": {name for queue in queues for name in flavors_of(queue.spec)},
        "AdmissionCheck": {name for queue in queues for name in named_checks(queue.spec)},
        "Workload": {each.metadata.name for each in workloads if each.metadata.owner_references},
    }
    for each in last:
        kind, meta = type(each).__name__, each.metadata
        is_kept = meta.deletion_timestamp and RESOURCE_IN_USE in (meta.finalizers or ())
        if is_kept and kind in used and meta.name not in used[kind]:
            yield f"{kind} {meta.name} is being deleted and not used, and keeps its finalizer"


def _miscounted(last: list[Object]) -> Iterator[str]:
    """ClusterQueues whose status does not count the Workloads that hold quota."""
    holders = [each for each in last if isinstance(each, Workload) and holds_quota(each)]
    for queue in last:
        if not isinstance(queue, ClusterQueue) or queue.status is None:
            continue
        name = queue.metadata.name
        mine = [
            each
            for each in holders
            if each.status.admission is not None and each.status.admission.cluster_queue == name
        ]
        counted = len(mine), sum(is_true(each, ADMITTED) for each in mine)
        said = queue.status.reserving_workloads or 0, queue.status.admitted_workloads or 0
        if said != counted:
            yield f"ClusterQueue {name} says {said} reserve and are admitted, and it is {counted}"

"""The life of one Workload: from its newest state and what is around it to what is written next.

All functions are pure. Whoever sees a change calls `next_step`, as often as it likes: a state that follows from the
rules already gives an empty step. The rules are Kueue's workload controller (pkg/controller/core) with the differences
that docs/kueue-differences.md names.
"""

from __future__ import annotations

from typing import Final

from api.words import listed
from api.workloads import (
    ADMISSION_CHECK,
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    QUOTA_RESERVED,
    REQUEUED,
    PreemptionGateState,
    ReclaimablePod,
    Workload,
)
from controllers.quota.life.admitting import sync_admitted
from controllers.quota.life.around import Around, Limits
from controllers.quota.life.dispatching import (
    follow_report,
    is_elsewhere,
    may_run_elsewhere,
    where,
)
from controllers.quota.life.draft import Draft, Step
from controllers.quota.life.evicting import (
    EXECUTION_TIME,
    QUOTA_EXCEEDED,
    evict,
    give_back,
    preempt,
    sync_not_admitted,
)
from controllers.quota.life.preempting import WAITS
from controllers.quota.life.retries import (
    end_wait,
    forget_retries,
    judge_checks,
    reset_checks,
    show_wait,
    why_retry,
)
from controllers.quota.life.saying import Waiting, say
from quota.cycle.queues import ADMISSION_GATED_BY
from quota.cycle.unsupported import why_unsupported
from quota.state.workloads import has_closed_preemption_gate

__all__ = ["EVICTION_OVERDUE", "SUSPENDED", "next_step", "settle"]

EVICTION_OVERDUE: Final = "reprieve.dev/EvictionOverdue"
LEFT: Final = "; pods that are left: "
"""Condition: the Workload was evicted long ago, and still holds its quota."""
DEACTIVATED: Final = "Deactivated"
STOPPED: Final = {"ClusterQueue": "ClusterQueueStopped", "LocalQueue": "LocalQueueStopped"}
RESTARTED: Final = {
    "ClusterQueueStopped": "ClusterQueueRestarted",
    "LocalQueueStopped": "LocalQueueRestarted",
}
SUSPENDED: Final = "Suspended"
"""The reason of QuotaReserved=False while a queue is not active."""
SECOND: Final = 1_000_000
FIRST_DECISION: Final = 2 * SECOND
"""From the creation of a Workload, which the API server writes in whole seconds."""


def next_step(workload: Workload, around: Around, limits: Limits, now: int) -> Step:
    """What follows for the Workload. Times are microseconds since 1970."""
    draft = Draft(workload, now)
    if not draft.is_true(FINISHED):
        _follow(draft, around, limits)
        _finish(draft, around)
    return draft.step()


def settle(draft: Draft) -> Step:
    """What follows for a Workload after a decision about it has changed the draft."""
    _sync_gates(draft)
    _end_overdue(draft)
    return draft.step()


def _follow(draft: Draft, around: Around, limits: Limits) -> None:
    if (soon := _is_decided_by(draft, around)) is not None:
        draft.look_again(soon)
    else:
        _sync_gates(draft)
    follow_report(draft, around.clusters, around.required)
    if draft.workload.spec.active:
        judge_checks(draft)
        _limit_execution(draft)
    _deactivate(draft, around)
    if draft.is_true(QUOTA_RESERVED):
        if not draft.is_true(EVICTED):
            _reclaim(draft, around)
            _judge_holder(draft, around)
        if draft.is_true(EVICTED) and draft.is_true(QUOTA_RESERVED):
            _await_end(draft, around, limits)
        elif draft.is_true(QUOTA_RESERVED) and around.required is not None:
            sync_admitted(draft, around.required)
    if not draft.is_true(QUOTA_RESERVED):
        _reclaim(draft, around)
        _follow_pending(draft, around, limits)
    _end_overdue(draft)


# ---- gates


def _sync_gates(draft: Draft) -> None:
    """status.preemptionGates follows the spec: a new gate is Closed, one that the spec lacks is removed (KEP-8303)."""
    wanted = [gate.name for gate in draft.workload.spec.preemption_gates or ()]
    before = {gate.name: gate for gate in draft.status.preemption_gates or ()}
    if list(before) == wanted:
        return
    draft.status.preemption_gates = [
        before.get(name) or PreemptionGateState(name, "Closed", draft.time) for name in wanted
    ] or None


def _is_decided_by(draft: Draft, around: Around) -> int | None:
    """Until when new gates wait for the first decision about the Workload, which writes them, too (`settle`): the write
    that admits a copy is the only one then. A gate that is not there is closed. None: they do not wait."""
    workload = draft.workload
    if not workload.spec.preemption_gates or draft.status.preemption_gates or not workload.spec.active:
        return None
    is_new = draft.condition(QUOTA_RESERVED) is None and draft.condition(EVICTED) is None
    if not is_new or around.cluster_queue is None or _why_waiting(draft, around) is not None:
        return None
    created = draft.at(workload.metadata.creation_timestamp)
    return created + FIRST_DECISION if created <= draft.now < created + FIRST_DECISION else None


# ---- the end of a Workload


def _finish(draft: Draft, around: Around) -> None:
    said = around.clusters.said
    finished = (said.finished if said is not None else None) or around.reported.finished
    if finished is not None:
        draft.set(FINISHED, True, *finished)


def _limit_execution(draft: Draft) -> None:
    limit = draft.workload.spec.maximum_execution_time_seconds
    if limit is None or not draft.is_true(ADMITTED) or draft.is_true(EVICTED):
        return
    past = draft.status.accumulated_past_execution_time_seconds or 0
    end = draft.since(ADMITTED) + (limit - past) * SECOND
    if draft.now < end:
        draft.look_again(end)
    elif not draft.is_true(DEACTIVATION_TARGET):
        draft.set(DEACTIVATION_TARGET, True, EXECUTION_TIME, "exceeding the maximum execution time")
        draft.status.accumulated_past_execution_time_seconds = None
        draft.event("Warning", EXECUTION_TIME, f"The maximum execution time ({limit}s) exceeded")


def _deactivate(draft: Draft, around: Around) -> None:
    """A Workload that is to be deactivated gets spec.active false; one that is not active ends."""
    target = draft.condition(DEACTIVATION_TARGET)
    is_target = target is not None and target.status == "True"
    if draft.workload.spec.active:
        draft.deactivates = is_target
        return
    if not draft.reason(EVICTED).startswith(DEACTIVATED):
        cause, message = "", "The workload is deactivated"
        if is_target and target is not None:
            cause, message = target.reason, f"{message} due to {target.message}"
        if cause == EXECUTION_TIME:  # it may have been preempted meanwhile, and that counted its time
            draft.status.accumulated_past_execution_time_seconds = None
        evict(draft, DEACTIVATED, message, cause)
        if draft.is_true(QUOTA_RESERVED) and not _may_run(draft, around):
            give_back(draft, message)
    if is_target:
        draft.remove(DEACTIVATION_TARGET)
    if not draft.is_true(QUOTA_RESERVED):
        reset_checks(draft, also_retry=True)  # also a verdict that came too late: it has been carried out
    forget_retries(draft)
    draft.status.requeue_state = None


# ---- a Workload that holds quota


def _judge_holder(draft: Draft, around: Around) -> None:
    """What evicts a Workload that holds quota."""
    if around.preemption is not None and around.preemption.uid == draft.workload.metadata.uid:
        preempt(draft, around.preemption)
        return
    if message := why_retry(draft):
        evict(draft, ADMISSION_CHECK, message)
        return
    if around.taken_back:
        evict(draft, QUOTA_EXCEEDED, around.taken_back)
        return
    if around.reported.eviction is not None:
        evict(draft, *around.reported.eviction)
        return
    if not _may_run(draft, around):
        _cancel(draft, around)
        return
    for kind, queue in (("ClusterQueue", around.cluster_queue), ("LocalQueue", around.local_queue)):
        if queue is not None and queue.spec.stop_policy == "HoldAndDrain":
            evict(draft, STOPPED[kind], f"The {kind} is stopped")
            return


def _may_run(draft: Draft, around: Around) -> bool:
    """Whether pods of it may run. It may have been admitted before its queue got another admission check."""
    is_here = draft.is_true(ADMITTED) or around.reported.runs
    return is_here or may_run_elsewhere(draft, around.clusters)


def _has_ended(draft: Draft, around: Around) -> bool:
    """Whether no pod of an evicted Workload is left."""
    if may_run_elsewhere(draft, around.clusters):
        return False
    return is_elsewhere(draft) or around.reported.nothing_runs or not _may_run(draft, around)


def _cancel(draft: Draft, around: Around) -> None:
    """A Workload that only reserved quota keeps it while its queues go on, and is not evicted (as in Kueue).

    The quota is free: nothing of the Workload runs. Its checks are made anew for the next quota. It waits like any
    other Workload of its queues.
    """
    for kind, queue in (("LocalQueue", around.local_queue), ("ClusterQueue", around.cluster_queue)):
        if queue is None or queue.metadata.deletion_timestamp is not None:
            why = "is terminating or missing"
        elif queue.spec.stop_policy != "None":
            why = "is stopped"
        else:
            continue
        reset_checks(draft, also_retry=False)
        give_back(draft, f"Its {kind} {why}")
        return


def _reclaim(draft: Draft, around: Around) -> None:
    """Pods that have ended need no quota. While there is quota, the API server refuses a number that goes down."""
    reported = around.reported.reclaimable
    if reported is None:
        return
    before = {each.name: each.count for each in draft.status.reclaimable_pods or ()}
    after = dict(reported)
    if draft.is_true(QUOTA_RESERVED):
        after = {name: max(before.get(name, 0), after.get(name, 0)) for name in before | after}
    if after != before:
        draft.status.reclaimable_pods = [ReclaimablePod(name, count) for name, count in after.items()] or None


def _await_end(draft: Draft, around: Around, limits: Limits) -> None:
    """An evicted Workload holds its quota until nothing of it runs any longer."""
    show_wait(draft)
    evicted = draft.condition(EVICTED)
    message = evicted.message if evicted is not None else ""
    if _has_ended(draft, around):
        give_back(draft, message)
        return
    overdue = draft.since(EVICTED) + limits.overdue
    if draft.now < overdue:
        draft.look_again(overdue)
        return
    text = f"Evicted more than {limits.overdue // SECOND}s ago, and QuotaReserved is still True"
    text += where(draft, around.clusters)
    if around.reported.remaining:
        text += f"{LEFT}{listed(around.reported.remaining)}"
    said = draft.condition(EVICTION_OVERDUE)
    if said is None or said.status != "True" or (LEFT in text and LEFT not in said.message):
        draft.event("Warning", "EvictionOverdue", text)
    if limits.frees_overdue:
        draft.set(EVICTION_OVERDUE, True, "QuotaFreed", f"{text}: its quota is free now")
        give_back(draft, message)
    else:
        draft.set(EVICTION_OVERDUE, True, "QuotaHeld", text)


def _end_overdue(draft: Draft) -> None:
    """The condition is removed when the Workload gets quota again, or has given back what it held."""
    was_held = draft.reason(EVICTION_OVERDUE) == "QuotaHeld"
    if not draft.is_true(EVICTED) or (was_held and not draft.is_true(QUOTA_RESERVED)):
        draft.remove(EVICTION_OVERDUE)


# ---- a Workload that holds no quota


def _follow_pending(draft: Draft, around: Around, limits: Limits) -> None:
    status = draft.status
    if draft.is_true(ADMITTED) or status.admission or status.cluster_name or status.nominated_cluster_names:
        sync_not_admitted(draft)
    if not draft.workload.spec.active:
        return
    end_wait(draft)
    _queue_again(draft, around)
    waiting = _why_waiting(draft, around)
    if waiting is not None and not draft.deactivates:
        say(
            draft,
            waiting,
            around.preempting,
            written=around.written,
            patience=limits.reason,
            pause=limits.message,
        )


def _queue_again(draft: Draft, around: Around) -> None:
    """What put the Workload out of the queue has ended."""
    requeued = draft.condition(REQUEUED)
    if requeued is None or requeued.status != "False" or why_retry(draft):
        return
    if requeued.reason.startswith(DEACTIVATED):
        draft.set(REQUEUED, True, "Reactivated", "The workload was reactivated after deactivation")
    elif requeued.reason in RESTARTED:
        queues = around.cluster_queue, around.local_queue
        if all(queue is not None and queue.spec.stop_policy == "None" for queue in queues):
            kind = "ClusterQueue" if requeued.reason == STOPPED["ClusterQueue"] else "LocalQueue"
            draft.set(
                REQUEUED, True, RESTARTED[requeued.reason], f"The {kind} was restarted after being stopped"
            )
    else:
        _finish_backoff(draft)


def _finish_backoff(draft: Draft) -> None:
    state = draft.status.requeue_state
    until = draft.at(state.requeue_at) if state is not None and state.requeue_at is not None else draft.now
    if draft.now < until:
        draft.look_again(until)
    else:
        draft.set(REQUEUED, True, "BackoffFinished", "The workload backoff was finished")


def _why_waiting(draft: Draft, around: Around) -> Waiting | None:
    """Why it is not in a queue; otherwise what the last cycle said of it."""
    name = draft.workload.spec.queue_name
    if name and (unsupported := why_unsupported(draft.workload, elsewhere=around.dispatches)):
        return Waiting("Misconfigured", unsupported)
    if (draft.workload.metadata.annotations or {}).get(ADMISSION_GATED_BY):
        return Waiting("AdmissionGated", f"the annotation {ADMISSION_GATED_BY} holds it back")
    if around.local_queue is None:
        return Waiting("Misconfigured", f"LocalQueue {name} doesn't exist") if name else None
    if around.cluster_queue is None:
        return Waiting("Misconfigured", f"ClusterQueue {around.local_queue.spec.cluster_queue} doesn't exist")
    if around.local_queue.spec.stop_policy != "None":
        return Waiting(SUSPENDED, f"LocalQueue {name} is inactive")
    if around.inactive:
        return Waiting(
            SUSPENDED, f"ClusterQueue {around.cluster_queue.metadata.name} is inactive: {around.inactive}"
        )
    return _with_plan(draft, around)


def _with_plan(draft: Draft, around: Around) -> Waiting | None:
    """What the last cycle said, and the state of the plan that followed from it."""
    waiting, plan = around.waiting, around.preempting
    if plan is None or has_closed_preemption_gate(draft.workload):
        return waiting
    if waiting is not None and waiting.reason == WAITS:
        return Waiting(WAITS, plan.message(waiting.message), preempts=True)
    # A new process resumes the plan before a cycle says anything.
    says = plan.problem or plan.is_due
    return Waiting(WAITS, plan.message(""), preempts=True) if says else waiting

"""The life of a dispatched Workload: from what is seen in all clusters to what follows.

All functions are pure. Whoever sees a change calls `decide`, as often as it likes. The rules are those of KEP-8303 and
of Kueue's manager (pkg/controller/admissionchecks/multikueue), with the differences that docs/kueue-differences.md
names.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from api.workloads import EVICTED, FINISHED, QUOTA_RESERVED, Workload
from controllers.multikueue.life.belonging import all_clusters, belonging, chosen_of, find
from controllers.multikueue.life.decision import Decision, Here, MirrorJob, ReadJob, There
from controllers.multikueue.life.having import ended, have
from controllers.multikueue.life.leaving import clear, evict_there, may_run, stop
from controllers.multikueue.life.memory import EMPTY, Memory
from controllers.multikueue.life.offering import offer
from controllers.multikueue.life.seen import Seen, Settings
from controllers.multikueue.life.turns import end_former_turns, end_turns
from quota.state.workloads import is_true
from runtime.exchange.dispatch_reports import CheckReport, Dispatched

__all__ = ["decide"]

REJECTED: Final = "its check is Rejected"


def decide(seen: Seen, memory: Memory, settings: Settings, now: int) -> Decision:
    """What follows for the Workload. `now`: in microseconds since 1970."""
    return _proven(seen, _decide(seen, memory, settings, now))


def _decide(seen: Seen, memory: Memory, settings: Settings, now: int) -> Decision:
    workload = seen.workload
    if workload is None or workload.metadata.deletion_timestamp is not None or not seen.check:
        return _gone(seen, memory)
    memory = memory.about(workload.metadata.uid, seen.attempt)
    if is_true(workload, FINISHED) or not is_true(workload, QUOTA_RESERVED):
        return _clear(seen, memory, "the Workload has ended, or holds no quota")
    if is_true(workload, EVICTED) or not workload.spec.active:
        return ended(seen, memory) or _evicted(seen, workload, memory)
    return _with_quota(seen, workload, memory, settings, now)


def _proven(seen: Seen, decision: Decision) -> Decision:
    """Before its quota goes back, the Job there is read: its watch may be lost without a sign."""
    report, cluster = decision.report, find(seen, chosen_of(seen))
    is_holder = seen.workload is not None and is_true(seen.workload, QUOTA_RESERVED)
    if report is None or report.may_run or not is_holder or cluster is None or cluster.reach != "Connected":
        return decision
    job = cluster.job
    if job is None or job.has_ended or belonging(job, seen, cluster.name) == "Foreign":
        return decision
    if job.version == decision.memory.read:
        return decision
    there = {cluster.name: ReadJob(job.uid), **decision.there}
    return replace(decision, report=replace(report, may_run=True), there=there)


def _with_quota(seen: Seen, workload: Workload, memory: Memory, settings: Settings, now: int) -> Decision:
    """It holds quota, and nobody evicts it."""
    chosen = chosen_of(seen)
    if seen.job is None and not seen.refusal:
        return _clear(seen, memory, "its Job is gone")
    if memory.verdict is not None:
        report = Dispatched(seen.attempt, memory.verdict, cluster=chosen, may_run=may_run(seen))
        is_rejected = memory.verdict.state == "Rejected"
        return Decision(memory, report, there=stop(seen, REJECTED) if is_rejected else {})
    if seen.refusal or _state(seen, workload) == "Rejected":
        return _rejected(seen, workload, memory)
    if chosen:
        return have(seen, workload, memory, chosen, now)
    if not _others_ready(seen, workload):
        return replace(_clear(seen, memory, "its other admission checks are not Ready"), again=None)
    return offer(seen, workload, memory, settings, now)


def _state(seen: Seen, workload: Workload) -> str:
    return next(
        (each.state for each in workload.status.admission_checks or () if each.name == seen.check), "Pending"
    )


def _others_ready(seen: Seen, workload: Workload) -> bool:
    checks = workload.status.admission_checks or ()
    return all(each.state == "Ready" for each in checks if each.name != seen.check)


def _rejected(seen: Seen, workload: Workload, memory: Memory) -> Decision:
    """No cluster can ever get it. No copy stays (3841)."""
    state = _state(seen, workload)
    check = None
    if state != "Rejected":
        check = CheckReport(seen.check, "Rejected", f'{seen.refusal}, Previously: "{state}"')
        memory = memory.judged(check)
    return Decision(
        memory,
        Dispatched(seen.attempt, check, cluster=chosen_of(seen), may_run=may_run(seen)),
        there=stop(seen, REJECTED),
    )


def _gone(seen: Seen, memory: Memory) -> Decision:
    """There is no Workload, or it needs no cluster."""
    report = None
    if chosen_of(seen):
        report = Dispatched(seen.attempt, cluster=chosen_of(seen), may_run=may_run(seen))
    there = stop(seen, "its Workload is gone")
    return Decision(memory if there else EMPTY, report, here=end_former_turns(seen), there=there)


def _clear(seen: Seen, memory: Memory, why: str) -> Decision:
    report = Dispatched(seen.attempt, cluster=chosen_of(seen), may_run=may_run(seen))
    chosen = chosen_of(seen)
    here: Here | None = end_turns(seen, chosen) if chosen else end_former_turns(seen)
    return Decision(memory, report, here=here or _rest(seen), there=stop(seen, why))


def _rest(seen: Seen) -> MirrorJob | None:
    """The Job here shows pods that are no longer there: its cluster is lost, or the Job there was deleted."""
    job = seen.job
    shows = job is not None and bool(job.status.active or job.status.terminating)
    is_over = seen.workload is not None and is_true(seen.workload, FINISHED)
    return MirrorJob("") if shows and not (is_over or seen.is_mirrored or may_run(seen)) else None


def _evicted(seen: Seen, workload: Workload, memory: Memory) -> Decision:
    """Its pods end in the cluster that has it. Its quota goes back when none is left; then the copies go."""
    chosen = chosen_of(seen)
    there: dict[str, There] = {}
    for cluster in all_clusters(seen):
        act = (
            evict_there(cluster, seen, workload)
            if cluster.name == chosen
            else clear(cluster, seen, "evicted")
        )
        if act is not None:
            there[cluster.name] = act
    here: Here | None = end_former_turns(seen)
    cluster_ = find(seen, chosen)
    if cluster_ is not None and cluster_.job is not None and seen.job is not None and not seen.is_mirrored:
        here = MirrorJob(chosen)
    report = Dispatched(seen.attempt, cluster=chosen, may_run=may_run(seen))
    return Decision(memory, report, here=here, there=there)

"""A Workload that one cluster has: it gets its Job, runs, ends, or comes back."""

from __future__ import annotations

from typing import Final

from api.workloads import ADMITTED, EVICTED, FINISHED, Workload
from controllers.multikueue.life.belonging import (
    all_clusters,
    belonging,
    chosen_of,
    differs,
    find,
    has_other_priority,
    present_copy,
    present_job,
)
from controllers.multikueue.life.decision import (
    CreateJob,
    Decision,
    DeleteJob,
    Here,
    MirrorJob,
    NeedsDigest,
    SetPriority,
    There,
)
from controllers.multikueue.life.leaving import may_run, stop
from controllers.multikueue.life.memory import Memory
from controllers.multikueue.life.messages import LIMIT
from controllers.multikueue.life.seen import ClusterSeen, Copy, RemoteJob, Seen
from controllers.multikueue.life.turns import end_turns
from quota.state.workloads import time_us
from runtime.exchange.dispatch_reports import CheckReport, Dispatched

__all__ = ["ended", "have"]

SECOND: Final = 1_000_000
OUT_OF_SYNC: Final = "OutOfSync"
EVICTED_THERE: Final = "resetting for re-admission"


def have(seen: Seen, workload: Workload, memory: Memory, name: str, now: int) -> Decision:
    """What follows for a Workload whose cluster was chosen, while it holds quota and is not evicted here."""
    cluster = find(seen, name)
    if cluster is None or cluster.reach == "Away":
        return Decision(memory, _as_it_is(seen, workload, name), there=_others_leave(seen, name))
    if cluster.reach == "Lost":
        return _come_back(seen, workload, memory, name, "Admitting remote lost", now, returns=False)
    if seen.digest is None:
        return Decision(memory, _as_it_is(seen, workload, name), here=NeedsDigest())
    if seen.is_configured and all(each.name != name for each in seen.clusters):
        why = f"Cluster {name} is not in the configuration any longer"
        return _come_back(seen, workload, memory, name, why, now, returns=False)
    copy = present_copy(cluster, seen)
    if copy is not None and copy.is_true(FINISHED):
        if copy.conditions[FINISHED].reason == OUT_OF_SYNC:
            why = (
                f'Remote workload on worker cluster "{name}" is out of sync with its user job, '
                "resetting for re-dispatch"
            )
            if _never_ran(present_job(cluster, seen)):
                memory = memory.shuns(name, now)
            return _come_back(seen, workload, memory, name, why, now)
        return _finished(seen, memory, cluster, copy)
    if why := _why_back(cluster, copy, seen):
        return _come_back(seen, workload, memory, name, why, now)
    assert copy is not None  # noqa: S101 - a missing copy is a reason to come back
    return _run(seen, workload, memory, cluster, copy, now)


def ended(seen: Seen, memory: Memory) -> Decision | None:
    """What follows if the Workload has ended in its cluster, also if it was evicted here meanwhile: what has ended does
    not run again. None if it has not."""
    cluster = find(seen, chosen_of(seen))
    copy = present_copy(cluster, seen) if cluster is not None and cluster.reach == "Connected" else None
    if cluster is None or copy is None or not copy.is_true(FINISHED):
        return None
    return None if copy.conditions[FINISHED].reason == OUT_OF_SYNC else _finished(seen, memory, cluster, copy)


def _never_ran(job: RemoteJob | None) -> bool:
    """Whether the Job is as it was made there."""
    if job is None or job.status.start_time is not None:
        return False
    return not (job.status.active or job.status.succeeded or job.status.failed)


def _others_leave(seen: Seen, name: str) -> dict[str, There]:
    return stop(seen, f"cluster {name} has it", but=name)


def _why_back(cluster: ClusterSeen, copy: Copy | None, seen: Seen) -> str:
    """Why the cluster no longer has the Workload; empty if it has it."""
    if copy is None:
        return "Admitting remote no longer exists"
    if copy.is_true(EVICTED) or not copy.active:
        return f'Workload evicted on worker cluster: "{cluster.name}", {EVICTED_THERE}'
    if differs(copy, seen):
        return f'Workload was changed on worker cluster: "{cluster.name}", {EVICTED_THERE}'
    if not copy.is_true(ADMITTED):
        return "Admitting remote no longer exists"
    return ""


def _run(
    seen: Seen, workload: Workload, memory: Memory, cluster: ClusterSeen, copy: Copy, now: int
) -> Decision:
    """The other copies go, then the Job is created, then the check is Ready."""
    name, there = cluster.name, _others_leave(seen, cluster.name)
    job = cluster.job
    mine = present_job(cluster, seen)
    if mine is None or mine.is_deleting:
        if why := _why_no_job(seen, workload, memory, cluster):
            why = f'{why} on worker cluster: "{name}", {EVICTED_THERE}'
            return _come_back(seen, workload, memory, name, why, now)
        act = _new_job(seen, cluster, there)
        if act is not None:
            there[name] = act
        # Whether a cluster answers promptly is no event.
        again = now + SECOND if act is None else None
        report = _as_it_is(seen, workload, name)
        return Decision(memory, report, here=end_turns(seen, name), there=there, again=again)
    if has_other_priority(copy, workload) and name not in memory.out:  # it could not be changed
        there[name] = SetPriority(copy.uid, copy.version)
    check = CheckReport(seen.check, "Ready", f'The workload was admitted on "{name}"')
    here: Here | None = MirrorJob(name) if _mirrors(seen, job) else None
    return Decision(
        memory,
        Dispatched(seen.attempt, check, cluster=name, may_run=may_run(seen)),
        here=here or end_turns(seen, name),
        there=there,
    )


def _why_no_job(seen: Seen, workload: Workload, memory: Memory, cluster: ClusterSeen) -> str:
    """Why no Job can be made there; empty if it can."""
    if cluster.name in memory.out:
        return memory.out[cluster.name].message
    if cluster.job is not None and belonging(cluster.job, seen, cluster.name) == "Foreign":
        return "Another manager has a Job of this name"
    if _check_state(seen, workload)[0] == "Ready":
        return "The Job was deleted"
    return ""


def _new_job(seen: Seen, cluster: ClusterSeen, leaving: dict[str, There]) -> There | None:
    """The Job, once the other copies are gone, and what is left of a former attempt. A cluster that is slow is waited
    for only if a Job of ours runs there. One that cannot be reached is not waited for."""
    job = cluster.job
    if job is not None:
        return None if job.is_deleting else DeleteJob(job.uid, "it is of a former attempt")
    for other in all_clusters(seen):
        if other.name in leaving and (other.is_prompt or (other.job is not None and other.job.runs)):
            return None
    return CreateJob()


def _mirrors(seen: Seen, job: RemoteJob | None) -> bool:
    """Whether there is a status to mirror. Whoever carries it out compares it with that of the Job here."""
    return job is not None and seen.job is not None and not seen.is_mirrored


# ---- the end


def _finished(seen: Seen, memory: Memory, cluster: ClusterSeen, copy: Copy) -> Decision:
    """Finished there is Finished here, as soon as the Job here has its end, too. Its quota is kept until then: a
    Workload without quota would be sent anew."""
    said = copy.conditions[FINISHED]
    job = present_job(cluster, seen)
    is_behind = job is not None and not job.has_ended  # two watches
    if is_behind or _mirrors(seen, job):
        report = Dispatched(seen.attempt, cluster=cluster.name, may_run=True)
        if is_behind:
            return Decision(memory, report)
        return Decision(memory, report, here=MirrorJob(cluster.name))
    end = said.reason, said.message
    report = Dispatched(seen.attempt, cluster=cluster.name, may_run=False, finished=end)
    return Decision(memory, report, here=end_turns(seen, cluster.name))


# ---- it comes back


def _come_back(
    seen: Seen, workload: Workload, memory: Memory, name: str, why: str, now: int, *, returns: bool = True
) -> Decision:
    """The check wants another try. It holds for the attempt: what happens in the cluster later does not change it.

    `returns`: the cluster has sent it back. If that happens again and again, it waits longer each time.
    """
    state, since = _check_state(seen, workload)
    seconds: int | None = None
    if returns:
        memory, seconds = memory.returned(now - since if state == "Ready" and since is not None else None)
    joint = "." if why.endswith(EVICTED_THERE) else ","  # as Kueue writes it
    report = CheckReport(seen.check, "Retry", f'{why}{joint} Previously: "{state}"'[:LIMIT], seconds)
    memory = memory.judged(report)
    return Decision(memory, Dispatched(seen.attempt, report, cluster=name, may_run=may_run(seen)))


def _as_it_is(seen: Seen, workload: Workload, name: str) -> Dispatched:
    """Nothing new is known of the check."""
    return Dispatched(seen.attempt, None, cluster=name, may_run=may_run(seen))


def _check_state(seen: Seen, workload: Workload) -> tuple[str, int | None]:
    for check in workload.status.admission_checks or ():
        if check.name == seen.check:
            return check.state, time_us(check.last_transition_time, "lastTransitionTime")
    return "Pending", None

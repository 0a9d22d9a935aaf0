"""A Workload that one cluster has: it gets its Job, runs, ends, or comes back."""

from __future__ import annotations

from typing import Final

from api.jobs import end_of
from api.workloads import ADMITTED, EVICTED, FINISHED, Workload
from controllers.multikueue.life.belonging import (
    all_clusters,
    belonging,
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
    EndTurn,
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
from controllers.multikueue.life.turns import end_former_turns
from quota.state.workloads import time_us
from runtime.exchange.dispatch_reports import CheckReport, Dispatched

__all__ = ["have"]

OUT_OF_SYNC: Final = "OutOfSync"


def have(seen: Seen, workload: Workload, memory: Memory, name: str, now: int) -> Decision:
    """What follows for a Workload whose cluster was chosen, while it holds quota and is not evicted here."""
    cluster = find(seen, name)
    if cluster is None or cluster.reach == "Away":
        return Decision(memory, _as_it_is(seen, workload, name))
    if cluster.reach == "Lost":
        return _come_back(seen, workload, memory, name, "Admitting remote lost", now, returns=False)
    if seen.digest is None:
        return Decision(memory, _as_it_is(seen, workload, name), here=NeedsDigest())
    if seen.is_configured and all(each.name != name for each in seen.clusters):
        why = f"Cluster {name} is not in the configuration any longer"
        return _come_back(seen, workload, memory, name, why, now, returns=False)
    copy = present_copy(cluster, seen)
    if copy is not None and copy.is_true(FINISHED):
        return _finished(seen, workload, memory, cluster, copy, now)
    if why := _why_back(cluster, copy, seen):
        return _come_back(seen, workload, memory, name, why, now)
    assert copy is not None  # noqa: S101 - a missing copy is a reason to come back
    return _run(seen, workload, memory, cluster, copy, now)


def _why_back(cluster: ClusterSeen, copy: Copy | None, seen: Seen) -> str:
    """Why the cluster no longer has the Workload; empty if it has it."""
    if copy is None:
        return "Admitting remote no longer exists"
    if copy.is_true(EVICTED) or not copy.active:
        return f'Workload evicted on worker cluster: "{cluster.name}", resetting for re-admission'
    if differs(copy, seen):
        return f'Workload was changed on worker cluster: "{cluster.name}", resetting for re-admission'
    if not copy.is_true(ADMITTED):
        return "Admitting remote no longer exists"
    return ""


def _run(
    seen: Seen, workload: Workload, memory: Memory, cluster: ClusterSeen, copy: Copy, now: int
) -> Decision:
    """The other copies go, then the Job is created, then the check is Ready."""
    name, there = cluster.name, stop(seen, f"cluster {cluster.name} has it", but=cluster.name)
    job = cluster.job
    mine = present_job(cluster, seen)
    if (mine is None or mine.is_deleting) and name in memory.out:
        why = f'{memory.out[name].message} on worker cluster: "{name}", resetting for re-admission'
        return _come_back(seen, workload, memory, name, why, now)
    if mine is None or mine.is_deleting:
        act = _new_job(seen, cluster, there)
        if act is not None:
            there[name] = act
        return Decision(memory, _as_it_is(seen, workload, name), here=_end_turns(seen, name), there=there)
    if has_other_priority(copy, workload):
        there[name] = SetPriority(copy.uid, copy.version)
    check = CheckReport(seen.check, "Ready", f'The workload was admitted on "{name}"')
    here: Here | None = MirrorJob(name) if _mirrors(seen, job) else None
    return Decision(
        memory,
        Dispatched(seen.attempt, check, cluster=name, may_run=may_run(seen)),
        here=here or _end_turns(seen, name),
        there=there,
    )


def _new_job(seen: Seen, cluster: ClusterSeen, leaving: dict[str, There]) -> There | None:
    """The Job, once the other copies are gone, and what is left of a former attempt. A cluster that is slow or cannot
    be reached is not waited for: its copy has no Job."""
    job = cluster.job
    if job is not None:
        if job.is_deleting or belonging(job, seen, cluster.name) == "Foreign":
            return None
        return DeleteJob(job.uid, "it is of a former attempt")
    prompt = {each.name for each in all_clusters(seen) if each.reach == "Connected" and each.is_prompt}
    return None if prompt & leaving.keys() else CreateJob()


def _mirrors(seen: Seen, job: RemoteJob | None) -> bool:
    """Whether there is a status to mirror. Whoever carries it out compares it with that of the Job here."""
    return job is not None and seen.job is not None and not seen.is_mirrored


def _end_turns(seen: Seen, name: str) -> EndTurn | None:
    if (act := end_former_turns(seen)) is not None:
        return act
    if not seen.turns or seen.turns[-1].is_over:
        return None
    return EndTurn(seen.turns[-1].name, "Admitted", f"{name} admitted the Workload.")


# ---- the end


def _finished(
    seen: Seen, workload: Workload, memory: Memory, cluster: ClusterSeen, copy: Copy, now: int
) -> Decision:
    """Finished there is Finished here, as soon as the Job here has its end, too."""
    said = copy.conditions[FINISHED]
    if said.reason == OUT_OF_SYNC:
        why = (
            f'Remote workload on worker cluster "{cluster.name}" is out of sync with its user job, '
            "resetting for re-dispatch"
        )
        return _come_back(seen, workload, memory, cluster.name, why, now)
    report = _as_it_is(seen, workload, cluster.name)
    job = present_job(cluster, seen)
    if job is not None and end_of(job.status) is None:
        return Decision(memory, report)  # two watches: that of Jobs is behind
    if _mirrors(seen, job):
        return Decision(memory, report, here=MirrorJob(cluster.name))
    ended = Dispatched(
        report.attempt,
        report.check,
        cluster=cluster.name,
        may_run=False,
        finished=(said.reason, said.message),
    )
    return Decision(memory, ended, here=_end_turns(seen, cluster.name))


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
    report = CheckReport(seen.check, "Retry", f'{why}, Previously: "{state}"'[:LIMIT], seconds)
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

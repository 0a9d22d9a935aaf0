"""Nothing of the Workload stays in a cluster: it is gone, has ended, lost its quota, or was evicted here."""

from __future__ import annotations

from api.workloads import ADMITTED, DEACTIVATION_TARGET, EVICTED, FINISHED, Workload
from controllers.multikueue.life.belonging import all_clusters, belonging, chosen_of, find, present_copy
from controllers.multikueue.life.decision import Deactivate, DeleteCopy, DeleteJob, SuspendJob, There
from controllers.multikueue.life.seen import ClusterSeen, RemoteJob, Seen
from quota.state.workloads import true_condition

__all__ = ["clear", "evict_there", "may_run", "remains", "stop"]


def clear(cluster: ClusterSeen, seen: Seen, why: str, *, keep_present: bool = False) -> There | None:
    """What removes the copy and the Job there: first the Job. `keep_present`: only of former attempts.

    Where the Job has ended, the copy goes first. Otherwise the garbage collector there deletes the copy, too, because
    its owner is gone.
    """
    if cluster.reach != "Connected":
        return None
    copy, job = cluster.copy, cluster.job
    is_over = copy is not None and job is not None and copy.is_true(FINISHED) and job.has_ended
    for thing in (copy, job) if is_over else (job, copy):
        if thing is None or thing.is_deleting:
            continue
        whose = belonging(thing, seen, cluster.name)
        if whose == "Foreign" or (keep_present and whose == "Present"):
            continue
        return DeleteJob(thing.uid, why) if isinstance(thing, RemoteJob) else DeleteCopy(thing.uid, why)
    return None


def remains(cluster: ClusterSeen, seen: Seen) -> bool:
    """Whether something of a former attempt is still there."""
    return any(
        thing is not None and belonging(thing, seen, cluster.name) == "Former"
        for thing in (cluster.job, cluster.copy)
    )


def stop(seen: Seen, why: str, *, but: str = "") -> dict[str, There]:
    """What removes all of it in all clusters. `but`: this cluster is left alone."""
    acts = {
        each.name: act
        for each in all_clusters(seen)
        if each.name != but and (act := clear(each, seen, why)) is not None
    }
    return acts


def may_run(seen: Seen) -> bool:
    """Whether pods of it may be active or terminating in its cluster. A lost cluster counts as empty."""
    name = chosen_of(seen)
    if not name:
        return False
    cluster = find(seen, name)
    if cluster is None or cluster.reach == "Away":
        return True
    if cluster.reach == "Lost":
        return False
    copy = present_copy(cluster, seen)
    if copy is not None and copy.is_true(ADMITTED) and not (copy.is_true(EVICTED) or copy.is_true(FINISHED)):
        return True  # a Job that is on its way would run
    if cluster.job is None:
        return False
    return belonging(cluster.job, seen, name) != "Foreign" and cluster.job.runs


def evict_there(cluster: ClusterSeen, seen: Seen, workload: Workload) -> There | None:
    """The Workload is evicted here, and this cluster has it: its pods end, and the copy says why."""
    if cluster.reach != "Connected":
        return None
    copy, job = present_copy(cluster, seen), cluster.job
    if copy is None:
        stray = job is not None and not job.suspended and job.runs and not job.is_deleting
        if job is None or not stray or belonging(job, seen, cluster.name) == "Foreign":
            return None
        return SuspendJob(job.uid, job.version)
    if copy.is_true(FINISHED) or copy.is_true(DEACTIVATION_TARGET) or not copy.active:
        return None
    evicted = true_condition(workload, EVICTED)
    message = evicted.message if evicted is not None else ""
    return Deactivate(copy.uid, copy.version, f"Evicted on manager: {message}")

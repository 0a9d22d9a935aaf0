"""Puts an answer together: each object's own, and those of the objects that it depends on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from answers.errors import InputError
from answers.reading.planes import JOB, POD_GROUP, QUOTA_KINDS, WORKLOAD
from api.core import Pod
from api.meta import controller_reference
from api.waits import Wait
from api.words import counted
from api.workloads import Workload
from cli.common.cluster import ClusterError
from cli.why.objects import World
from nodes.answers.creators import why_missing
from nodes.answers.group_waits import GATHERS, why_group_waits
from nodes.answers.job_waits import why_job_waits
from nodes.answers.pod_answers import answer_for_pod
from nodes.answers.pod_waits import why_pod_waits
from nodes.groups.keys import is_foreign, short_name
from nodes.groups.registry import GroupKey, group_of
from quota.answers.picture import QuotaPicture
from quota.answers.waits import Around, why_workload_waits

__all__ = ["about_group", "about_job", "about_pod", "about_workload"]


def about_pod(world: World, namespace: str, name: str) -> Wait:
    """The answer for a pod. Raises InputError if there is none of this name."""
    pod = world.pods.get(name)
    if pod is None:
        raise InputError(f"there is no Pod {namespace}/{name}")
    unit, depends = world.unit_of(pod), list[Wait]()
    if why_pod_waits(pod).waits:
        if unit is not None and POD_GROUP not in world.refused:
            depends.append(_group(world, unit))
        owner = controller_reference(pod.metadata)
        if owner is not None and (workload := _workload_of(world, owner.uid)) is not None:
            depends += [workload] if workload.waits else []
    return _pod(world, pod, depends)


def about_group(world: World, namespace: str, name: str) -> Wait:
    """The answer for a group: a PodGroup of ours, or one of another kind that pods belong to.

    Raises InputError if there is none of this name, or several, and ClusterError if PodGroups cannot be read.
    """
    if problem := world.refused.get(POD_GROUP):
        raise ClusterError(problem)
    key = _key(world, namespace, name)
    answer = _group(world, key)
    if answer.waits and answer.state in ("OfAnotherKind", "Basic"):
        return replace(answer, depends=(*answer.depends, *_first_waiting(world, world.members(key))))
    return answer


def about_job(world: World, namespace: str, name: str) -> Wait:
    """The answer for a Job: its own, that of its Workload, and that of its first pod that waits."""
    if problem := world.refused.get(JOB):
        raise ClusterError(problem)
    job = world.jobs.get(name)
    if job is None:
        raise InputError(f"there is no Job {namespace}/{name}")
    pods = world.pods_of(job.metadata.uid)
    answer = why_job_waits(job, pods, world.events)
    if not answer.waits:
        return answer
    workload = _workload_of(world, job.metadata.uid)
    if workload is None and answer.state == "Suspended" and answer.numbers.get("localQueue"):
        says = f"{answer.sentence} It has none yet: whoever manages the quota creates it."
        answer = replace(answer, sentence=says)
    found = () if workload is None else (workload,)
    return replace(answer, depends=(*found, *_first_waiting(world, pods)))


def about_workload(world: World, namespace: str, name: str) -> Wait:
    """The answer for a Workload: its quota, and the pods of its owner once it is admitted."""
    if problem := world.refused.get(WORKLOAD):
        raise ClusterError(problem)
    workload = world.quota.workloads.get(f"{namespace}/{name}")
    if workload is None:
        raise InputError(f"there is no Workload {namespace}/{name}")
    answer = _quota(world, workload)
    return _with_pods(world, workload, answer) if answer.state == "Admitted" else answer


def _pod(world: World, pod: Pod, depends: Sequence[Wait]) -> Wait:
    return answer_for_pod(world.snapshot, pod, world.plans, depends, world.unread())


def _first_waiting(world: World, pods: Sequence[Pod]) -> list[Wait]:
    """The answer for the first of the pods that waits, with its group's."""
    waiting = (pod for pod in pods if why_pod_waits(pod).waits)
    found = []
    for pod in islice(waiting, 1):
        unit = world.unit_of(pod)
        is_gang = unit is not None and group_of(pod) is not None and POD_GROUP not in world.refused
        found.append(_pod(world, pod, [_group(world, unit)] if is_gang and unit is not None else []))
    return found


def _group(world: World, key: GroupKey) -> Wait:
    """The answer for a group. One in a queue depends on its Workload."""
    pods, group = world.members(key), world.group(key)
    answer = why_group_waits(world.snapshot, key, pods, world.plans, world.unread())
    if not answer.waits:
        return answer
    if answer.state in GATHERS:
        said = {
            each.metadata.uid: found.sentence
            for each in world.creators
            if each.stopped and (found := _workload_of(world, each.metadata.uid)) is not None
        }
        missing = why_missing(key[1], pods, world.creators, world.events, said)
        answer = replace(answer, missing=tuple(missing))
    workload = _workload_of(world, group.metadata.uid) if group is not None else None
    return replace(answer, depends=(workload,)) if workload is not None and workload.waits else answer


def _workload_of(world: World, uid: str) -> Wait | None:
    workload = world.workload_of(uid)
    return None if workload is None else _quota(world, workload)


def _quota(world: World, workload: Workload) -> Wait:
    """What the quota plane says of the Workload."""
    unread = world.unread(QUOTA_KINDS)
    around = Around(QuotaPicture(world.quota), world.now, world.plans, world.namespaces, unread=unread)
    return why_workload_waits(workload, around)


def _with_pods(world: World, workload: Workload, answer: Wait) -> Wait:
    """The answer for one that is admitted: its pods may wait for nodes."""
    owners = [owner.uid for owner in workload.metadata.owner_references or ()]
    pods = [pod for uid in owners for pod in world.pods_of(uid)] or _pods_of_groups(world, owners)
    waiting = [pod for pod in pods if why_pod_waits(pod).waits]
    if not waiting:
        return answer
    says = f"It has quota: it is admitted in ClusterQueue {answer.numbers['clusterQueue']}. "
    says += f"{len(waiting)} of {counted(len(pods), 'pod')} of it have no node."
    return replace(answer, waits=True, sentence=says, depends=tuple(_first_waiting(world, waiting)))


def _pods_of_groups(world: World, uids: Sequence[str]) -> list[Pod]:
    """The pods of the PodGroups of these UIDs."""
    keys = {key for pod in world.pods.values() if (key := group_of(pod)) is not None}
    groups = {key: group for key in keys if (group := world.group(key)) is not None}
    return [pod for key, group in groups.items() if group.metadata.uid in uids for pod in world.members(key)]


def _key(world: World, namespace: str, name: str) -> GroupKey:
    """The key of the group. NAME alone means a group of another kind if there is no other one of this name."""
    if world.group((namespace, name)) is not None:
        return namespace, name
    units = {unit for pod in world.pods.values() if (unit := world.unit_of(pod)) is not None}
    if (namespace, name) in units:
        return namespace, name
    named = [unit for unit in units if is_foreign(unit[1]) and name in (short_name(unit[1]), _bare(unit[1]))]
    if not named:
        raise InputError(f"there is no PodGroup {namespace}/{name}, and no pod of a group of that name")
    if len(named) > 1:
        kinds = ", ".join(sorted(short_name(unit[1]) for unit in named))
        raise InputError(f"{namespace}/{name}: there are several groups of this name: {kinds}")
    return named[0]


def _bare(name: str) -> str:
    """The name of a group of another kind, without its kind and its UID."""
    return short_name(name).partition(":")[2]

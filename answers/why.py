"""Why a pod, a PodGroup, a Job or a Workload waits: its own answer, and those of the objects that it depends on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final, Literal, NamedTuple

from answers.details import Details
from answers.dispatched import of_job, with_clusters
from answers.errors import InputError, UnreadError
from answers.instead import observed_of, sentences
from answers.names import ALL, Names
from answers.native_gangs import with_scheduler
from answers.picture import JOB, POD_GROUP, WORKLOAD, Picture
from answers.withholding import Reader
from api.core import Pod
from api.meta import controller_reference
from api.plans import PreemptionPlan
from api.waits import Wait
from api.words import counted
from api.workloads import Workload
from nodes.answers.creators import why_missing
from nodes.answers.group_waits import GATHERS, why_group_waits
from nodes.answers.job_waits import why_job_waits
from nodes.answers.pod_answers import answer_for_pod
from nodes.answers.pod_waits import why_pod_waits
from nodes.groups.keys import is_foreign, is_native_name, short_name
from nodes.groups.registry import GroupKey
from quota.answers.waits import Around, why_workload_waits

__all__ = ["WhyKind", "why"]

MODES: Final = {
    "Observe": "planning.mode is Observe: reprieve writes down what it would do for it, and does nothing",
    "Off": "planning.mode is Off: reprieve decides nothing about it",
}
"""What the mode of the process means for a group that waits."""
LEFT_ALONE: Final = "By its scheduler. reprieve holds none of its pods back."

WhyKind = Literal["pod", "podgroup", "job", "workload"]


class _About(NamedTuple):
    picture: Picture
    details: Details
    reader: Reader

    def plans(self, uids: Collection[str]) -> list[PreemptionPlan]:
        """The stored plans that are about one of these."""
        may = self.reader.lists("preemptionplans", self.details.namespace)
        return self.details.plans.about(uids) if may else []


def why(picture: Picture, details: Details, kind: WhyKind, name: str, names: Names = ALL) -> Wait:
    """The answer for an object of the namespace of `details`. `names`: what its reader may know.

    Raises InputError if no object or several groups have this name. Raises UnreadError if objects of its kind could
    not be read.
    """
    reader = Reader(names)
    about = _About(reader.picture_of(picture, details.namespace), reader.details(details), reader)
    return reader.answer(_QUESTIONS[kind](about, details.namespace, name))


def _about_pod(about: _About, namespace: str, name: str) -> Wait:
    """The answer for a pod. Raises InputError if no pod has this name."""
    pod = about.details.pods.get(name)
    if pod is None:
        raise InputError(f"there is no Pod {namespace}/{name}")
    unit, depends = about.details.unit_of(pod), list[Wait]()
    if why_pod_waits(pod).waits:
        if unit is not None and POD_GROUP not in about.picture.refused:
            depends.append(_group(about, unit))
        owner = controller_reference(pod.metadata)
        if owner is not None and (workload := _workload_of(about, owner.uid)) is not None:
            depends += [workload] if workload.waits else []
    return _pod(about, pod, depends)


def _about_group(about: _About, namespace: str, name: str) -> Wait:
    """The answer for a group: a PodGroup of ours, or one of another kind that pods belong to.

    Raises InputError if no group or several groups have this name. Raises UnreadError if PodGroups cannot be read.
    """
    if problem := about.picture.refused.get(POD_GROUP):
        raise UnreadError(problem)
    key = _key(about, namespace, name)
    answer = _group(about, key)
    if answer.waits and answer.state in ("OfAnotherKind", "Basic"):
        return replace(answer, depends=(*answer.depends, *_first_waiting(about, about.details.members(key))))
    return answer


def _about_job(about: _About, namespace: str, name: str) -> Wait:
    """The answer for a Job: its own, that of its Workload, and that of its first pod that waits."""
    if problem := about.picture.refused.get(JOB):
        raise UnreadError(problem)
    job = about.details.jobs.get(name)
    if job is None:
        raise InputError(f"there is no Job {namespace}/{name}")
    pods = about.details.pods_of(job.metadata.uid)
    answer = why_job_waits(job, pods, about.details.events)
    workload = _workload_of(about, job.metadata.uid) if answer.waits or job.spec.managed_by else None
    answer = of_job(answer, job, workload)
    if not answer.waits:
        return answer
    if workload is None and answer.state == "Suspended" and answer.numbers.get("localQueue"):
        says = f"{answer.sentence} It has none yet: whoever manages the quota creates it."
        answer = replace(answer, sentence=says)
    found = () if workload is None else (workload,)
    return replace(answer, depends=(*found, *_first_waiting(about, pods)))


def _about_workload(about: _About, namespace: str, name: str) -> Wait:
    """The answer for a Workload: its quota, and the pods of its owner once it is admitted."""
    if problem := about.picture.refused.get(WORKLOAD):
        raise UnreadError(problem)
    workload = about.picture.quota.workloads.get(f"{namespace}/{name}")
    if workload is None:
        raise InputError(f"there is no Workload {namespace}/{name}")
    answer = _quota(about, workload)
    return _with_pods(about, workload, answer) if answer.state == "Admitted" else answer


def _pod(about: _About, pod: Pod, depends: Sequence[Wait]) -> Wait:
    uid, reader = pod.metadata.uid, about.reader
    plans = about.plans([uid])
    answer = answer_for_pod(
        about.picture.nodes.snapshot,
        pod,
        plans,
        depends,
        about.picture.without_nodes,
        reader.decision,
        reader.may_name,
    )
    return answer if depends else _with_instead(answer, plans, [uid])


def _first_waiting(about: _About, pods: Sequence[Pod]) -> list[Wait]:
    """The answer for the first of the pods that waits, with its group's."""
    waiting = (pod for pod in pods if why_pod_waits(pod).waits)
    found = []
    for pod in islice(waiting, 1):
        unit = about.details.unit_of(pod)
        is_gang = unit is not None and not is_foreign(unit[1]) and POD_GROUP not in about.picture.refused
        found.append(_pod(about, pod, [_group(about, unit)] if is_gang and unit is not None else []))
    return found


def _group(about: _About, key: GroupKey) -> Wait:
    """The answer for a group. One in a queue depends on its Workload."""
    pods, group = about.details.members(key), about.details.groups.get(key)
    of_group = [group.metadata.uid] if group is not None else [pod.metadata.uid for pod in pods]
    plans = about.plans(of_group)
    snapshot, unread = about.picture.nodes.snapshot, about.picture.without_nodes
    answer = why_group_waits(snapshot, key, pods, plans, unread, about.reader.decision)
    answer = _with_instead(answer, plans, of_group)
    if not answer.waits:
        return answer
    answer = _in_mode(answer, about.picture.native.planning)
    answer = with_scheduler(
        answer,
        key,
        group,
        plans,
        snapshot,
        about.picture.native,
        about.picture.moment / 1e6,
    )
    if answer.state in GATHERS:
        said = {
            each.metadata.uid: found.sentence
            for each in about.details.creators
            if each.stopped and (found := _workload_of(about, each.metadata.uid)) is not None
        }
        missing = why_missing(key[1], pods, about.details.creators, about.details.events, said)
        answer = replace(answer, missing=tuple(missing))
    workload = _workload_of(about, group.metadata.uid) if group is not None else None
    return replace(answer, depends=(workload,)) if workload is not None and workload.waits else answer


def _in_mode(answer: Wait, mode: str) -> Wait:
    """The answer for a group, where the process says on its Lease that it does nothing for gangs."""
    if mode not in MODES or answer.state in ("OfAnotherKind", "Basic"):
        return answer
    return replace(answer, notes=(*answer.notes, MODES[mode]), tried_again=LEFT_ALONE)


def _with_instead(answer: Wait, plans: Sequence[PreemptionPlan], uids: Sequence[str]) -> Wait:
    """The answer for a preemptor, with what a scheduler did for it instead of an observed plan. `uids`: of the
    preemptor, or of its members."""
    plan = observed_of(plans, uids)
    said = sentences(plan) if plan is not None else []
    return replace(answer, notes=(*answer.notes, " ".join(said))) if said else answer


def _workload_of(about: _About, uid: str) -> Wait | None:
    namespace = about.details.namespace
    workload = _owned_by(about.picture, namespace, uid)
    if workload is None or not about.reader.lists("workloads", namespace):
        return None
    return _quota(about, workload)


def _quota(about: _About, workload: Workload) -> Wait:
    """What the quota plane says of the Workload."""
    picture = about.picture
    around = Around(
        picture.quota,
        picture.moment,
        about.plans([workload.metadata.uid]),
        picture.namespaces,
        unread=picture.without_quota,
        told=about.reader.told,
    )
    answer = why_workload_waits(workload, around)
    return with_clusters(answer, workload, picture.quota.checks, picture.worker_clusters, picture.moment)


def _with_pods(about: _About, workload: Workload, answer: Wait) -> Wait:
    """The answer for one that is admitted: its pods may wait for nodes."""
    owners = [owner.uid for owner in workload.metadata.owner_references or ()]
    pods = [pod for uid in owners for pod in about.details.pods_of(uid)] or _pods_of_groups(about, owners)
    waiting = [pod for pod in pods if why_pod_waits(pod).waits]
    if not waiting:
        return answer
    says = f"It has quota: it is admitted in ClusterQueue {answer.numbers['clusterQueue']}. "
    says += f"{len(waiting)} of {counted(len(pods), 'pod')} of it have no node."
    return replace(answer, waits=True, sentence=says, depends=tuple(_first_waiting(about, waiting)))


def _pods_of_groups(about: _About, uids: Sequence[str]) -> list[Pod]:
    """The pods of the PodGroups of these UIDs."""
    units = {about.details.unit_of(pod) for pod in about.details.pods.values()}
    keys = [key for key in units if key is not None and not is_foreign(key[1])]
    groups = {key: group for key in keys if (group := about.details.groups.get(key)) is not None}
    return [
        pod
        for key, group in groups.items()
        if group.metadata.uid in uids
        for pod in about.details.members(key)
    ]


def _key(about: _About, namespace: str, name: str) -> GroupKey:
    """The key of the group. NAME alone means a group of another kind if there is no other one of this name."""
    if about.details.groups.get((namespace, name)) is not None:
        return namespace, name
    units = {unit for pod in about.details.pods.values() if (unit := about.details.unit_of(pod)) is not None}
    units.update(key for key in about.details.groups if is_native_name(key[1]))
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


def _owned_by(picture: Picture, namespace: str, uid: str) -> Workload | None:
    """The Workload that belongs to the owner of this UID; the newest one of several. Nobody owns anything in another
    namespace."""
    found = [
        each
        for each in picture.quota.workloads.values()
        if each.metadata.namespace == namespace
        and any(owner.uid == uid for owner in each.metadata.owner_references or ())
    ]
    return max(found, key=lambda each: each.metadata.creation_timestamp or "", default=None)


_QUESTIONS: Final[Mapping[WhyKind, Callable[[_About, str, str], Wait]]] = {
    "pod": _about_pod,
    "podgroup": _about_group,
    "job": _about_job,
    "workload": _about_workload,
}

"""The life of a PodGroup in a queue: from the group, its members and its Workload to what is written next.

All functions are pure. Whoever sees a change calls `next_step`, as often as it likes. What follows after a write is
found in the objects again, so a process that dies between two writes changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from api.groups import PodGroup, goes_whole
from api.kueue import RESOURCE_IN_USE
from api.workloads import ADMITTED, EVICTED, FINISHED, PREEMPTED, QUOTA_RESERVED, Workload
from controllers.jobs.owned_workload import JobError, Wish
from controllers.jobs.pod_groups.members import Member
from quota.cycle.pod_set_infos import PodSetConflict, PodSetInfo, merged
from quota.state.workloads import is_true, true_condition
from runtime.exchange.workload_reports import NOTHING, Reported

__all__ = ["Admit", "Around", "GroupStep", "Remark", "Seen", "next_step"]

FAILED_TO_START: Final = "FailedToStart"
BEYOND: Final = "BeyondAdmittedCount"
CANNOT_SELECT: Final = "CannotGetNodeSelector"


class Admit(NamedTuple):
    """The pod gets its place: what the admission adds, and without the gate of quota."""

    member: Member
    info: PodSetInfo


class Remark(NamedTuple):
    """Why a pod waits although its group is admitted."""

    member: Member
    reason: str
    note: str

    @property
    def is_new(self) -> bool:
        """Whether the pod does not say so yet."""
        said = self.member.said
        return said is None or (said.status, said.reason, said.message) != ("False", self.reason, self.note)


@dataclass(frozen=True, slots=True)
class GroupStep:
    """What follows for a group. At most one of the writes about the Workload is set."""

    create: bool = False
    """The group gets its Workload. The templates are read then."""
    renew: bool = False
    """The Workload gets the pod sets of the members that are there, and what the group wishes."""
    delete: bool = False
    unprotect: bool = False
    """The Workload is being deleted, and nothing of it runs: it loses its finalizer."""
    open_gates: tuple[Member, ...] = ()
    """Pods whose gate is removed, because their group is in no queue."""
    admit: tuple[Admit, ...] = ()
    remarks: tuple[Remark, ...] = ()
    stop: str = ""
    """Why all running members are evicted; empty if they are not."""
    remove: tuple[Member, ...] = ()
    """Members to remove that have no node: they are deleted at once."""
    reported: Reported = NOTHING
    warning: str = ""
    """Why nothing can be done; empty if that is not so."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What is there of a group."""

    group: PodGroup | None
    members: Sequence[Member]
    workload: Workload | None
    """The Workload of the group's name and UID."""
    preempted: str = ""
    """Why members with quota were evicted for others on nodes; empty if none was."""


@dataclass(frozen=True, slots=True)
class Around:
    """What the rules need to know besides."""

    wish: Wish | JobError
    infos: Callable[[Workload], Sequence[PodSetInfo]] = field(default=lambda _: ())
    """What the admission adds. It may raise PodSetConflict."""


def next_step(seen: Seen, around: Around) -> GroupStep:
    """What follows for a group, whether it is in a queue or not."""
    step, workload = _step(seen, around), seen.workload
    if workload is None or not _left(seen, workload):
        return step
    return replace(step, reported=replace(step.reported, runs=True))


def _step(seen: Seen, around: Around) -> GroupStep:
    workload = seen.workload
    if workload is not None and (workload.metadata.deletion_timestamp is not None or seen.group is None):
        return _delete_workload(seen, workload)
    if seen.group is None:
        return GroupStep()
    if isinstance(around.wish, Wish) and not around.wish.queue_name:
        return _in_no_queue(seen, workload)
    if workload is None:
        return _without_workload(seen, around)
    if is_true(workload, FINISHED):
        return GroupStep()
    if _has_ended(seen):
        return SUCCEEDED
    if is_true(workload, EVICTED):
        return _evicted(seen, workload, around)
    if is_true(workload, ADMITTED):
        return _admitted(seen, workload, around)
    if _left(seen, workload) and not is_true(workload, QUOTA_RESERVED):
        return replace(_ends(seen, workload, "its quota was given back"), delete=False)
    step = _waits(seen, workload, around)
    return replace(step, stop=step.stop or _why_stop(seen))


SUCCEEDED: Final = GroupStep(
    reported=Reported(nothing_runs=True, finished=("Succeeded", "Pods succeeded: all members"))
)


def wants(members: Iterable[Member], uid: str) -> Counter[str]:
    """How many pods each pod set has, of members that live and wait for this Workload (UID), or for none."""
    return Counter(each.pod_set for each in members if each.lives and each.admitted_by in ("", uid))


# ---- no Workload


def _in_no_queue(seen: Seen, workload: Workload | None) -> GroupStep:
    """A group that leaves its queue with quota ends: nobody runs on with quota that was given back."""
    if workload is None:
        return GroupStep(
            open_gates=tuple(each for each in seen.members if each.is_gated and not each.leaving)
        )
    if is_true(workload, QUOTA_RESERVED):
        return _ends(seen, workload, "the PodGroup names no queue any longer")
    return GroupStep(delete=True)


def _without_workload(seen: Seen, around: Around) -> GroupStep:
    minimum = _minimum(seen.group)
    if minimum is None:
        return GroupStep(warning="a PodGroup without a gang policy cannot wait in a queue")
    if isinstance(around.wish, JobError):
        return GroupStep(warning=str(around.wish))
    former = [each for each in seen.members if each.admitted_by and not each.leaving]
    if former:  # their Workload is gone, and with it their quota
        return _leave(former, "the Workload of the PodGroup is gone")
    living = [each for each in seen.members if each.lives]
    return GroupStep(create=len(living) >= minimum, stop=_why_stop(seen))


def _why_stop(seen: Seen) -> str:
    """Why members of a group without quota are evicted; empty if none of them runs."""
    runs = any(each.bound and each.lives and not each.admitted_by for each in seen.members)
    return "it was bound before it was admitted" if runs else ""


# ---- the end of the Workload


def _delete_workload(seen: Seen, workload: Workload) -> GroupStep:
    """It is deleted when nothing of the group runs any longer."""
    step = _ends(seen, workload, f"Workload {workload.metadata.name} was deleted")
    if not step.reported.nothing_runs:
        return step
    if workload.metadata.deletion_timestamp is None:
        return replace(step, delete=True)
    has_finalizer = RESOURCE_IN_USE in (workload.metadata.finalizers or ())
    return replace(step, unprotect=has_finalizer)


def _ends(seen: Seen, workload: Workload, why: str) -> GroupStep:
    """All members that have the quota of the Workload are removed."""
    left = _left(seen, workload)
    if not left:
        return GroupStep(
            delete=workload.metadata.deletion_timestamp is None, reported=Reported(nothing_runs=True)
        )
    names = tuple(sorted(each.name for each in left))
    return replace(_leave(left, why), reported=Reported(remaining=names))


def _left(seen: Seen, workload: Workload) -> list[Member]:
    """The members that have the quota of the Workload."""
    uid = workload.metadata.uid
    return [each for each in seen.members if each.admitted_by == uid and not each.succeeded]


def _leave(members: Sequence[Member], why: str) -> GroupStep:
    running = [each for each in members if each.bound and not each.leaving]
    unbound = tuple(each for each in members if not each.bound and not each.leaving)
    return GroupStep(stop=why if running else "", remove=unbound)


# ---- it waits


def _waits(seen: Seen, workload: Workload, around: Around) -> GroupStep:
    """As long as there is no quota, the Workload follows the members."""
    if isinstance(around.wish, JobError):
        return GroupStep(warning=str(around.wish))
    uid = workload.metadata.uid
    changes = around.wish.changes(workload)
    if is_true(workload, QUOTA_RESERVED):
        changes.pop("maximumExecutionTimeSeconds", None)
        if "queueName" in changes:
            return replace(_ends(seen, workload, "the PodGroup names another queue"), delete=True)
        return GroupStep(renew=bool(changes))
    there = wants(seen.members, uid)
    enough = sum(there.values()) >= (_minimum(seen.group) or 1)
    had = {pods.name: pods.count for pods in workload.spec.pod_sets}
    renew = bool(changes) or (enough and dict(there) != had)
    return GroupStep(renew=renew, reported=Reported(reclaimable={}))  # its pod sets are those that are left


# ---- it is evicted


def _evicted(seen: Seen, workload: Workload, around: Around) -> GroupStep:
    evicted = true_condition(workload, EVICTED)
    message = evicted.message if evicted is not None else "it is evicted"
    why = f"Workload {workload.metadata.name} was evicted: {message}"
    step = replace(_ends(seen, workload, why), delete=False)
    if step.reported.nothing_runs and not is_true(workload, QUOTA_RESERVED):
        reported = replace(step.reported, reclaimable={})
        return replace(_waits(seen, workload, around), reported=reported)
    return step


# ---- it is admitted


def _admitted(seen: Seen, workload: Workload, around: Around) -> GroupStep:
    uid, minimum = workload.metadata.uid, _minimum(seen.group) or 1
    if isinstance(around.wish, Wish) and around.wish.queue_name != workload.spec.queue_name:
        return _ends(seen, workload, "the PodGroup names another queue")
    succeeded = sum(each.succeeded for each in seen.members)
    if succeeded >= minimum and not any(
        each.admitted_by == uid and not each.succeeded for each in seen.members
    ):
        return SUCCEEDED
    if seen.preempted and goes_whole(seen.group):
        message = f"Preempted on nodes: {seen.preempted}"
        return GroupStep(reported=Reported(eviction=(PREEMPTED, message)))
    try:
        infos = {each.name: each for each in around.infos(workload)}
        for info, pods in ((infos.get(each.name), each) for each in workload.spec.pod_sets):
            selector = pods.template.spec.node_selector or {}
            if info is not None:
                merged(selector, info.node_selector, "nodeSelector", "the admission")
    except PodSetConflict as error:
        return GroupStep(reported=Reported(nothing_runs=True, finished=(FAILED_TO_START, str(error))))
    return _placed(seen, workload, infos)


def _placed(seen: Seen, workload: Workload, infos: Mapping[str, PodSetInfo]) -> GroupStep:
    """Members pass, the oldest first, as long as their pod set has quota left."""
    uid = workload.metadata.uid
    gone = {each.name: each.count for each in workload.status.reclaimable_pods or ()}
    left = Counter({name: info.count - gone.get(name, 0) for name, info in infos.items()})
    left.subtract(each.pod_set for each in seen.members if each.admitted_by == uid and not each.succeeded)
    admit, remarks = list[Admit](), list[Remark]()
    for member in seen.members:
        if member.admitted_by == uid or not member.lives:
            continue
        name, info = member.pod_set, infos.get(member.pod_set)
        if info is None or left[name] <= 0:
            what = f"{info.count} pods like it have quota" if info is not None else "no pod like it has quota"
            note = f"{what} in Workload {workload.metadata.name}, and it is one more"
            remarks.append(Remark(member, BEYOND, note))
        elif not member.can_select and not info.node_selector.items() <= member.node_selector.items():
            note = "it has no scheduling gate, so its node selector cannot change: create it again"
            remarks.append(Remark(member, CANNOT_SELECT, note))
        else:
            left[name] -= 1
            admit.append(Admit(member, info))
    reported = Reported(reclaimable=_reclaimable(seen, workload))
    return GroupStep(admit=tuple(admit), remarks=tuple(remarks), reported=reported)


def _reclaimable(seen: Seen, workload: Workload) -> dict[str, int]:
    """By pod set: how many members have succeeded. The count of a Workload with quota does not become smaller."""
    uid = workload.metadata.uid
    return dict(Counter(each.pod_set for each in seen.members if each.admitted_by == uid and each.succeeded))


# ---- parts


def _has_ended(seen: Seen) -> bool:
    """Whether enough members have succeeded, and none is left. It may have lost its quota in the same moment."""
    succeeded = sum(each.succeeded for each in seen.members)
    left = any(not each.succeeded for each in seen.members)
    return succeeded >= (_minimum(seen.group) or 1) and not left


def _minimum(group: PodGroup | None) -> int | None:
    gang = group.spec.scheduling_policy.gang if group is not None else None
    return gang.min_count if gang is not None else None

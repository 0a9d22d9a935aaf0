"""Pods that share one Workload, because their labels name a pod group of Kueue (kueue.x-k8s.io/pod-group-name).

Source: pkg/controller/jobs/pod/pod_controller.go of Kueue.
"""

from __future__ import annotations

from answers.what_if.units import Unit
from api.integration import (
    FAST_ADMISSION_ANNOTATION,
    POD_GROUP_NAME_LABEL,
    POD_GROUP_SIZE_ANNOTATION,
    QUEUE_NAME_LABEL,
)
from api.meta import ObjectMeta
from api.syntax import whole_number
from api.words import counted
from nodes.groups.kinds.kind import Queueing
from nodes.groups.registry import GroupKey

__all__ = ["with_pod_groups"]

KIND = "Pods"
"""What answers call pods that are looked at together because of their labels."""
MOST = 2**31 - 1


def with_pod_groups(units: list[Unit]) -> list[Unit]:
    """The units, with the pods of each pod group in one. It is where its first pod was."""
    found, groups = list[Unit](), dict[GroupKey, Unit]()
    for each in units:
        key = _group_of(each)
        if key is None:
            found.append(each)
        elif key in groups:
            groups[key].sets += each.sets
        else:
            groups[key] = _of_group(key, each)
            found.append(groups[key])
    for each in groups.values():
        _finish(each)
    return found


def _group_of(unit: Unit) -> GroupKey | None:
    """The pod group of all pods of the unit, which waits for quota; None if they have none."""
    by_pods = unit.row is not None and (unit.row.queueing is Queueing.PODS or not unit.queue)
    if (
        unit.gang is not None
        or unit.problem is not None
        or unit.held is not None
        or not by_pods
        or unit.kind == "Workload"
    ):
        return None
    labels = [each.pod.metadata.labels or {} for each in unit.sets]
    names = {each.get(POD_GROUP_NAME_LABEL, "") for each in labels}
    in_queue = unit.queue or (labels and all(each.get(QUEUE_NAME_LABEL) for each in labels))
    return (unit.meta.namespace, names.pop()) if in_queue and len(names) == 1 and any(names) else None


def _of_group(key: GroupKey, unit: Unit) -> Unit:
    """A unit for the group, whose first pods these are."""
    labels = {**(unit.sets[0].pod.metadata.labels or {})}
    if unit.queue:
        labels[QUEUE_NAME_LABEL] = unit.queue
    meta = ObjectMeta(name=key[1], namespace=key[0], uid=f"{unit.meta.uid}/{key[1]}", labels=labels)
    return Unit(KIND, meta, "v1", sets=[*unit.sets])


def _finish(unit: Unit) -> None:
    """Compare the number of its pods with the one that they say."""
    said = [each.pod.metadata.annotations or {} for each in unit.sets]
    sizes = {each.get(POD_GROUP_SIZE_ANNOTATION, "") for each in said}
    size = whole_number(next(iter(sizes)), 1, MOST) if len(sizes) == 1 else None
    if size is None:
        says = f"The pods of one pod group have to say the same number in annotation {POD_GROUP_SIZE_ANNOTATION}."
        unit.problem = ("Misconfigured", says)
    elif unit.pods > size:
        says = f"Its pods say that they are {size}, and {unit.pods} are submitted: Kueue deletes the others."
        unit.problem = ("Misconfigured", says)
    elif unit.pods < size and not any(FAST_ADMISSION_ANNOTATION in each for each in said):
        says = (
            f"Only {unit.pods} of its {counted(size, 'pod')} {'is' if unit.pods == 1 else 'are'} submitted. "
        )
        says += "Its Workload is made when all of them exist."
        unit.problem = ("WaitsForQuota", says)

"""The Workload that a submitted object would get, if it names a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from api.groups import API_VERSION
from api.integration import MIN_PARALLELISM_ANNOTATION, QUEUE_NAME_LABEL
from api.meta import ObjectMeta
from api.podsets import PodTemplate
from api.priority import SYSTEM_CLASSES, global_default
from api.syntax import whole_number
from api.validation import convert
from api.workloads import PriorityClassRef, Workload
from controllers.jobs.owned_workload import (
    Classes,
    JobError,
    Wish,
    class_of_label,
    owned_body,
    owned_name,
    owner_reference,
    seconds_of_label,
)
from nodes.answers.picture import NodesPicture
from nodes.groups.made_pods import KINDS, MadePods, Written
from nodes.search.preemptors.supposed import SupposedPods
from quota.cycle.pod_set_infos import PodSetInfo, with_info

__all__ = ["supposed_pods", "workload_of"]


def workload_of(
    kind: str, meta: ObjectMeta, sets: Sequence[MadePods], written: Written | None, classes: Classes, now: str
) -> Workload | None:
    """The Workload; None if the object names no queue. Raises JobError and FieldError.

    `written`: the object itself, if it is a Workload.
    """
    if kind == "Workload" and written is not None:
        own: Workload = convert({"metadata": {}, "spec": written.spec or {}}, Workload)
        own.metadata = msgspec.structs.replace(meta, creation_timestamp=meta.creation_timestamp or now)
        return own
    queue = (meta.labels or {}).get(QUEUE_NAME_LABEL, "")
    if not queue:
        return None
    version = API_VERSION if written is None else written.api_version or KINDS[kind]
    group = version.partition("/")[0] if "/" in version else ""
    ref, priority = class_of_label(meta.labels, classes) or _of_pods(sets, classes)
    wish = Wish(queue, priority, ref, seconds_of_label(meta.labels))
    least = _min_count(meta, sum(each.count for each in sets)) if kind == "Job" else {}
    pod_sets = [
        {"name": each.pod_set, "count": each.count, "template": _template(each.template), **least}
        for each in sets
    ]
    owner = owner_reference(version, kind, meta, blocks=False)
    body = owned_body(owned_name(kind, group, meta), meta.namespace, owner, wish, pod_sets)
    body["metadata"] |= {"uid": f"{meta.uid}/workload", "creationTimestamp": now}
    made: Workload = convert(body, Workload)
    return made


def _min_count(meta: ObjectMeta, pods: int) -> dict[str, int]:
    """The minCount of a Job with this number of pods, if it asks for partial admission. Raises JobError."""
    text = (meta.annotations or {}).get(MIN_PARALLELISM_ANNOTATION)
    if text is None:
        return {}
    least = whole_number(text, 1, pods - 1)
    if least is None:
        path = f"metadata.annotations[{MIN_PARALLELISM_ANNOTATION}]"
        raise JobError(f"{path}: {text[:40]!r} is no number between 0 and {pods}, the number of pods")
    return {"minCount": least}


def supposed_pods(
    sets: Sequence[MadePods], infos: Mapping[str, PodSetInfo], nodes: NodesPicture
) -> list[SupposedPods]:
    """The pods with what the admission adds to them. Raises PodSetConflict."""
    found = []
    for each in sets:
        pod, info = each.pod, infos.get(each.pod_set)
        if info is not None:
            template = with_info(PodTemplate(pod.metadata, pod.spec), info)
            pod = msgspec.structs.replace(pod, metadata=template.metadata or pod.metadata, spec=template.spec)
        count = each.count if info is None else min(each.count, info.count)
        found.append(SupposedPods(each.name, count, pod, *nodes.behind(pod)))
    return found


def _template(template: Mapping[str, Any]) -> dict[str, Any]:
    meta = template.get("metadata") or {}
    kept = {name: meta[name] for name in ("labels", "annotations") if meta.get(name)}
    return {"metadata": kept, "spec": template.get("spec") or {}}


def _of_pods(sets: Sequence[MadePods], classes: Classes) -> tuple[PriorityClassRef | None, int]:
    """The class of the pods, else the global default, else 0."""
    known = classes.priority_classes
    name = sets[0].pod.spec.priority_class_name if sets else ""
    found = (known.get(name) or SYSTEM_CLASSES.get(name)) if name else global_default(known.values())
    if name and found is None:
        raise JobError(f"priorityClassName: PriorityClass {name} does not exist")
    if found is None:
        return None, 0
    return PriorityClassRef("scheduling.k8s.io", "PriorityClass", found.metadata.name), found.value

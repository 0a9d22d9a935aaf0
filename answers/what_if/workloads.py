"""The Workloads that a submitted object would get, if a label names a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from answers.what_if.claims import Claim
from api.groups import API_VERSION
from api.integration import MIN_PARALLELISM_ANNOTATION, QUEUE_NAME_LABEL
from api.meta import ObjectMeta
from api.podsets import PodTemplate
from api.priority import SYSTEM_CLASSES, global_default
from api.syntax import whole_number
from api.validation import convert
from api.workloads import PriorityClassRef, Workload
from controllers.jobs.batch.workload_of import topology_of
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
from nodes.groups.kinds.services import POD
from nodes.groups.made_pods import MadePods
from nodes.search.preemptors.supposed import SupposedPods
from quota.cycle.pod_set_infos import PodSetInfo, with_info
from quota.cycle.unsupported import ELASTIC_JOB

__all__ = ["supposed_pods", "workload_of"]


def workload_of(claim: Claim, classes: Classes, now: str) -> Workload:
    """The Workload of a claim. Raises JobError and FieldError."""
    unit, meta = claim.of, claim.meta
    version = unit.api_version or API_VERSION
    if unit.kind == "Workload" and unit.written is not None:
        own: Workload = convert({"metadata": {}, "spec": unit.written.spec or {}}, Workload)
        own.metadata = msgspec.structs.replace(meta, creation_timestamp=meta.creation_timestamp or now)
        return own
    if claim.kind != unit.kind:
        version = POD.api_version
    queue, group = (meta.labels or {}).get(QUEUE_NAME_LABEL, ""), version.rpartition("/")[0]
    ref, priority = class_of_label(meta.labels, classes) or _of_pods(unit.priority_class, claim.sets, classes)
    wish = Wish(queue, priority, ref, seconds_of_label(meta.labels))
    owner = owner_reference(version, claim.kind, meta, blocks=False)
    body = owned_body(owned_name(claim.kind, group, meta), meta.namespace, owner, wish, _pod_sets(claim))
    body["metadata"] |= {"uid": f"{meta.uid}/workload", "creationTimestamp": now}
    elastic = {name: value for name, value in (meta.annotations or {}).items() if name == ELASTIC_JOB}
    body["metadata"]["annotations"] = elastic
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


def _pod_sets(claim: Claim) -> list[dict[str, Any]]:
    """Pods of several objects may be of one pod set."""
    least = _min_count(claim.meta, sum(each.count for each in claim.sets)) if claim.kind == "Job" else {}
    found: dict[str, dict[str, Any]] = {}
    for each in claim.sets:
        if each.pod_set in found:
            found[each.pod_set]["count"] += each.count
        else:
            found[each.pod_set] = {**_pod_set(each), **least}
    return [*found.values()]


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
        own = frozenset((claim.metadata.namespace, claim.metadata.name) for claim in each.claims)
        found.append(SupposedPods(each.name, count, pod, *nodes.behind(pod), own))
    return found


def _pod_set(pods: MadePods) -> dict[str, Any]:
    """As the controller of the object makes it: annotations say what else it asks for."""
    template = _template(pods.template)
    made: dict[str, Any] = {"name": pods.pod_set, "count": pods.count, "template": template}
    if topology := topology_of(template["metadata"].get("annotations")):
        made["topologyRequest"] = topology
    return made


def _template(template: Mapping[str, Any]) -> dict[str, Any]:
    meta = template.get("metadata") or {}
    kept = {name: meta[name] for name in ("labels", "annotations") if meta.get(name)}
    return {"metadata": kept, "spec": template.get("spec") or {}}


def _of_pods(said: str, sets: Sequence[MadePods], classes: Classes) -> tuple[PriorityClassRef | None, int]:
    """The class that the object names (`said`), else the first one of its pods, else the global default, else 0."""
    known = classes.priority_classes
    name = said or next(filter(None, (each.pod.spec.priority_class_name for each in sets)), "")
    found = (known.get(name) or SYSTEM_CLASSES.get(name)) if name else global_default(known.values())
    if name and found is None:
        raise JobError(f"priorityClassName: PriorityClass {name} does not exist")
    if found is None:
        return None, 0
    return PriorityClassRef("scheduling.k8s.io", "PriorityClass", found.metadata.name), found.value

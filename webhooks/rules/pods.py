"""Pods of a PodGroup. They get scheduling gates when they are created. No pod is refused."""

from __future__ import annotations

from collections.abc import Iterator

from api.core import PriorityClass
from api.disruption import COST_ANNOTATION
from api.groups import POD_GROUP_LABEL, SCHEDULING_GATE, PodGroup
from api.integration import ADMISSION_GATE, POD_GROUP_FRAMEWORK, QUEUE_NAME_LABEL, WORKLOAD_ANNOTATION
from api.selectors import selects
from schema.verdict import Verdict
from webhooks.facts import UNKNOWN, Answer, Facts
from webhooks.rules.disruption import annotation_faults
from webhooks.rules.fields import child, entries, integer, items, text
from webhooks.rules.request import Object, Request

__all__ = ["default", "validate"]

NEVER = "Never"


def default(request: Request) -> Object:
    """The pod with the scheduling gates that it needs, after those that it has already.

    Members of a gang wait for one another, and those of a group in a queue wait for quota. A pod that has a node stays
    as it is. A gate is left out if it is known that the PodGroup needs none. If that turns
    out later, the controllers remove the gate from the pod.
    """
    spec = request.new.get("spec")
    if request.operation != "CREATE" or request.subresource:
        return request.new
    if not isinstance(spec, dict) or spec.get("nodeName"):
        return request.new
    gates = items(spec, "schedulingGates")
    has = {gate.get("name") for gate in gates}
    wanted = ((SCHEDULING_GATE, _may_be_of_a_gang), (ADMISSION_GATE, _may_need_quota))
    new = [{"name": name} for name, needs in wanted if name not in has and needs(request)]
    return {**request.new, "spec": {**spec, "schedulingGates": [*gates, *new]}} if new else request.new


def _may_be_of_a_gang(request: Request) -> bool:
    """A group that does not exist yet may be created just after its pods."""
    if not request.settings.gates_members or not _is_enforced(request):
        return False
    if native := _native_name(request):
        return request.settings.gates_native and _may_be_a_native_gang(request, native)
    name = _group_name(request)
    group = _group(request, name) if name else None
    return bool(name) and (group is None or group is UNKNOWN or group.spec.scheduling_policy.gang is not None)


def _is_enforced(request: Request) -> bool:
    """Whether gangs of the namespace wait for reprieve. Where it is observed, a gate only delays its pods.

    A namespace whose labels are not known counts as observed. Without the gate, filter holds the members.
    """
    selector = request.settings.enforced
    if selector is None:
        return True
    labels = request.facts.namespace_labels(_namespace(request))
    return labels is not None and labels is not UNKNOWN and selects(selector, labels)


def _may_be_a_native_gang(request: Request, name: str) -> bool:
    group = request.facts.native_group(_namespace(request), name)
    return group is None or group is UNKNOWN or group.spec.scheduling_policy.gang is not None


def _may_need_quota(request: Request) -> bool:
    """A member of a group in a queue, or of a group that does not exist yet. The pods of a Job in a queue have the
    quota of the Job. A PodGroup of kube-scheduler's own kind that the pod names as well does not matter."""
    queues, name = request.settings.queues, _labelled(request)
    if queues is None or POD_GROUP_FRAMEWORK not in queues.frameworks or not name or _is_of_a_job(request):
        return False
    group = _group(request, name)
    return group is None or group is UNKNOWN or bool((group.metadata.labels or {}).get(QUEUE_NAME_LABEL))


def _is_of_a_job(request: Request) -> bool:
    """Whether a Job that was started with quota controls the pod."""
    metadata = child(request.new, "metadata")
    owners = [each for each in items(metadata, "ownerReferences") if each.get("controller") is True]
    return bool(entries(metadata, "annotations").get(WORKLOAD_ANNOTATION)) and any(
        each.get("kind") == "Job" and text(each, "apiVersion").startswith("batch/") for each in owners
    )


def validate(request: Request) -> Verdict:
    """Warnings for a pod that differs from its group, and for annotations that cannot be read."""
    if request.subresource:
        return Verdict()
    return Verdict(warnings=(*_annotation_warnings(request), *_group_warnings(request)))


def _annotation_warnings(request: Request) -> list[str]:
    """What an update leaves as it was is not said again."""
    known = set(annotation_faults(request.old, COST_ANNOTATION)) if request.old is not None else set()
    faults = [fault for fault in annotation_faults(request.new, COST_ANNOTATION) if fault not in known]
    return [f"{field}: {fault}: it counts as if it were absent" for field, fault in faults]


def _group_warnings(request: Request) -> list[str]:
    """The group's priority counts, and nobody is evicted for it while a member differs.

    See nodes.search.preemptors.mismatch, which is asked when the gang is planned.
    """
    if request.operation != "CREATE":
        return []
    spec, name = child(request.new, "spec"), _group_name(request)
    if not name or integer(spec, "priority") is None:
        return []
    group = _group(request, name)
    if group is UNKNOWN:
        return [f"PodGroup {name} is not known: whether the pod's priority is the group's was not checked"]
    return list(_differences(spec, group, request.facts)) if group is not None else []


def _group_name(request: Request) -> str:
    """The PodGroup that the label names; "" without the label, and for a pod of a native PodGroup, which comes first
    (`nodes.groups.registry`)."""
    return "" if _native_name(request) else _labelled(request)


def _labelled(request: Request) -> str:
    """The PodGroup that the label names; "" without it. Its quota counts, see `nodes.groups.registry.group_of`."""
    return entries(child(request.new, "metadata"), "labels").get(POD_GROUP_LABEL, "")


def _native_name(request: Request) -> str:
    """The PodGroup of kube-scheduler's own kind that the pod names; "" if it names none."""
    return text(child(request.new, "spec", "schedulingGroup"), "podGroupName")


def _namespace(request: Request) -> str:
    return text(child(request.new, "metadata"), "namespace") or "default"


def _group(request: Request, name: str) -> Answer[PodGroup]:
    return request.facts.pod_group(_namespace(request), name)


def _differences(spec: Object, group: PodGroup, facts: Facts) -> Iterator[str]:
    priority, name = integer(spec, "priority"), group.metadata.name
    found, counted = _class_of(group, facts), _priority(group, facts)
    if counted not in (None, priority):
        said = f"the pod's priority is {priority}, and that of its PodGroup {name}, which counts, {counted}"
        yield f"{said}: {_how_to_agree(group)}"
    known = found.preemption_policy if isinstance(found, PriorityClass) else None
    if text(spec, "preemptionPolicy") == NEVER and NEVER not in (group.spec.preemption_policy, known):
        yield f"the pod's preemptionPolicy is Never, and that of its PodGroup {name} is not: {_how_to_agree(group)}"


def _how_to_agree(group: PodGroup) -> str:
    """Neither the pod's priority nor the group's can be changed later."""
    name = group.spec.priority_class_name
    which = f"the PodGroup's is {name}" if name else "the PodGroup has none"
    return f"nothing is evicted for the group unless both have one priorityClassName ({which})"


def _class_of(group: PodGroup, facts: Facts) -> Answer[PriorityClass]:
    name = group.spec.priority_class_name
    if not name and group.spec.priority is not None:
        return None
    return facts.priority_class(name) if name else facts.default_priority_class()


def _priority(group: PodGroup, facts: Facts) -> int | None:
    """The priority of the group, or of its class if the group has none. None if it is not known."""
    if group.spec.priority is not None:
        return group.spec.priority
    found = _class_of(group, facts)
    if found is None and not group.spec.priority_class_name:
        return 0
    return None if found is None or found is UNKNOWN else found.value

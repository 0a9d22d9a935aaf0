"""Pods of a PodGroup. No pod is refused."""

from __future__ import annotations

from collections.abc import Iterator

from api.core import PriorityClass
from api.groups import POD_GROUP_LABEL, PodGroup
from schema.verdict import Verdict
from webhooks.facts import UNKNOWN, Answer, Facts
from webhooks.rules.fields import child, entries, integer, text
from webhooks.rules.request import Object, Request

__all__ = ["validate"]

NEVER = "Never"


def validate(request: Request) -> Verdict:
    """Warnings for a pod that differs from its group: the group's priority counts, and nobody is evicted for it.

    See nodes.search.mismatch, which is asked when the gang is planned.
    """
    if request.operation != "CREATE" or request.subresource:
        return Verdict()
    metadata, spec = child(request.new, "metadata"), child(request.new, "spec")
    name = entries(metadata, "labels").get(POD_GROUP_LABEL)
    if not name or integer(spec, "priority") is None:
        return Verdict()
    group = request.facts.pod_group(text(metadata, "namespace") or "default", name)
    if group is UNKNOWN:
        warning = f"PodGroup {name} is not known: whether the pod's priority is the group's was not checked"
        return Verdict(warnings=(warning,))
    return Verdict(warnings=tuple(_differences(spec, group, request.facts)) if group is not None else ())


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
    return f"nobody is evicted for the group unless both have one priorityClassName ({which})"


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

"""Pods of a PodGroup. No pod is refused."""

from __future__ import annotations

from api.groups import POD_GROUP_LABEL, PodGroup
from schema.verdict import Verdict
from webhooks.facts import UNKNOWN, Facts
from webhooks.rules.fields import child, entries, integer, text
from webhooks.rules.request import Request

__all__ = ["validate"]


def validate(request: Request) -> Verdict:
    """A warning if the pod has another priority than its group. The priority of the group counts."""
    if request.operation != "CREATE" or request.subresource:
        return Verdict()
    metadata = child(request.new, "metadata")
    name = entries(metadata, "labels").get(POD_GROUP_LABEL)
    priority = integer(child(request.new, "spec"), "priority")
    if not name or priority is None:
        return Verdict()
    group = request.facts.pod_group(text(metadata, "namespace") or "default", name)
    if group is UNKNOWN:
        warning = f"PodGroup {name} is not known: whether the pod's priority is the group's was not checked"
        return Verdict(warnings=(warning,))
    counted = _priority(group, request.facts) if group is not None else None
    if counted in (None, priority):
        return Verdict()
    warning = f"the pod's priority is {priority}, and that of its PodGroup {name}, which counts, {counted}"
    return Verdict(warnings=(warning,))


def _priority(group: PodGroup, facts: Facts) -> int | None:
    """The priority of the group, or of its class if the group has none. None if it is not known."""
    if group.spec.priority is not None:
        return group.spec.priority
    name = group.spec.priority_class_name
    found = facts.priority_class(name) if name else facts.default_priority_class()
    if found is None and not name:
        return 0
    return None if found is None or found is UNKNOWN else found.value

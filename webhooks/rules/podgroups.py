"""PodGroup (KEP-5710). Its priority comes from a PriorityClass, as upstream's admission does it for pods.

See docs/decisions/0014.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from api.disruption import BUDGETS_ANNOTATION, COST_ANNOTATION
from api.words import shown
from schema.verdict import FORBIDDEN, INVALID, NOT_FOUND, REQUIRED, Cause, Verdict
from webhooks.facts import UNKNOWN, Facts, NotSynced
from webhooks.rules.disruption import annotation_faults
from webhooks.rules.fields import child, integer, text
from webhooks.rules.jobs import queue_causes
from webhooks.rules.ratchet import new_causes
from webhooks.rules.request import Object, Request

__all__ = ["default", "validate"]

FILLED: Final = ("priorityClassName", "priority", "preemptionPolicy")
SYSTEM_PREFIX: Final = "system-"
"""Users cannot create classes whose names begin with this."""
SYSTEM_NAMESPACE: Final = "kube-system"
NEVER: Final = "Never"
MAX_PRIORITY: Final = 10**9
"""The highest value of a class that a user can create."""


def default(request: Request) -> Object:
    """The PodGroup with its class, priority and preemption policy.

    If an update leaves these fields out, they keep their values. An update with the original manifest does that.
    Raises NotSynced while classes are not known.
    """
    spec = request.new.get("spec")
    if request.subresource or not isinstance(spec, dict):
        return request.new
    if request.old is not None:
        stored = child(request.old, "spec")
        filled = {field: stored[field] for field in FILLED if stored.get(field) is not None}
    else:
        filled = _of_class(spec, request.facts)
    missing = {field: value for field, value in filled.items() if _is_missing(spec, field, value)}
    return {**request.new, "spec": {**spec, **missing}} if missing else request.new


def _is_missing(spec: Object, field: str, value: Any) -> bool:
    """Whether the field must be filled in. An empty name is not the name of a class."""
    given = spec.get(field)
    return given is None or (field == "priorityClassName" and given == "" != value)


def _of_class(spec: Object, facts: Facts) -> dict[str, Any]:
    """The values from the class. Without a class and without a global default, the priority is 0. Raises NotSynced."""
    name = text(spec, "priorityClassName")
    found = facts.priority_class(name) if name else facts.default_priority_class()
    if found is UNKNOWN:
        raise NotSynced("PriorityClasses are not known yet")
    if found is None:
        return {} if name else {"priority": 0}
    policy = found.preemption_policy or "PreemptLowerPriority"
    return dict(zip(FILLED, (found.metadata.name, found.value, policy), strict=True))


def validate(request: Request) -> Verdict:
    """The faults of the PodGroup. The schema checks that fields do not change."""
    if request.subresource:
        return Verdict()
    settings = request.settings
    namespaces = (SYSTEM_NAMESPACE, *settings.system_namespaces)

    def causes(group: Object) -> Iterator[Cause]:
        spec = child(group, "spec")
        yield from _class_causes(spec, request.facts)
        yield from _priority_causes(spec)
        yield from _system_causes(group, namespaces)
        yield from _mode_causes(spec)
        faults = annotation_faults(group, BUDGETS_ANNOTATION, COST_ANNOTATION)
        yield from (Cause(field, INVALID, fault) for field, fault in faults)
        if settings.queues is not None:
            yield from queue_causes(child(group, "metadata"))

    return Verdict.of(new_causes(causes, request), _warnings(request))


def _class_causes(spec: Object, facts: Facts) -> Iterator[Cause]:
    name, priority = text(spec, "priorityClassName"), integer(spec, "priority")
    if not name:
        # A group without a class gets priority 0.
        if priority:
            message = f"{priority} comes from no PriorityClass: set priorityClassName, and priority follows"
            yield Cause("spec.priority", INVALID, message)
        return
    found = facts.priority_class(name)
    if found is None:
        yield Cause("spec.priorityClassName", NOT_FOUND, f"there is no PriorityClass {shown(name)}")
    elif found is not UNKNOWN:
        if spec.get("priority") is None:
            # The class came after defaulting had looked for it. Nobody could change the priority later.
            message = f"is missing: PriorityClass {shown(name)}, which gives {found.value}, came too late; try again"
            yield Cause("spec.priority", REQUIRED, message)
        elif priority != found.value:
            message = f"{priority} is not the priority of PriorityClass {shown(name)}, which is {found.value}"
            yield Cause("spec.priority", INVALID, message)
        policy = spec.get("preemptionPolicy")
        # A group may ask for less than its class gives, so that it preempts nobody.
        if found.preemption_policy == NEVER and policy not in (None, NEVER):
            message = f"{shown(policy)} is more than PriorityClass {shown(name)} gives, which is {NEVER}"
            yield Cause("spec.preemptionPolicy", INVALID, message)


def _priority_causes(spec: Object) -> Iterator[Cause]:
    name, priority = text(spec, "priorityClassName"), integer(spec, "priority")
    if priority is not None and priority > MAX_PRIORITY and not name.startswith(SYSTEM_PREFIX):
        message = f"{priority} is above {MAX_PRIORITY}, and {shown(name)} is no system- class"
        yield Cause("spec.priority", INVALID, message)


def _system_causes(group: Object, namespaces: tuple[str, ...]) -> Iterator[Cause]:
    name = text(child(group, "spec"), "priorityClassName")
    namespace = text(child(group, "metadata"), "namespace") or "default"
    if name.startswith(SYSTEM_PREFIX) and namespace not in namespaces:
        message = f"{shown(name)} is for PodGroups in {', '.join(namespaces)}, not in {namespace}"
        yield Cause("spec.priorityClassName", FORBIDDEN, message)


def _mode_causes(spec: Object) -> Iterator[Cause]:
    """The fault of a group with mode `all` whose pods are scheduled one by one: it cannot be preempted as a whole."""
    if "all" in child(spec, "disruptionMode") and "basic" in child(spec, "schedulingPolicy"):
        yield Cause("spec.disruptionMode", INVALID, "all needs schedulingPolicy gang, not basic")


def _warnings(request: Request) -> Iterator[str]:
    name = text(child(request.new, "spec"), "priorityClassName")
    if request.old is None and name and request.facts.priority_class(name) is UNKNOWN:
        yield f"spec.priorityClassName: PriorityClass {shown(name)} is not known and was not checked"

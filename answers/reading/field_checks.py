"""Checks that an API server does. Objects that somebody wrote by hand have not passed any.

Each check raises FieldError with the path of the field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, TypeVar

from api.core import (
    Container,
    ContainerStatus,
    Node,
    Pod,
    PodDisruptionBudget,
    PodSpec,
    PodStatus,
    Quantities,
    ResourceRequirements,
)
from api.foreign_groups import CoschedulingPodGroup, NativePodGroup, VolcanoPodGroup
from api.groups import PodGroup
from api.quantity import CACHED_LENGTH, QuantityError, parse
from api.selectors import check_node_selector, check_selector
from api.times import instant, parse_rfc3339, rfc3339
from api.validation import FieldError, join

__all__ = [
    "check_budget",
    "check_created",
    "check_group",
    "check_native_group",
    "check_node",
    "check_pod",
]

T = TypeVar("T")

LATE: Final = 9998 * 365 * 86_400 * 10**9
"""Nanoseconds after the first year. Times before that can be written."""
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def check_node(node: Node) -> None:
    """Check quantities, taints and times."""
    _check_quantities([("status.allocatable", node.status.allocatable)])
    for index, taint in enumerate(node.spec.taints or ()):
        if taint.effect not in EFFECTS:
            raise FieldError(
                f"spec.taints[{index}].effect", f"not one of {', '.join(EFFECTS)}: {taint.effect!r}"
            )
    _check_time("metadata.creationTimestamp", node.metadata.creation_timestamp)


def check_pod(pod: Pod) -> None:
    """Check quantities and times, and that there are containers. For a pod without a node, also check its node
    affinity."""
    if not pod.spec.containers:
        raise FieldError("spec.containers", "is missing")
    _check_quantities_of(pod)
    _check_time("metadata.creationTimestamp", pod.metadata.creation_timestamp)
    _check_time("metadata.deletionTimestamp", pod.metadata.deletion_timestamp)
    _check_time("status.startTime", pod.status.start_time)
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    # The affinity of a running pod no longer matters, and API servers were less strict in earlier versions.
    if affinity is not None and affinity.required is not None and not pod.spec.node_name:
        _check_selector(
            check_node_selector,
            affinity.required,
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
        )


def check_budget(budget: PodDisruptionBudget) -> None:
    """Check the selector."""
    if budget.spec.selector is not None:
        _check_selector(check_selector, budget.spec.selector, "spec.selector")


def check_created(group: CoschedulingPodGroup | VolcanoPodGroup) -> None:
    """Check the time."""
    _check_time("metadata.creationTimestamp", group.metadata.creation_timestamp)


def check_native_group(group: NativePodGroup) -> None:
    """As `check_group`, for a PodGroup of Kubernetes."""
    check_group(PodGroup(metadata=group.metadata, spec=group.spec))


def check_group(group: PodGroup) -> None:
    """Check that each union has one member, and the time."""
    policy, mode = group.spec.scheduling_policy, group.spec.disruption_mode
    if (policy.basic is None) == (policy.gang is None):
        raise FieldError("spec.schedulingPolicy", "must have exactly one of basic and gang")
    if mode is not None and mode.single is not None and mode.all is not None:
        raise FieldError("spec.disruptionMode", "must not have both single and all")
    _check_time("metadata.creationTimestamp", group.metadata.creation_timestamp)


def _check_selector(check: Callable[[T, str], None], selector: T, path: str) -> None:
    try:
        check(selector, path)
    except ValueError as error:
        field, _, problem = str(error).partition(": ")
        raise FieldError(field, problem) from None


def _check_quantities_of(pod: Pod) -> None:
    """Most pods have nothing wrong in them. Where a fault is, is only found out for those that have one."""
    if not all(map(_is_sound, _quantities_of(pod.spec, pod.status))):
        _check_quantities(_quantities(pod.spec, pod.status))


def _quantities_of(spec: PodSpec, status: PodStatus) -> list[Quantities | None]:
    """What `_quantities` yields, in another order and without the paths."""
    found = [spec.overhead, status.allocated_resources]
    parts = [spec.resources, status.resources]
    parts += [each.resources for each in spec.containers or ()]
    parts += [each.resources for each in spec.init_containers or ()]
    for each in (*(status.container_statuses or ()), *(status.init_container_statuses or ())):
        parts.append(each.resources)
        found.append(each.allocated_resources)
    for part in parts:
        if part is not None:
            found += part.requests, part.limits
    return found


def _is_sound(quantities: Quantities | None) -> bool:
    """Whether all of them are quantities that are usual in pods. What is not may still be right."""
    for each in quantities.values() if quantities else ():
        if type(each) is not str or len(each) > CACHED_LENGTH or not _is_amount(each):
            return False
    return True


@lru_cache(maxsize=1 << 14)
def _is_amount(text: str) -> bool:
    return not _fault(text)


def _quantities(spec: PodSpec, status: PodStatus) -> Iterator[tuple[str, Quantities | None]]:
    yield "spec.overhead", spec.overhead
    yield from _of_resources("spec.resources", spec.resources)
    yield from _each("spec.containers", spec.containers, _of_container)
    yield from _each("spec.initContainers", spec.init_containers, _of_container)
    yield from _each("status.containerStatuses", status.container_statuses, _of_status)
    yield from _each("status.initContainerStatuses", status.init_container_statuses, _of_status)
    yield from _of_resources("status.resources", status.resources)
    yield "status.allocatedResources", status.allocated_resources


def _each(
    path: str,
    items: list[Container] | list[ContainerStatus] | None,
    quantities: Callable[..., Iterator[tuple[str, Quantities | None]]],
) -> Iterator[tuple[str, Quantities | None]]:
    for index, item in enumerate(items or ()):
        yield from quantities(f"{path}[{index}]", item)


def _of_container(path: str, container: Container) -> Iterator[tuple[str, Quantities | None]]:
    yield from _of_resources(f"{path}.resources", container.resources)


def _of_status(path: str, status: ContainerStatus) -> Iterator[tuple[str, Quantities | None]]:
    yield from _of_resources(f"{path}.resources", status.resources)
    yield f"{path}.allocatedResources", status.allocated_resources


def _of_resources(
    path: str, resources: ResourceRequirements | None
) -> Iterator[tuple[str, Quantities | None]]:
    if resources is not None:
        yield f"{path}.requests", resources.requests
        yield f"{path}.limits", resources.limits


def _check_quantities(
    fields: Iterator[tuple[str, Quantities | None]] | list[tuple[str, Quantities | None]],
) -> None:
    for path, quantities in fields:
        for name, quantity in (quantities or {}).items():
            if fault := _fault(quantity):
                text = json.dumps(quantity, ensure_ascii=False)
                raise FieldError(join(path, name), f"{text} {fault}")


def _fault(quantity: str | int | float | None) -> str:
    """What is wrong with the quantity; "" if nothing is."""
    try:
        return "is negative" if parse(quantity).unscaled < 0 else ""
    except QuantityError:
        return "is not a quantity"


def _check_time(path: str, text: str | None) -> None:
    if text is not None:
        nanoseconds = instant(text)
        if nanoseconds is not None and 0 <= nanoseconds < LATE:
            return
        try:
            rfc3339(parse_rfc3339(text))  # the time in UTC must have a year that can be written, too
        except ValueError:
            raise FieldError(
                path, f"{json.dumps(text, ensure_ascii=False)} is not an RFC 3339 time"
            ) from None

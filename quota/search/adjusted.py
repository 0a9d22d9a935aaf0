"""The requests of a Workload as its pods will have them, once the API server has admitted the pods.

The rules are Kueue's (pkg/workload/resources.go, pkg/util/limitrange). They concern a decision only: what is written
into objects stays as it is. A limit counts where a request is missing (`schema.defaults.amounts`).

See docs/decisions/0048.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from api.core import Container, PodSpec, Quantities, ResourceRequirements
from api.limits import LimitRangeItem
from api.podsets import PodSet
from api.workloads import Workload
from quota.state.amounts import QuotaError, request_amount
from quota.state.surroundings import Surroundings
from quota.state.workloads import subject_of
from schema.defaults.amounts import template_requests, with_container_requests, with_requests
from schema.defaults.limit_ranges import Summary, with_default_limits

__all__ = ["adjusted"]

ABOVE_MAX: Final = "requests must not be above the limitRange max"
BELOW_MIN: Final = "requests must not be below the limitRange min"

Pick = Callable[[int, int], int]
Amounts = Mapping[str, int]


def adjusted(workload: Workload, around: Surroundings) -> Workload:
    """The Workload with the requests that its pods will have. It is the same object if no object is about it.

    Raises QuotaError if a RuntimeClass does not exist, if a request is above its limit, or if a LimitRange forbids the
    pods.
    """
    summary = around.summaries.get(workload.metadata.namespace, Summary())
    pod_sets = [_pod_set(each, summary, around, workload) for each in workload.spec.pod_sets]
    faults = [fault for each in pod_sets for fault in _above_limits(each)]
    if faults:
        raise _refusal(workload, f"resource validation failed: {'; '.join(faults)}")
    faults = [fault for each in pod_sets for fault in _forbidden(each, summary)]
    if faults:
        raise _refusal(workload, f"didn't satisfy LimitRange constraints: {'; '.join(faults)}")
    if all(new is old for new, old in zip(pod_sets, workload.spec.pod_sets, strict=True)):
        return workload
    spec = msgspec.structs.replace(workload.spec, pod_sets=pod_sets)
    return msgspec.structs.replace(workload, spec=spec)


def _refusal(workload: Workload, problem: str) -> QuotaError:
    return QuotaError(subject_of(workload), "", problem)


# ---- what is added


def _pod_set(pods: PodSet, summary: Summary, around: Surroundings, workload: Workload) -> PodSet:
    # Limits become requests before a LimitRange is looked at. Kueue looks at it first: docs/kueue-differences.md.
    spec = with_container_requests(_with_overhead(pods, around, workload))
    if summary.containers is not None:
        spec = with_default_limits(spec, summary.containers)
    spec = with_requests(spec)
    if spec is pods.template.spec:
        return pods
    return msgspec.structs.replace(pods, template=msgspec.structs.replace(pods.template, spec=spec))


def _with_overhead(pods: PodSet, around: Surroundings, workload: Workload) -> PodSpec:
    """As in Kueue, an overhead that the pods have already is taken as that of their RuntimeClass."""
    spec = pods.template.spec
    name = spec.runtime_class_name
    if not name or spec.overhead or around.runtime_classes is None:
        return spec
    found = around.runtime_classes.get(name)
    if found is None:
        path = f"podSets[{pods.name}].template.spec.runtimeClassName"
        raise QuotaError(subject_of(workload), path, f"RuntimeClass {name} doesn't exist")
    if found.overhead is None or not found.overhead.pod_fixed:
        return spec
    return msgspec.structs.replace(spec, overhead=found.overhead.pod_fixed)


# ---- what is refused


def _containers(pods: PodSet) -> Iterator[tuple[str, Container]]:
    """The containers, each with its path in Kueue's words."""
    spec = pods.template.spec
    for kind, containers in (("initContainers", spec.init_containers), ("containers", spec.containers)):
        for index, container in enumerate(containers or ()):
            yield f"podSets.{pods.name}.{kind}[{index}]", container


def _above_limits(pods: PodSet) -> Iterator[str]:
    for path, container in _containers(pods):
        resources = container.resources
        if resources is None or not resources.limits or not resources.requests:
            continue
        above = _greater(_amounts(resources.requests, path), _amounts(resources.limits, path))
        if above:
            yield f"{path}[{', '.join(above)}] requests exceed it's limits"


def _forbidden(pods: PodSet, summary: Summary) -> Iterator[str]:
    if summary.containers is not None:
        for path, container in _containers(pods):
            resources = container.resources or ResourceRequirements()
            limits = _amounts(resources.limits, path)
            requests = {**limits, **_amounts(resources.requests, path)}
            least, most = _each(min, requests, limits), _each(max, requests, limits)
            yield from _beyond(path, least, most, summary.containers)
    if summary.pods is not None:
        path = f"podSets.{pods.name}"
        # What is invalid there is said when the amounts are used.
        total = {
            name: request_amount(name, quantity, "", f"{path}, {name}")
            for name, quantity in template_requests(pods.template.spec).items()
        }
        yield from _beyond(path, total, total, summary.pods)


def _beyond(path: str, least: Amounts, most: Amounts, item: LimitRangeItem) -> Iterator[str]:
    if above := _greater(most, _amounts(item.max, path)):
        yield f"{path}[{', '.join(above)}]: {ABOVE_MAX}"
    if below := _greater(_amounts(item.min, path), least):
        yield f"{path}[{', '.join(below)}]: {BELOW_MIN}"


def _greater(amounts: Amounts, others: Amounts) -> list[str]:
    """Resources that both name, with a larger amount in the first."""
    return sorted(name for name, amount in amounts.items() if name in others and amount > others[name])


# ---- amounts


def _amounts(quantities: Quantities | None, path: str) -> dict[str, int]:
    return {
        name: request_amount(name, each, "", f"{path}[{name}]") for name, each in (quantities or {}).items()
    }


def _each(pick: Pick, one: Amounts, other: Amounts) -> dict[str, int]:
    """By resource: the amount that is picked where both have one."""
    return {
        name: pick(one.get(name, other.get(name, 0)), other.get(name, one.get(name, 0)))
        for name in one.keys() | other.keys()
    }

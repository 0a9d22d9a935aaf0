"""The LimitRanges of a namespace: taken together, what they add to a pod, and when they refuse it.

The source is Kubernetes' admission plugin LimitRanger (plugin/pkg/admission/limitranger/admission.go). Nothing is
changed in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from api.core import Container, PodSpec, Quantities, ResourceRequirements
from api.limits import LimitRange, LimitRangeItem
from api.quantity import Quantity, QuantityError, parse
from api.requests import may_be_pod_level, spec_requests

__all__ = ["Summary", "limit_range_faults", "summary_of", "with_default_limits"]

CONTAINER: Final = "Container"
POD: Final = "Pod"

Amounts = Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class Summary:
    """The LimitRanges of a namespace, taken together."""

    containers: LimitRangeItem | None = None
    """None: no LimitRange is about containers."""
    pods: LimitRangeItem | None = None


def summary_of(ranges: Iterable[LimitRange]) -> Summary:
    """The lowest maxima and ratios, the highest minima, and the defaults of the first object by name that has them.

    Raises QuantityError.
    """
    items: dict[str, LimitRangeItem] = {}
    for each in sorted(ranges, key=lambda each: each.metadata.name):
        for item in each.spec.limits or ():
            items[item.type] = _joined(items[item.type], item) if item.type in items else item
    return Summary(items.get(CONTAINER), items.get(POD))


def with_default_limits(spec: PodSpec, item: LimitRangeItem) -> PodSpec:
    """The pod with the limits and requests that its containers lack. It is the same object if none is lacking.

    Limits of the containers have become their requests before (`schema.defaults.amounts.with_requests`).
    """
    if not item.default and not item.default_request:
        return spec
    return replace(
        spec,
        init_containers=[_defaulted(each, item) for each in spec.init_containers or ()] or None,
        containers=[_defaulted(each, item) for each in spec.containers or ()],
    )


def limit_range_faults(spec: PodSpec, summary: Summary) -> Iterator[str]:
    """Why the API server would refuse the pod, a sentence part for each reason. Raises QuantityError."""
    if summary.containers is not None:
        for container in [*(spec.containers or ()), *(spec.init_containers or ())]:
            resources = container.resources or ResourceRequirements()
            requests, limits = _parsed(resources.requests), _parsed(resources.limits)
            yield from _faults(f"container {container.name}", requests, limits, summary.containers)
    if summary.pods is not None:
        yield from _faults("the pod", _pod_requests(spec), _pod_limits(spec), summary.pods)


def _joined(one: LimitRangeItem, other: LimitRangeItem) -> LimitRangeItem:
    return LimitRangeItem(
        type=one.type,
        max=_picked(one.max, other.max, smaller=True),
        min=_picked(one.min, other.min, smaller=False),
        default={**(other.default or {}), **(one.default or {})},
        default_request={**(other.default_request or {}), **(one.default_request or {})},
        max_limit_request_ratio=_picked(
            one.max_limit_request_ratio, other.max_limit_request_ratio, smaller=True
        ),
    )


def _picked(one: Quantities | None, other: Quantities | None, *, smaller: bool) -> Quantities:
    picked = dict(one or {})
    for name, quantity in (other or {}).items():
        if name not in picked:
            picked[name] = quantity
            continue
        new, held = parse(quantity), parse(picked[name])
        if held.exceeds(new) if smaller else new.exceeds(held):
            picked[name] = quantity
    return picked


def _defaulted(container: Container, item: LimitRangeItem) -> Container:
    resources = container.resources or ResourceRequirements()
    limits = {**(item.default or {}), **(resources.limits or {})}
    requests = {**(item.default_request or {}), **(resources.requests or {})}
    if limits == (resources.limits or {}) and requests == (resources.requests or {}):
        return container
    return replace(container, resources=replace(resources, limits=limits, requests=requests))


# ---- refusals


def _faults(subject: str, requests: Amounts, limits: Amounts, item: LimitRangeItem) -> Iterator[str]:
    for name, most in _parsed(item.max).items():
        bound = _shown(item.max, name)
        if name not in limits:
            yield f"{subject} has no limit for {name}, and a LimitRange allows {bound} at most"
        elif limits[name].exceeds(most):
            yield f"the {name} limit of {subject} is above {bound}, the max of a LimitRange"
        elif name in requests and requests[name].exceeds(most):
            yield f"the {name} request of {subject} is above {bound}, the max of a LimitRange"
    for name, least in _parsed(item.min).items():
        bound = _shown(item.min, name)
        if name not in requests:
            yield f"{subject} has no request for {name}, and a LimitRange asks for {bound} at least"
        elif least.exceeds(requests[name]):
            yield f"the {name} request of {subject} is below {bound}, the min of a LimitRange"
        elif name in limits and least.exceeds(limits[name]):
            yield f"the {name} limit of {subject} is below {bound}, the min of a LimitRange"
    for name, ratio in _parsed(item.max_limit_request_ratio).items():
        bound = _shown(item.max_limit_request_ratio, name)
        asked, limit = requests.get(name), limits.get(name)
        if asked is None or limit is None or not asked.unscaled or not limit.unscaled:
            yield f"{subject} lacks a {name} request or limit, which maxLimitRequestRatio of a LimitRange needs"
        elif _times(asked, ratio, limit):
            yield f"the {name} limit of {subject} is more than {bound} times its request"


def _times(asked: Quantity, ratio: Quantity, limit: Quantity) -> bool:
    """Whether the limit is above the request times the ratio."""
    product = Quantity(asked.unscaled * ratio.unscaled, asked.exponent + ratio.exponent, big=True)
    return limit.exceeds(product)


def _pod_requests(spec: PodSpec) -> Amounts:
    return spec_requests(replace(spec, overhead=None, resources=_cpu_and_memory(spec.resources)))


def _pod_limits(spec: PodSpec) -> Amounts:
    """Limits add up as requests do."""
    level = _cpu_and_memory(spec.resources)
    return spec_requests(
        replace(
            spec,
            overhead=None,
            resources=replace(level, requests=level.limits) if level is not None else None,
            containers=[_by_limits(each) for each in spec.containers or ()],
            init_containers=[_by_limits(each) for each in spec.init_containers or ()],
        )
    )


def _cpu_and_memory(resources: ResourceRequirements | None) -> ResourceRequirements | None:
    """The plugin does not look at huge pages of the whole pod."""
    if resources is None:
        return None
    kept = [
        {name: each for name, each in (amounts or {}).items() if may_be_pod_level(name) and "-" not in name}
        for amounts in (resources.requests, resources.limits)
    ]
    return ResourceRequirements(requests=kept[0], limits=kept[1])


def _by_limits(container: Container) -> Container:
    limits = container.resources.limits if container.resources is not None else None
    return replace(container, resources=ResourceRequirements(requests=limits))


def _parsed(quantities: Quantities | None) -> Amounts:
    amounts: dict[str, Quantity] = {}
    for name, each in (quantities or {}).items():
        try:
            amounts[name] = parse(each)
        except QuantityError as error:
            raise QuantityError(f"{name}: {error}") from None
    return amounts


def _shown(quantities: Quantities | None, name: str) -> str:
    return str((quantities or {})[name])

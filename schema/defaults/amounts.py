"""Requests that follow from limits, and quantities as an API server stores them.

Nothing is changed in place. If there is nothing to add, the answer is the object itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from msgspec.structs import replace

from api.core import Container, PodSpec, Quantities, ResourceRequirements
from api.quantity import MILLI, Quantity, QuantityError, parse
from api.requests import HUGE_PAGES, may_be_pod_level, spec_requests

__all__ = ["rounded", "template_requests", "with_container_requests", "with_pod_requests", "with_requests"]

WHOLE: Final = frozenset("0123456789kMGTPEi")
"""The characters of quantities without a fraction."""


def with_requests(spec: PodSpec) -> PodSpec:
    """The spec in which a limit without a request is the request: of containers, init containers, and the pod."""
    return with_pod_requests(with_container_requests(spec))


def with_container_requests(spec: PodSpec) -> PodSpec:
    """The spec in which a container's limit is its request, if it has none."""
    containers = _requested_each(spec.containers)
    init_containers = _requested_each(spec.init_containers)
    if containers is spec.containers and init_containers is spec.init_containers:
        return spec
    return replace(spec, containers=containers, init_containers=init_containers)


def with_pod_requests(spec: PodSpec) -> PodSpec:
    """The spec in which the whole pod requests what its containers request together, where it has a limit alone.

    Only if no container requests the resource, the limit is the request. Huge pages are never overcommitted, so their
    request is always the limit. The requests of containers are there already.
    """
    resources = _of_pod(spec)
    return spec if resources is spec.resources else replace(spec, resources=resources)


def template_requests(spec: PodSpec) -> dict[str, Quantity]:
    """The future requests of a pod of this spec: every named resource, including zeros. Raises QuantityError."""
    return spec_requests(with_requests(spec))


def rounded(quantities: Quantities) -> Quantities:
    """The quantities in thousandths, rounded up. One that cannot be read stays as it is."""
    for each in quantities.values():  # a loop, because every container of a pod comes here
        if _in_milli(each) is not None:
            break
    else:
        return quantities
    changed = {name: text for name, each in quantities.items() if (text := _in_milli(each)) is not None}
    return {**quantities, **changed}


def _requested_each(containers: list[Container] | None) -> list[Container] | None:
    for each in containers or ():  # a loop, because every pod comes here
        if _lacks_requests(each.resources):
            return [_requested(each) for each in containers or ()]
    return containers


def _lacks_requests(resources: ResourceRequirements | None) -> bool:
    if resources is None or not resources.limits:
        return False
    return not resources.requests or not resources.limits.keys() <= resources.requests.keys()


def _requested(container: Container) -> Container:
    resources = container.resources
    if resources is None or not _lacks_requests(resources):
        return container
    requests = {**(resources.limits or {}), **(resources.requests or {})}
    return replace(container, resources=replace(resources, requests=requests))


def _of_pod(spec: PodSpec) -> ResourceRequirements | None:
    resources = spec.resources
    if resources is None or not _lacks_requests(resources):
        return resources
    try:
        summed = spec_requests(replace(spec, resources=None, overhead=None))
    except QuantityError:
        return resources  # what is wrong is said when the pod is checked
    limits, requests = resources.limits or {}, dict(resources.requests or {})
    for name in _pod_level(limits):
        total = None if name.startswith(HUGE_PAGES) else summed.get(name)
        requests.setdefault(name, limits[name] if total is None else f"{total.unscaled}e{total.exponent}")
    return replace(resources, requests=requests)


def _pod_level(names: Iterable[str]) -> list[str]:
    return [name for name in names if may_be_pod_level(name)]


def _in_milli(quantity: str | int | float | None) -> str | None:
    """The rounded quantity; None if it need not be rounded."""
    if quantity is None or isinstance(quantity, int):
        return None
    return _rounded_text(str(quantity))


@lru_cache(maxsize=1 << 14)
def _rounded_text(text: str) -> str | None:
    if WHOLE.issuperset(text):
        return None
    try:
        exact = parse(text)
    except QuantityError:
        return None
    if exact.exponent >= MILLI or exact.unscaled % 10 ** (MILLI - exact.exponent) == 0:
        return None
    return f"{exact.scaled(MILLI)}m"

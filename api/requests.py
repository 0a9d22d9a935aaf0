"""What a pod takes of a node, and what a node has, as kube-scheduler 1.37 counts them with default gates.

cpu in thousandths, everything else in whole units, both rounded up after summing. Sums follow PodRequests of
k8s.io/component-helpers: containers, init containers (KEP-753 for sidecars), pod-level resources (KEP-2837),
in-place resizes (KEP-1287), overhead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from api.core import Container, ContainerStatus, Node, Pod, PodSpec, Quantities
from api.meta import ObjectMeta
from api.names import is_qualified_name
from api.quantity import MILLI, Quantity, QuantityError, parse

__all__ = ["PODS", "allocatable", "pod_requests", "template_requests"]

PODS: Final = "pods"
"""The resource of a node that counts its pods."""

HUGE_PAGES: Final = "hugepages-"
POD_LEVEL: Final = frozenset({"cpu", "memory"})
"""What may be set for a pod as a whole, besides huge pages."""

Amounts = dict[str, Quantity]
ContainerAmounts = Callable[[Container, ContainerStatus | None, bool], Quantities | None]


def pod_requests(pod: Pod) -> dict[str, int]:
    """Resource name to amount, zeros left out; the pod itself (`pods`) is not in it.

    A bound pod counts with what its status says of resizes, an unbound one by its spec alone. Raises
    QuantityError naming the field.
    """
    bound = bool(pod.spec.node_name)
    amounts = _of_bound_containers(pod) if bound else _of_containers(pod, _spec_requests, False)
    _apply_pod_level(amounts, pod, bound)
    _add(amounts, _amounts(pod.spec.overhead, "spec.overhead"))
    counted = _counted(amounts)
    counted.pop(PODS, None)
    # A negative request counts as none for the pod that asks, and is taken at its word for one that runs.
    return counted if bound else {name: amount for name, amount in counted.items() if amount > 0}


def template_requests(spec: PodSpec) -> dict[str, Quantity]:
    """What a pod of this spec will ask for: every resource that is named, zeros included. Raises QuantityError.

    Where only a limit is set it is the request, as an API server makes it when it creates the pod.
    """
    pod = Pod(ObjectMeta(), spec)
    amounts = _of_containers(pod, _spec_requests_or_limits, False)
    if spec.resources is not None:
        limits = _amounts(spec.resources.limits, "spec.resources.limits")
        for name, amount in limits.items():
            # What containers ask for comes before a limit of the pod; huge pages are never overcommitted.
            if _may_be_pod_level(name) and (name not in amounts or name.startswith(HUGE_PAGES)):
                amounts[name] = amount
    _apply_pod_level(amounts, pod, False)
    _add(amounts, _amounts(spec.overhead, "spec.overhead"))
    return amounts


def allocatable(node: Node) -> dict[str, int]:
    """Resource name to amount, `pods` included, zeros left out. Raises QuantityError naming the field."""
    return _counted(_amounts(node.status.allocatable, "status.allocatable"))


def _of_bound_containers(pod: Pod) -> Amounts:
    """The greatest of what is asked for, what the kubelet has set aside and what is in force."""
    status = pod.status
    infeasible = _resize_infeasible(pod)
    asked = {} if infeasible else _of_containers(pod, _spec_requests, infeasible)
    if status.container_statuses is None and status.init_container_statuses is None and not infeasible:
        allocated: Amounts = {}
        actuated: Amounts = {}
    else:
        allocated = _of_containers(pod, _allocated_requests, infeasible)
        actuated = _of_containers(pod, _actuated_requests, infeasible)
    in_force = status.resources.requests if status.resources is not None else None
    if status.allocated_resources is not None and in_force is not None:
        allocated = _amounts(status.allocated_resources, "status.allocatedResources")
        actuated = _amounts(in_force, "status.resources.requests")
    _raise_to(asked, actuated)
    _raise_to(asked, allocated)
    return asked


def _apply_pod_level(amounts: Amounts, pod: Pod, bound: bool) -> None:
    """Pod-level requests replace the sum over containers, for the resources that may have them."""
    resources = pod.spec.resources
    asked = resources.requests if resources is not None else None
    if not asked or not any(map(_may_be_pod_level, asked)):
        return
    level = _amounts(asked, "spec.resources.requests")
    if bound and pod.status.resources is not None:
        if _resize_infeasible(pod):
            level = {}
        _raise_to(level, _amounts(pod.status.resources.requests, "status.resources.requests"))
        _raise_to(level, _amounts(pod.status.allocated_resources, "status.allocatedResources"))
    amounts.update((name, amount) for name, amount in level.items() if _may_be_pod_level(name))


def _of_containers(pod: Pod, amounts_of: ContainerAmounts, infeasible: bool) -> Amounts:
    """Containers and sidecars together, or the hungriest moment of starting up, whichever is more."""
    statuses = _statuses(pod)
    total: Amounts = {}
    for container in pod.spec.containers or ():
        _add(total, _of_container("containers", container, statuses, amounts_of, infeasible))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in pod.spec.init_containers or ():
        amounts = _of_container("initContainers", container, statuses, amounts_of, infeasible)
        if container.restart_policy == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            _raise_to(starting, sidecars)
        else:
            _add(amounts, sidecars)
            _raise_to(starting, amounts)
    _raise_to(total, starting)
    return total


def _of_container(
    kind: str,
    container: Container,
    statuses: dict[str, ContainerStatus],
    amounts_of: ContainerAmounts,
    infeasible: bool,
) -> Amounts:
    quantities = amounts_of(container, statuses.get(container.name), infeasible)
    return _amounts(quantities, kind, container.name) if quantities else {}


def _spec_requests(container: Container, _: ContainerStatus | None, __: bool) -> Quantities | None:
    return container.resources.requests if container.resources is not None else None


def _spec_requests_or_limits(container: Container, _: ContainerStatus | None, __: bool) -> Quantities | None:
    resources = container.resources
    return {**(resources.limits or {}), **(resources.requests or {})} if resources is not None else None


def _allocated_requests(
    container: Container, status: ContainerStatus | None, infeasible: bool
) -> Quantities | None:
    if status is not None and status.allocated_resources is not None:
        return status.allocated_resources
    return None if infeasible else _spec_requests(container, status, infeasible)


def _actuated_requests(
    container: Container, status: ContainerStatus | None, infeasible: bool
) -> Quantities | None:
    if status is not None and status.resources is not None and status.resources.requests is not None:
        return status.resources.requests
    return _allocated_requests(container, status, infeasible)


def _statuses(pod: Pod) -> dict[str, ContainerStatus]:
    """By container name; of several with one name the first counts, containers before init containers."""
    statuses: dict[str, ContainerStatus] = {}
    for status in pod.status.container_statuses or ():
        statuses.setdefault(status.name, status)
    for status in pod.status.init_container_statuses or ():
        statuses.setdefault(status.name, status)
    return statuses


def _resize_infeasible(pod: Pod) -> bool:
    """The kubelet has refused the resize, so that what the spec asks for does not count."""
    for condition in pod.status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _amounts(quantities: Quantities | None, field: str, container: str | None = None) -> Amounts:
    """Parsed quantities; `field` and `container` are for the message alone."""
    amounts: Amounts = {}
    for name, quantity in (quantities or {}).items():
        try:
            amounts[name] = parse(quantity)
        except QuantityError as error:
            where = field if container is None else f"{field}[{container}].resources"
            raise QuantityError(f"{where}, {name}: {error}") from None
    return amounts


def _add(total: Amounts, more: Amounts) -> None:
    for name, amount in more.items():
        held = total.get(name)
        total[name] = amount if held is None else held.add(amount)


def _raise_to(total: Amounts, other: Amounts) -> None:
    """The greater one of each resource."""
    for name, amount in other.items():
        held = total.get(name)
        if held is None:
            total[name] = amount
        elif amount.exceeds(held):
            # Upstream's comparison leaves its operand in the big form when either is in it.
            total[name] = amount.as_big() if held.big else amount


def _counted(amounts: Amounts) -> dict[str, int]:
    """The resources that the scheduler counts, without zeros."""
    counted = {
        name: amount.scaled(MILLI if name == "cpu" else 0)
        for name, amount in amounts.items()
        if _is_counted(name)
    }
    return {name: amount for name, amount in counted.items() if amount}


def _may_be_pod_level(name: str) -> bool:
    return name in POD_LEVEL or name.startswith(HUGE_PAGES)


@lru_cache(maxsize=1 << 10)
def _is_counted(name: str) -> bool:
    """The scheduler ignores resources of no known kind: unknown names without a prefix, and invalid names."""
    if name in ("cpu", "memory", "ephemeral-storage", PODS) or "kubernetes.io/" in name:
        return True
    return name.startswith((HUGE_PAGES, "attachable-volumes-")) or _is_extended(name)


def _is_extended(name: str) -> bool:
    """A qualified name outside kubernetes.io, also with the `requests.` that quotas put before it."""
    return "/" in name and not name.startswith("requests.") and is_qualified_name(f"requests.{name}")

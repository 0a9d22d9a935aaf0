"""The requests of a pod and the allocatable resources of a node, counted like kube-scheduler 1.37 with default gates.

cpu is in thousandths, everything else in whole units. Both are rounded up after the sum. Sums follow PodRequests of
k8s.io/component-helpers: containers, init containers (KEP-753 for sidecars), pod-level resources (KEP-2837), in-place
resizes (KEP-1287), overhead.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from api.core import Container, ContainerStatus, Node, Pod, PodSpec, Quantities
from api.meta import ObjectMeta
from api.names import is_qualified_name
from api.quantity import CACHED_LENGTH, MILLI, Quantity, QuantityError, parse

__all__ = [
    "HUGE_PAGES",
    "PODS",
    "allocatable",
    "is_extended",
    "may_be_pod_level",
    "pod_requests",
    "requests_of_one_container",
    "spec_requests",
]

PODS: Final = "pods"
"""The resource that counts the pods of a node."""

HUGE_PAGES: Final = "hugepages-"
POD_LEVEL: Final = frozenset({"cpu", "memory"})
"""The resources that a pod can request as a whole, besides huge pages."""

Amounts = dict[str, Quantity]
ContainerAmounts = Callable[[Container, ContainerStatus | None, bool], Quantities | None]


def pod_requests(pod: Pod) -> dict[str, int]:
    """The amount of each requested resource, without zeros and without the pod itself (`pods`).

    For a bound pod the resizes in its status count. For an unbound pod only its spec counts. Raises QuantityError,
    which names the field.
    """
    if (counted := requests_of_one_container(pod)) is not None:
        return counted
    bound = bool(pod.spec.node_name)
    amounts = _of_bound_containers(pod) if bound else _of_containers(pod, _spec_requests, False)
    _apply_pod_level(amounts, pod, bound)
    _add(amounts, _amounts(pod.spec.overhead, "spec.overhead"))
    counted = _counted(amounts)
    counted.pop(PODS, None)
    # A negative request counts as zero for an unbound pod, and as it is for a bound pod.
    return counted if bound else {name: amount for name, amount in counted.items() if amount > 0}


def requests_of_one_container(pod: Pod) -> dict[str, int] | None:
    """`pod_requests` of a pod for which nothing counts but what its only container requests. None for other pods.

    Nothing is added up, so an amount depends on its text alone. Pods with odd amounts are among the others.
    """
    spec, status, containers = pod.spec, pod.status, pod.spec.containers
    if (
        not containers
        or len(containers) != 1
        or spec.init_containers
        or spec.overhead
        or spec.resources is not None
    ):
        return None
    if status.container_statuses or status.init_container_statuses or status.resources is not None:
        return None
    if _resize_infeasible(pod):
        return None
    resources = containers[0].resources
    counted = {}
    for name, quantity in (
        resources.requests if resources is not None and resources.requests else {}
    ).items():
        amount = _of_text(name, quantity) if type(quantity) is str and len(quantity) <= CACHED_LENGTH else -1
        if amount < 0:
            return None
        if amount:
            counted[name] = amount
    return counted


@lru_cache(maxsize=1 << 14)
def _of_text(name: str, quantity: str) -> int:
    """The amount of a resource; 0 if it does not count, and a negative number if it is not an amount."""
    if name == PODS:
        return 0
    try:
        return _counted({name: parse(quantity)}).get(name, 0)
    except QuantityError:
        return -1


def spec_requests(spec: PodSpec) -> dict[str, Quantity]:
    """The requests in this spec: every named resource, including zeros. Raises QuantityError."""
    pod = Pod(ObjectMeta(), spec)
    amounts = _of_containers(pod, _spec_requests, False)
    _apply_pod_level(amounts, pod, False)
    _add(amounts, _amounts(spec.overhead, "spec.overhead"))
    return amounts


def may_be_pod_level(name: str) -> bool:
    """Whether a pod can request the resource as a whole."""
    return name in POD_LEVEL or name.startswith(HUGE_PAGES)


def allocatable(node: Node) -> dict[str, int]:
    """The amount of each resource of the node, with `pods`, without zeros. QuantityError names the field."""
    return _counted(_amounts(node.status.allocatable, "status.allocatable"))


def _of_bound_containers(pod: Pod) -> Amounts:
    """For each resource the greatest of three amounts: requested, allocated by the kubelet, and actually in use."""
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
    """Replace the sum over containers by the pod-level request, for resources that can have one."""
    resources = pod.spec.resources
    asked = resources.requests if resources is not None else None
    if not asked or not any(map(may_be_pod_level, asked)):
        return
    level = _amounts(asked, "spec.resources.requests")
    if bound and pod.status.resources is not None:
        if _resize_infeasible(pod):
            level = {}
        _raise_to(level, _amounts(pod.status.resources.requests, "status.resources.requests"))
        _raise_to(level, _amounts(pod.status.allocated_resources, "status.allocatedResources"))
    amounts.update((name, amount) for name, amount in level.items() if may_be_pod_level(name))


def _of_containers(pod: Pod, amounts_of: ContainerAmounts, infeasible: bool) -> Amounts:
    """The greater of two amounts: containers with sidecars, or the largest need during the start-up."""
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
    """The status of each container by name. The first of several counts, and containers come before init containers."""
    statuses: dict[str, ContainerStatus] = {}
    for status in pod.status.container_statuses or ():
        statuses.setdefault(status.name, status)
    for status in pod.status.init_container_statuses or ():
        statuses.setdefault(status.name, status)
    return statuses


def _resize_infeasible(pod: Pod) -> bool:
    """Whether the kubelet has refused the resize. Then the requests in the spec do not count."""
    for condition in pod.status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


def _amounts(quantities: Quantities | None, field: str, container: str | None = None) -> Amounts:
    """The parsed quantities. `field` and `container` are only for the message of QuantityError."""
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
    """Raise each resource of `total` to the amount in `other`, if that is greater."""
    for name, amount in other.items():
        held = total.get(name)
        if held is None:
            total[name] = amount
        elif amount.exceeds(held):
            # In upstream, a comparison with a big quantity makes its operand big too.
            total[name] = amount.as_big() if held.big else amount


def _counted(amounts: Amounts) -> dict[str, int]:
    """The resources that the scheduler counts, without zeros."""
    counted = {
        name: amount.scaled(MILLI if name == "cpu" else 0)
        for name, amount in amounts.items()
        if _is_counted(name)
    }
    return {name: amount for name, amount in counted.items() if amount}


@lru_cache(maxsize=1 << 10)
def _is_counted(name: str) -> bool:
    """Whether the scheduler counts the resource. It ignores unknown names without a prefix, and invalid names."""
    if name in ("cpu", "memory", "ephemeral-storage", PODS) or "kubernetes.io/" in name:
        return True
    return name.startswith((HUGE_PAGES, "attachable-volumes-")) or is_extended(name)


def is_extended(name: str) -> bool:
    """Whether the name is a qualified name outside kubernetes.io, even with the prefix `requests.` of quotas."""
    if "/" not in name or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return is_qualified_name(f"requests.{name}")

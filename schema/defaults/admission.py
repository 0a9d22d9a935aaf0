"""What the admission plugins of an API server do to a pod that is created: they add to it, or refuse it.

Plugins that are on by default: LimitRanger, DefaultTolerationSeconds, RuntimeClass and ServiceAccount
(plugin/pkg/admission of Kubernetes). Priority is that of `api.priority`. ExtendedResourceToleration is off by default,
so it is not assumed. Validation comes last: a LimitRange may have added a limit that is below a request.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from api.core import Pod, PodSpec, Quantities, Toleration
from api.limits import RuntimeClass
from api.quantity import Quantity, QuantityError, parse
from api.requests import is_extended
from schema.defaults.amounts import rounded, with_container_requests, with_pod_requests
from schema.defaults.limit_ranges import Summary, limit_range_faults, with_default_limits

__all__ = ["Admitted", "admitted", "extended_resources", "with_resource_tolerations"]

EVICTED_AFTER: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Taints that pods tolerate for 300 seconds unless they say something else. Scheduling ignores the seconds."""

SERVICE_ACCOUNT: Final = "default"
"""The service account of a pod that names none."""


@dataclass(frozen=True, slots=True)
class Admitted:
    """A pod as it would be stored."""

    pod: Pod
    refusals: tuple[str, ...] = ()
    """Why an API server would not store it, a part of a sentence each."""
    unknown: tuple[str, ...] = ()
    """What it would look at and is not known here."""


def admitted(pod: Pod, limits: Summary, runtime_classes: Mapping[str, RuntimeClass] | None) -> Admitted:
    """The pod as it would be stored. It is not changed itself. See `filling.filled_for_admission`.

    `limits`: the LimitRanges of its namespace. `runtime_classes`: by name; None if they are not known.
    """
    spec, refusals, unknown = with_container_requests(pod.spec), list[str](), list[str]()
    if limits.containers is not None:
        spec = with_default_limits(spec, limits.containers)
    spec = replace(
        spec,
        tolerations=[*(spec.tolerations or ()), *_default_tolerations(spec)] or None,
        service_account_name=spec.service_account_name or SERVICE_ACCOUNT,
    )
    if name := spec.runtime_class_name:
        if runtime_classes is None:
            unknown.append(f"RuntimeClass {name}, which is not in what was read")
        elif (found := runtime_classes.get(name)) is None:
            refusals.append(f"there is no RuntimeClass {name}")
        else:
            refusals += _runtime_faults(spec, found)
            spec = _with_runtime(spec, found)
    elif spec.overhead is not None:
        refusals.append("it has an overhead, and no RuntimeClass")
    spec = with_pod_requests(spec)
    try:
        refusals += limit_range_faults(spec, limits)
        refusals += _above_limits(spec)
    except QuantityError as error:
        refusals.append(f"a LimitRange or the pod has an amount that cannot be read: {error}")
    return Admitted(replace(pod, spec=spec), tuple(dict.fromkeys(refusals)), tuple(unknown))


def extended_resources(spec: PodSpec) -> list[str]:
    """The extended resources that containers request, sorted."""
    containers = [*(spec.containers or ()), *(spec.init_containers or ())]
    names = {
        name for each in containers if each.resources is not None for name in each.resources.requests or ()
    }
    return sorted(filter(is_extended, names))


def with_resource_tolerations(pod: Pod) -> Pod:
    """The pod as the plugin ExtendedResourceToleration leaves it, where it is on."""
    added = [
        Toleration(key=name, operator="Exists", effect="NoSchedule") for name in extended_resources(pod.spec)
    ]
    return replace(pod, spec=replace(pod.spec, tolerations=[*(pod.spec.tolerations or ()), *added]))


def _above_limits(spec: PodSpec) -> Iterator[str]:
    """Requests above limits. A LimitRange may have added a limit that is too low."""
    for container in [*(spec.containers or ()), *(spec.init_containers or ())]:
        resources = container.resources
        limits = (resources.limits if resources is not None else None) or {}
        for name, amount in ((resources.requests if resources is not None else None) or {}).items():
            if name in limits and parse(amount).exceeds(parse(limits[name])):
                yield f"the {name} request of container {container.name} is above its limit of {limits[name]}"


def _default_tolerations(spec: PodSpec) -> Iterator[Toleration]:
    for key in EVICTED_AFTER:
        if not any(
            each.key in ("", key) and each.effect in ("", "NoExecute") for each in spec.tolerations or ()
        ):
            yield Toleration(key=key, operator="Exists", effect="NoExecute")


# ---- RuntimeClass


def _runtime_faults(spec: PodSpec, runtime: RuntimeClass) -> Iterator[str]:
    name, overhead = runtime.metadata.name, _overhead(runtime)
    if spec.overhead and not _same(spec.overhead, overhead or {}):
        yield f"its overhead is not that of RuntimeClass {name}"
    selector = (runtime.scheduling.node_selector if runtime.scheduling is not None else None) or {}
    for key, value in sorted(selector.items()):
        if (own := (spec.node_selector or {}).get(key, value)) != value:
            yield f"its nodeSelector has {key}={own}, and RuntimeClass {name} {key}={value}"


def _with_runtime(spec: PodSpec, runtime: RuntimeClass) -> PodSpec:
    overhead = _overhead(runtime)
    spec = replace(spec, overhead=rounded(overhead) if overhead else spec.overhead)
    scheduling = runtime.scheduling
    if scheduling is None:
        return spec
    selector = {**(spec.node_selector or {}), **(scheduling.node_selector or {})}
    # Kubernetes leaves out tolerations that others include. That makes no difference to a node.
    tolerations = [*(spec.tolerations or ()), *_missing(scheduling.tolerations, spec.tolerations)]
    return replace(spec, node_selector=selector or None, tolerations=tolerations or None)


def _missing(wanted: Iterable[Toleration] | None, held: Iterable[Toleration] | None) -> list[Toleration]:
    known = [*(held or ())]
    return [each for each in wanted or () if each not in known]


def _overhead(runtime: RuntimeClass) -> Quantities | None:
    return runtime.overhead.pod_fixed if runtime.overhead is not None else None


def _same(one: Quantities, other: Quantities) -> bool:
    if one.keys() != other.keys():
        return False
    return not any(_differ(parse(each), parse(other[name])) for name, each in one.items())


def _differ(one: Quantity, other: Quantity) -> bool:
    return one.exceeds(other) or other.exceeds(one)

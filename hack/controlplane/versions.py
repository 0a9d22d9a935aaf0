"""What some versions of Kubernetes do not know, among what a control plane may be given.

A server refuses a controller, a feature gate or an API version that it does not know, and ends. So a plane leaves it
out. Every flag that `components` gives is known to all versions. Source, for each version in hack/binaries:
cmd/kube-controller-manager/names/controller_names.go, pkg/features/kube_features.go, pkg/apis/scheduling.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from hack.controlplane.modules import KUBERNETES, NEXT, VERSIONS

__all__ = ["KNOWN", "default_version", "known", "knows"]

KNOWN: Final[Mapping[str, tuple[str, str]]] = {
    "podgroup-protection-controller": ("1.36", ""),
    "CompositePodGroup": ("1.37", ""),
    "GangScheduling": ("1.35", "1.36"),
    "GenericWorkload": ("1.35", ""),
    "MutablePodResourcesForSuspendedJobs": ("1.35", ""),
    "MutableSchedulingDirectivesForSuspendedJobs": ("1.35", ""),
    "PodGroupPreemptionPolicy": ("1.37", ""),
    "TopologyAwareWorkloadScheduling": ("1.36", ""),
    "WorkloadAwarePreemption": ("1.36", "1.36"),
    "WorkloadWithJob": ("1.36", ""),
    "scheduling.k8s.io/v1alpha1": ("1.35", "1.35"),
    "scheduling.k8s.io/v1alpha2": ("1.36", "1.36"),
    "scheduling.k8s.io/v1alpha3": ("1.37", ""),
    "scheduling.k8s.io/v1beta1": ("1.37", ""),
}
"""By controller, feature gate or API version: the first and the last minor version that know it; "": the newest does.

A name that is not here is given to every version. So a misspelt one is refused, and the plane does not start.
"""


def default_version() -> str:
    """The minor version of the plane whose options name none, such as 1.37. Raises BinariesError."""
    return KUBERNETES.minor


def knows(version: str, name: str) -> bool:
    """Whether the servers of a minor version know a controller, a feature gate or an API version. "" is the default.

    Raises BinariesError if it cannot be read which version is the default, or the next one.
    """
    first, last = KNOWN.get(name, ("", ""))
    number = _number(VERSIONS[NEXT].minor if version == NEXT else version or default_version())
    return _number(first) <= number and (not last or number <= _number(last))


def known(version: str, names: Iterable[str]) -> list[str]:
    """Those names that the version knows, in the same order."""
    return [name for name in names if knows(version, name)]


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")) if version else ()

"""What a profile of kube-scheduler's configuration says of its filters (KubeSchedulerProfile)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from api.core import NodeSelector
from api.names import is_qualified_name

__all__ = ["DEFAULT_PROFILE", "DEFAULT_SCHEDULER", "Profile", "Profiles"]

DEFAULT_SCHEDULER: Final = "default-scheduler"
"""Who schedules a pod that names nobody; the API server writes it into every pod."""
QUOTA: Final = "requests."


@dataclass(frozen=True, slots=True)
class Profile:
    """How the filters of one profile differ from the default."""

    off: frozenset[str] = frozenset()
    """Names of the plugins whose filters do not run."""
    added_affinity: NodeSelector | None = None
    """`addedAffinity` of NodeAffinity, its required part: each node must match it too."""
    ignored_resources: frozenset[str] = frozenset()
    """`ignoredResources` of NodeResourcesFit: extended resources that it does not look at."""
    ignored_groups: frozenset[str] = frozenset()
    """`ignoredResourceGroups`: the same, by the part of the name before the slash."""
    spreads_by_default: bool = False
    """A default constraint of PodTopologySpread has DoNotSchedule. It counts for pods without constraints."""
    half_off: frozenset[str] = frozenset()
    """Names of the plugins whose filters do not run, but whose preFilters do, and may refuse a pod too."""
    named: tuple[str, ...] = ()
    """What of the profile nobody models, in words, sorted. It concerns every pod of the profile."""

    def ignores(self, resource: str) -> bool:
        """Whether NodeResourcesFit lets a pod on a node whatever it requests of this resource."""
        listed = resource in self.ignored_resources or resource.partition("/")[0] in self.ignored_groups
        return listed and _is_extended(resource)


def _is_extended(resource: str) -> bool:
    """IsExtendedResourceName of kubernetes/pkg/apis/core/v1/helper."""
    if "/" not in resource or "kubernetes.io/" in resource or resource.startswith(QUOTA):
        return False
    return is_qualified_name(QUOTA + resource)


Profiles = Mapping[str, Profile]
"""By schedulerName. A scheduler that is not there has the default profile."""
DEFAULT_PROFILE: Final = Profile()

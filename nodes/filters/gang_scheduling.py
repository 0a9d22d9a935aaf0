"""GangScheduling: pod groups that the scheduler places itself (gate GenericWorkload). Not modelled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from api.core import Pod
from nodes.filters.filter import Filter

__all__ = ["NATIVE", "GangScheduling"]

NATIVE: Final = "native pod group (scheduling.k8s.io)"


class GangScheduling(Filter[Any]):
    """Names the scheduler's own pod groups."""

    name: ClassVar[str] = "GangScheduling"

    def unmodelled(self, pod: Pod) -> Iterable[str]:
        """Name the pod group of a pod that sets `spec.schedulingGroup.podGroupName`."""
        group = pod.spec.scheduling_group
        named = group is not None and group.pod_group_name
        return (NATIVE,) if named else ()

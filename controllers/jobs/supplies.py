"""What every process knows of that which Workloads are made from, and started with: classes and flavors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from api.core import PriorityClass
from api.kueue import ResourceFlavor, WorkloadPriorityClass
from api.workloads import Workload
from controllers.jobs.owned_workload import Classes
from quota.cycle.pod_set_infos import PodSetInfo, pod_set_infos
from runtime.listeners import Listenable
from runtime.mirror.objects import Objects
from runtime.mirror.resources import PRIORITY_CLASSES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES
from runtime.mirror.views import View, Views

__all__ = ["Supplies"]


class Supplies(Listenable[[]]):
    """Live views. Everything runs on the event loop. Listeners are told when classes have changed, once for many
    changes."""

    def __init__(self, views: Views) -> None:
        super().__init__()
        self._flavors: Objects[ResourceFlavor] = Objects()
        self._priority_classes: Objects[PriorityClass] = Objects()
        self._workload_priority_classes: Objects[WorkloadPriorityClass] = Objects()
        classes: tuple[View[Any], ...] = (
            views.watch(PRIORITY_CLASSES, self._priority_classes),
            views.watch(WORKLOAD_PRIORITY_CLASSES, self._workload_priority_classes),
        )
        for view in classes:
            view.on_change(self._tell)
        self.views: Final[tuple[View[Any], ...]] = (*classes, views.watch(RESOURCE_FLAVORS, self._flavors))

    @property
    def classes(self) -> Classes:
        """Where priorities come from."""
        return Classes(
            {each.metadata.name: each for each in self._workload_priority_classes},
            {each.metadata.name: each for each in self._priority_classes},
        )

    def infos(self, workload: Workload) -> Sequence[PodSetInfo]:
        """What the admission of the Workload adds to its pods. Raises PodSetConflict."""
        return pod_set_infos(workload, {each.metadata.name: each for each in self._flavors})

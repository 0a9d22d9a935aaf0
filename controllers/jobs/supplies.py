"""What every process knows of that which Workloads are made from, and started with: classes and flavors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from api.core import PriorityClass
from api.kueue import ResourceFlavor, WorkloadPriorityClass
from api.workloads import Workload
from controllers.jobs.owned_workload import Classes
from quota.cycle.pod_set_infos import PodSetInfo, pod_set_infos
from runtime.mirror.objects import Objects
from runtime.mirror.resources import PRIORITY_CLASSES, RESOURCE_FLAVORS, WORKLOAD_PRIORITY_CLASSES
from runtime.mirror.views import View, Views

__all__ = ["Supplies"]


class Supplies:
    """Live views. Everything runs on the event loop."""

    def __init__(self, views: Views) -> None:
        self._flavors: Objects[ResourceFlavor] = Objects()
        self._priority_classes: Objects[PriorityClass] = Objects()
        self._workload_priority_classes: Objects[WorkloadPriorityClass] = Objects()
        self._class_views = (
            views.watch(PRIORITY_CLASSES, self._priority_classes),
            views.watch(WORKLOAD_PRIORITY_CLASSES, self._workload_priority_classes),
        )
        self.views: Final[tuple[View[Any], ...]] = (
            *self._class_views,
            views.watch(RESOURCE_FLAVORS, self._flavors),
        )

    def on_class(self, hook: Callable[[], None]) -> None:
        """Call `hook` after classes have changed, once for many changes."""
        for view in self._class_views:
            view.on_change(hook)

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

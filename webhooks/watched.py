"""Facts about other objects, from views of the cluster."""

from __future__ import annotations

from collections.abc import Callable

from api.core import PriorityClass
from api.groups import PodGroup
from api.priority import SYSTEM_CLASSES, global_default
from runtime.objects import Objects
from runtime.resources import GROUPS, PRIORITY_CLASSES
from runtime.views import Views
from webhooks.facts import UNKNOWN, Answer

__all__ = ["WatchedFacts"]


class WatchedFacts:
    """`Facts` of a cluster. Nothing is known of a resource until it has been listed."""

    def __init__(self, views: Views) -> None:
        self._classes: Objects[PriorityClass] = Objects()
        self._groups: Objects[PodGroup] = Objects()
        self._classes_view = views.watch(PRIORITY_CLASSES, self._classes)
        self._groups_view = views.watch(GROUPS, self._groups)

    def on_class(self, hook: Callable[[], None]) -> None:
        """Call `hook` after PriorityClasses have changed, once for many changes."""
        self._classes_view.on_change(hook)

    def fault(self) -> str | None:
        """Why the server is not ready; None if it is.

        If the CRD of PodGroups is not installed, there are no PodGroups to wait for, and other kinds can be judged.
        """
        for view in (self._classes_view, self._groups_view):
            if not view.synced and not view.is_absent:
                return view.fault()
        return None

    def priority_class(self, name: str) -> Answer[PriorityClass]:
        """See `Facts`."""
        if not self._classes_view.synced:
            return SYSTEM_CLASSES.get(name, UNKNOWN)
        return self._classes.get("", name) or SYSTEM_CLASSES.get(name)

    def default_priority_class(self) -> Answer[PriorityClass]:
        """See `Facts`."""
        return global_default(self._classes) if self._classes_view.synced else UNKNOWN

    def pod_group(self, namespace: str, name: str) -> Answer[PodGroup]:
        """See `Facts`."""
        return self._groups.get(namespace, name) if self._groups_view.synced else UNKNOWN

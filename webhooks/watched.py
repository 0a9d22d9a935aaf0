"""Facts about other objects, from views of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from api.checks import AdmissionCheck
from api.core import Namespace, PriorityClass
from api.foreign_groups import NativePodGroup
from api.groups import PodGroup
from api.kueue import ClusterQueue, LocalQueue
from api.priority import SYSTEM_CLASSES, global_default
from quota.state.activity import manager_checks
from runtime.mirror.objects import Objects
from runtime.mirror.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    GROUPS,
    LOCAL_QUEUES,
    NAMESPACES,
    NATIVE_GROUPS,
    PRIORITY_CLASSES,
)
from runtime.mirror.views import View, Views
from webhooks.facts import UNKNOWN, Answer, Unknown

__all__ = ["WatchedFacts"]


class WatchedFacts:
    """`Facts` of a cluster. Nothing is known of a resource until it has been listed."""

    def __init__(self, views: Views, *, queues: bool = False, namespaces: bool = False) -> None:
        """`queues`: whether queues, their checks and namespaces are watched, too. Without that they are never
        known. `namespaces`: whether namespaces are, although nobody waits for them."""
        self._classes: Objects[PriorityClass] = Objects()
        self._groups: Objects[PodGroup] = Objects()
        self._classes_view = views.watch(PRIORITY_CLASSES, self._classes)
        self._groups_view = views.watch(GROUPS, self._groups)
        self._natives: Objects[NativePodGroup] = Objects()
        self._natives_view = views.watch(NATIVE_GROUPS, self._natives)
        """Nobody waits for them: a cluster may not serve them, and a role of one's own may not allow to read them."""
        self._queues: Objects[LocalQueue] = Objects()
        self._namespaces: Objects[Namespace] = Objects()
        self._queues_view = views.watch(LOCAL_QUEUES, self._queues) if queues else None
        watches_namespaces = queues or namespaces
        self._namespaces_view = views.watch(NAMESPACES, self._namespaces) if watches_namespaces else None
        self._waits_for_namespaces = queues
        self._cluster_queues: Objects[ClusterQueue] = Objects()
        self._checks: Objects[AdmissionCheck] = Objects()
        self._cluster_queues_view = views.watch(CLUSTER_QUEUES, self._cluster_queues) if queues else None
        self._checks_view = views.watch(ADMISSION_CHECKS, self._checks) if queues else None

    def on_class(self, hook: Callable[[], None]) -> None:
        """Call `hook` after PriorityClasses have changed, once for many changes."""
        self._classes_view.on_change(hook)

    def fault(self) -> str | None:
        """Why the server is not ready; None if it is.

        If the CRD of PodGroups is not installed, there are no PodGroups to wait for, and other kinds can be judged.
        """
        views: tuple[View[Any] | None, ...] = (
            self._classes_view,
            self._groups_view,
            self._queues_view,
            self._namespaces_view if self._waits_for_namespaces else None,
            self._cluster_queues_view,
            self._checks_view,
        )
        for view in views:
            if view is not None and not view.synced and not view.is_absent:
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

    def native_group(self, namespace: str, name: str) -> Answer[NativePodGroup]:
        """See `Facts`. Where they are not served, no pod names one."""
        return self._natives.get(namespace, name) if self._natives_view.synced else UNKNOWN

    def local_queue(self, namespace: str, name: str) -> Answer[LocalQueue]:
        """See `Facts`."""
        if self._queues_view is None or not self._queues_view.synced:
            return UNKNOWN
        return self._queues.get(namespace, name)

    def dispatches(self, namespace: str, queue: str) -> bool | Literal[Unknown.UNKNOWN]:
        """See `Facts`."""
        for view in (self._queues_view, self._cluster_queues_view, self._checks_view):
            if view is None or not view.synced:
                return UNKNOWN
        local = self._queues.get(namespace, queue)
        known = self._cluster_queues.get("", local.spec.cluster_queue) if local is not None else None
        checks = {each.metadata.name: each for each in self._checks}
        return known is not None and bool(manager_checks(known.spec, checks))

    def namespace_labels(self, name: str) -> Answer[Mapping[str, str]]:
        """See `Facts`."""
        if self._namespaces_view is None or not self._namespaces_view.synced:
            return UNKNOWN
        found = self._namespaces.get("", name)
        return (found.metadata.labels or {}) if found is not None else None

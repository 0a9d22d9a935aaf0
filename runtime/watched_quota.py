"""The state of the quota engine, which follows a cluster through views."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from kube.reflector import Resource
from quota.state import QuotaState, Thing
from runtime.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOADS,
)
from runtime.views import View, Views

__all__ = ["WatchedQuota"]

T = TypeVar("T", bound=Thing)


class _Kept(Generic[T]):
    """The store of one resource."""

    def __init__(self, state: QuotaState, resource: Resource[T]) -> None:
        self._state, self._kind = state, resource.type.__name__

    def upsert(self, item: T) -> bool:
        """See `Store`."""
        self._state.apply(item)
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        self._state.delete(self._kind, f"{namespace}/{name}" if namespace else name)
        return True


class WatchedQuota:
    """The state, and the views that fill it. If the state refuses an object, it keeps the object's last state."""

    def __init__(self, views: Views) -> None:
        self.state: Final = QuotaState()
        self.views = (
            self._watch(views, CLUSTER_QUEUES),
            self._watch(views, COHORTS),
            self._watch(views, RESOURCE_FLAVORS),
            self._watch(views, ADMISSION_CHECKS),
            self._watch(views, LOCAL_QUEUES),
            self._watch(views, WORKLOADS),
        )

    def _watch(self, views: Views, resource: Resource[T]) -> View[T]:
        return views.watch(resource, _Kept(self.state, resource))

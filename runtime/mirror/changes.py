"""Tells listeners which objects have changed, by kind and key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kube.reflector import HasMetadata, Key, Resource
from runtime.listeners import Listenable
from runtime.mirror.views import View, Views

__all__ = ["Changes", "joined"]

T = TypeVar("T", bound=HasMetadata)


def joined(key: Key) -> str:
    """`namespace/name`, or the name of an object without a namespace."""
    namespace, name = key
    return f"{namespace}/{name}" if namespace else name


class Changes(Listenable[[str, str]]):
    """What has changed. Listeners get the kind and the key (a name or `namespace/name`) of each object that has changed
    or is gone."""

    def follow(
        self, views: Views, resource: Resource[T], *, only: Callable[[T], bool] | None = None
    ) -> View[T]:
        """Tell of the changes of a resource. Stores that are watched before have the new state by then.

        `only`: of objects in a state for which this is true, and of deletions.
        """
        return views.watch(resource, _Noted(self, resource.type.__name__, only))

    def changed(self, kind: str, key: str) -> None:
        """Tell the listeners."""
        self._tell(kind, key)


class _Noted(Generic[T]):
    """A store that keeps nothing."""

    def __init__(self, changes: Changes, kind: str, only: Callable[[T], bool] | None) -> None:
        self._changes, self._kind, self._only = changes, kind, only

    def upsert(self, item: T) -> bool:
        """See `Store`."""
        if self._only is None or self._only(item):
            self._changes.changed(self._kind, joined((item.metadata.namespace, item.metadata.name)))
        return False

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        self._changes.changed(self._kind, joined((namespace, name)))
        return False

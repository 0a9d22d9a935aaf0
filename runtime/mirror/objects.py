"""A store that keeps the objects of one resource as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from kube.reflector import HasMetadata, Key

__all__ = ["Objects"]

T = TypeVar("T", bound=HasMetadata)


class Objects(Generic[T]):
    """A store that keeps the objects themselves."""

    def __init__(self) -> None:
        self._objects: dict[Key, T] = {}

    def get(self, namespace: str, name: str) -> T | None:
        """The object of that name, or None. The namespace of cluster-scoped objects is empty."""
        return self._objects.get((namespace, name))

    def __iter__(self) -> Iterator[T]:
        return iter(self._objects.values())

    def __len__(self) -> int:
        return len(self._objects)

    def upsert(self, item: T) -> bool:
        """See `runtime.mirror.views.Store`."""
        self._objects[item.metadata.namespace, item.metadata.name] = item
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`."""
        return self._objects.pop((namespace, name), None) is not None

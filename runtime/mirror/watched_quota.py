"""The state of the quota engine, which follows a cluster through views.

A Workload that is about to be written counts at once as it will be: otherwise two cycles would give the same quota
away. The state is assumed until `resolve`. What the watch shows meanwhile is kept beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar

import structlog

from api.core import Namespace
from api.meta import ObjectMeta
from api.workloads import Workload
from kube.reflector import Resource
from quota.state.amounts import QuotaError
from quota.state.remains import Remains, remains_of
from quota.state.state import QuotaState, Thing
from quota.state.workloads import key_of
from runtime.mirror.pauses import Pauses
from runtime.mirror.resources import (
    ADMISSION_CHECKS,
    CLUSTER_QUEUES,
    COHORTS,
    LIMIT_RANGES,
    LOCAL_QUEUES,
    NAMESPACES,
    RESOURCE_FLAVORS,
    RUNTIME_CLASSES,
    WORKLOADS,
)
from runtime.mirror.views import View, Views

__all__ = ["BeforeHook", "ObjectHook", "WatchedQuota", "WorkloadHook"]

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=Thing)

WorkloadHook = Callable[[str, Workload | None, Workload | None], None]
"""Called with a Workload's key, its state before, and its state now."""
BeforeHook = Callable[[str, Workload], None]
"""Called with a Workload's key and a state that the quota engine's state does not have yet."""
ObjectHook = Callable[[str, str], None]
"""Called with the kind and the key of another object that came, changed or went."""
RemainsHook = Callable[[str, Remains | None, Remains | None], None]
"""Called with a Workload's key, and with what was and is left of it because no state of it could be read."""


class _Kept(Generic[T]):
    """The store of one resource."""

    def __init__(self, state: QuotaState, resource: Resource[T], changed: ObjectHook) -> None:
        self._state, self._kind, self._changed = state, resource.type.__name__, changed

    def upsert(self, item: T) -> bool:
        """See `Store`."""
        self._state.apply(item)
        self._changed(self._kind, _key(item.metadata.namespace, item.metadata.name))
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        self._state.delete(self._kind, _key(namespace, name))
        self._changed(self._kind, _key(namespace, name))
        return True


class _Workloads:
    """The store of Workloads, with those that are assumed."""

    def __init__(self, state: QuotaState) -> None:
        self._state = state
        self._shown: dict[str, Workload] = {}
        """By key of a Workload that is assumed: the newest state that the API server has shown."""
        self.hooks: list[WorkloadHook] = []
        self.remains_hooks: list[RemainsHook] = []
        self.before_hooks: list[BeforeHook] = []

    def upsert(self, item: Workload) -> bool:
        """See `Store`."""
        key = key_of(item)
        shown = self._shown.get(key)
        if shown is not None and shown.metadata.uid == item.metadata.uid:
            self._shown[key] = item
        else:
            self._shown.pop(key, None)
            self._put(item)
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        key = _key(namespace, name)
        self._shown.pop(key, None)
        before, remains = self._state.workloads.get(key), self._state.remains.get(key)
        self._state.delete("Workload", key)
        self._tell(key, before, None)
        self._tell_remains(key, remains)
        return True

    def unreadable(self, meta: ObjectMeta, raw: bytes) -> None:
        """The newest state cannot be read. If no state before it could be read either, what is left of it counts."""
        key = _key(meta.namespace, meta.name)
        if not meta.name or key in self._state.workloads:
            return
        before = self._state.remains.get(key)
        remains = remains_of(meta.namespace, meta.name, raw)
        self._state.keep(remains)
        if remains.usage is None:
            log.error("a Workload cannot be read, and what it holds does not count", workload=key)
        self._tell_remains(key, before)

    def assume(self, workload: Workload) -> None:
        key = key_of(workload)
        before = self._state.workloads[key]
        is_first = key not in self._shown
        self._shown.setdefault(key, before)  # those who hear of it may ask what is shown
        try:
            self._put(workload)
        except QuotaError:
            if is_first:
                del self._shown[key]
            raise

    def shown(self, key: str) -> Workload | None:
        return self._shown.get(key) or self._state.workloads.get(key)

    def resolve(self, key: str) -> None:
        shown = self._shown.pop(key, None)
        if shown is None:
            return
        try:
            self._put(shown)
        except QuotaError as error:
            log.warning("a Workload cannot be read, its last state is kept", workload=key, error=str(error))

    def resolve_all(self) -> None:
        for key in list(self._shown):
            self.resolve(key)

    def _put(self, workload: Workload) -> None:
        key = key_of(workload)
        for hook in self.before_hooks:
            hook(key, workload)
        before, remains = self._state.workloads.get(key), self._state.remains.get(key)
        self._state.apply(workload)
        self._tell(key, before, workload)
        self._tell_remains(key, remains)

    def _tell(self, key: str, before: Workload | None, after: Workload | None) -> None:
        for hook in self.hooks:
            hook(key, before, after)

    def _tell_remains(self, key: str, before: Remains | None) -> None:
        after = self._state.remains.get(key)
        if before != after:
            for hook in self.remains_hooks:
                hook(key, before, after)


class _Namespaces:
    """Labels by namespace."""

    def __init__(self, changed: ObjectHook) -> None:
        self.labels: dict[str, Mapping[str, str]] = {}
        self._changed = changed

    def upsert(self, item: Namespace) -> bool:
        """See `Store`."""
        self.labels[item.metadata.name] = item.metadata.labels or {}
        self._changed("Namespace", item.metadata.name)
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        del namespace
        self.labels.pop(name, None)
        self._changed("Namespace", name)
        return True


class WatchedQuota:
    """The state, and the views that fill it. If the state refuses an object, it keeps the object's last state. Without
    one, it keeps what is left of a Workload (`quota.state.remains`)."""

    def __init__(self, views: Views, state: QuotaState | None = None) -> None:
        """`state`: an empty one, if another one than the usual is to be filled."""
        self.state: Final = QuotaState() if state is None else state
        self._hooks: list[ObjectHook] = []
        self._store, self._namespaces = _Workloads(self.state), _Namespaces(self._changed)
        self.pauses: Final = Pauses(views)
        self.workloads: Final = views.watch(WORKLOADS, self._store)
        self.workloads.on_unreadable(self._store.unreadable)
        self.views: Final[tuple[View[Any], ...]] = (
            self._watch(views, CLUSTER_QUEUES),
            self._watch(views, COHORTS),
            self._watch(views, RESOURCE_FLAVORS),
            self._watch(views, ADMISSION_CHECKS),
            self._watch(views, LOCAL_QUEUES),
            self._watch(views, LIMIT_RANGES),
            self._watch(views, RUNTIME_CLASSES),
            views.watch(NAMESPACES, self._namespaces),
            self.workloads,
        )

    @property
    def namespaces(self) -> Mapping[str, Mapping[str, str]]:
        """The labels of each namespace. This is a live view."""
        return MappingProxyType(self._namespaces.labels)

    async def wait_synced(self) -> None:
        """Wait until all objects have been listed."""
        await asyncio.gather(*(view.wait_synced() for view in self.views))

    # ---- what follows it

    def on_workload(self, hook: WorkloadHook) -> None:
        """Call `hook` after each change of a Workload, also of one that is assumed."""
        self._store.hooks.append(hook)

    def on_remains(self, hook: RemainsHook) -> None:
        """Call `hook` after each change of what is left of a Workload that cannot be read."""
        self._store.remains_hooks.append(hook)

    def before_workload(self, hook: BeforeHook) -> None:
        """Call `hook` before each change of a Workload. The state may still refuse the change."""
        self._store.before_hooks.append(hook)

    def on_object(self, hook: ObjectHook) -> None:
        """Call `hook` after each change of another object."""
        self._hooks.append(hook)

    # ---- assumptions

    def assume(self, workload: Workload) -> None:
        """Count the Workload as it will be. Raises QuotaError, and then changes nothing."""
        self._store.assume(workload)

    def resolve(self, key: str) -> None:
        """Count the Workload as the API server has shown it last, in the watch or in an answer (`View.apply`)."""
        self._store.resolve(key)

    def shown(self, key: str) -> Workload | None:
        """The Workload as the API server has shown it last, whatever is assumed of it."""
        return self._store.shown(key)

    def resolve_all(self) -> None:
        """Nobody writes any longer."""
        self._store.resolve_all()

    def _watch(self, views: Views, resource: Resource[T]) -> View[T]:
        return views.watch(resource, _Kept(self.state, resource, self._changed))

    def _changed(self, kind: str, key: str) -> None:
        for hook in self._hooks:
            hook(kind, key)


def _key(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name

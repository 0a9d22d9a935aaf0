"""The live mirror: reflectors that feed the tables, and whoever wants to hear of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Final, Generic, TypeVar

from api.core import Node, Pod, PodDisruptionBudget, PriorityClass
from api.groups import PodGroup
from api.meta import ObjectMeta
from kube.client import ApiClient
from kube.metrics import MIRROR_OBJECTS
from kube.reflector import Handler, HasMetadata, Key, Reflector, Resource, Timing
from nodes.state.pods import Change
from nodes.state.tables import Tables
from runtime.failpoints import delay

__all__ = ["ALL", "BUDGETS", "GROUPS", "NODES", "PODS", "PRIORITY_CLASSES", "Mirror", "PodHook"]

NODES: Final = Resource("nodes", "/api/v1/nodes", Node)
PODS: Final = Resource("pods", "/api/v1/pods", Pod, "status.phase!=Succeeded,status.phase!=Failed")
"""Pods that have ended use nothing; the API server sends the rest of a pod's life as its deletion."""
BUDGETS: Final = Resource("poddisruptionbudgets", "/apis/policy/v1/poddisruptionbudgets", PodDisruptionBudget)
PRIORITY_CLASSES: Final = Resource(
    "priorityclasses", "/apis/scheduling.k8s.io/v1/priorityclasses", PriorityClass
)
GROUPS: Final = Resource("podgroups", "/apis/reprieve.dev/v1alpha1/podgroups", PodGroup)

ALL: Final = (NODES, PODS, BUDGETS, PRIORITY_CLASSES, GROUPS)

PodHook = Callable[[str, Pod | None], None]
"""Called with a pod's UID and its newest state; None when it is gone, or has ended."""

T = TypeVar("T", bound=HasMetadata)
R = TypeVar("R", bound=HasMetadata)


class Mirror:
    """Follows an API server from `run` on. Everything happens on the event loop."""

    def __init__(
        self,
        client: ApiClient,
        *,
        resources: Collection[Resource[Any]] = ALL,
        timing: Timing | None = None,
    ) -> None:
        """Only these `resources` are followed; the tables of others stay empty."""
        self._client = client
        self._timing = timing or Timing(delay=partial(delay, "mirror.delay"))
        self._reflectors: list[Reflector[Any]] = []
        self._pod_hooks: list[PodHook] = []
        self._change_hooks: list[Callable[[], None]] = []
        self._announced = False
        self.tables = tables = Tables()
        self.follow(
            NODES,
            _Kept(
                "nodes",
                tables.upsert_node,
                lambda meta: tables.delete_node(meta.name, meta.uid),
                lambda: (("", name) for name in tables.nodes.names_live),
                lambda: len(tables.nodes),
                self._changed,
            ),
        )
        self.follow(PODS, _Pods(tables, self._pod_hooks, self._changed))
        self.follow(
            BUDGETS,
            _Kept(
                "poddisruptionbudgets",
                tables.upsert_budget,
                lambda meta: tables.delete_budget(meta.namespace, meta.name, meta.uid),
                lambda: tables.budgets.keys,
                lambda: len(tables.budgets),
                self._changed,
            ),
        )
        self.follow(
            PRIORITY_CLASSES,
            _Kept(
                "priorityclasses",
                tables.upsert_priority_class,
                lambda meta: tables.delete_priority_class(meta.name, meta.uid),
                lambda: (("", name) for name in tables.priority_classes),
                lambda: len(tables.priority_classes),
                self._changed,
            ),
        )
        self.follow(
            GROUPS,
            _Kept(
                "podgroups",
                tables.upsert_group,
                lambda meta: tables.delete_group(meta.namespace, meta.name, meta.uid),
                lambda: ((group.metadata.namespace, group.metadata.name) for group in tables.groups.live),
                lambda: len(tables.groups),
                self._changed,
            ),
        )
        followed = {each.kind for each in resources}
        self._reflectors = [each for each in self._reflectors if each.kind in followed]

    def follow(self, resource: Resource[R], handler: Handler[R]) -> None:
        """Mirror another resource as well; before `run`."""
        self._reflectors.append(Reflector(self._client, resource, handler, timing=self._timing))

    def on_change(self, hook: Callable[[], None]) -> None:
        """Have `hook` called after changes that decisions depend on, or of a member's status: once for many."""
        self._change_hooks.append(hook)

    def on_pod(self, hook: PodHook) -> None:
        """Have `hook` called after every state of every pod that is newer than the last."""
        self._pod_hooks.append(hook)

    async def run(self) -> None:
        """Follow the API server until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for reflector in self._reflectors:
                tasks.create_task(reflector.run(), name=f"reflector {reflector.kind}")

    @property
    def synced(self) -> bool:
        """Whether everything has been listed once."""
        return all(reflector.synced.is_set() for reflector in self._reflectors)

    async def wait_synced(self) -> None:
        """Return once everything has been listed."""
        for reflector in self._reflectors:
            await reflector.synced.wait()

    def age(self) -> float:
        """Seconds since the API server was last heard, of the resource that has been silent longest.

        On a quiet cluster this grows to about a minute, when the next bookmark comes.
        """
        return max(reflector.last_event_age() for reflector in self._reflectors)

    def _changed(self, change: Change) -> None:
        if change >= Change.STATUS and not self._announced:
            self._announced = True
            asyncio.get_running_loop().call_soon(self._announce)

    def _announce(self) -> None:
        self._announced = False
        for hook in self._change_hooks:
            hook()


class _Kept(Generic[T]):
    """The handler of a resource that one table keeps."""

    def __init__(
        self,
        kind: str,
        upsert: Callable[..., Change],
        delete: Callable[[ObjectMeta], Change],
        keys: Callable[[], Iterable[Key]],
        count: Callable[[], int],
        changed: Callable[[Change], None],
    ) -> None:
        self._upsert, self._delete, self._keys, self._changed = upsert, delete, keys, changed
        MIRROR_OBJECTS.labels(kind).set_function(count)

    def upsert(self, item: T, *, listed: bool) -> None:
        """See `Handler`."""
        self._changed(self._upsert(item, listed=listed))

    def delete(self, meta: ObjectMeta) -> None:
        """See `Handler`."""
        self._changed(self._delete(meta))

    def replaced(self, keys: AbstractSet[Key]) -> None:
        """See `Handler`."""
        for namespace, name in set(self._keys()) - keys:
            self.delete(ObjectMeta(namespace=namespace, name=name))


class _Pods:
    """The handler of pods, which others want to hear of one by one."""

    def __init__(self, tables: Tables, hooks: list[PodHook], changed: Callable[[Change], None]) -> None:
        self._tables, self._hooks, self._changed = tables, hooks, changed
        MIRROR_OBJECTS.labels("pods").set_function(lambda: len(tables.pods))

    def upsert(self, item: Pod, *, listed: bool) -> None:
        """See `Handler`."""
        meta = item.metadata
        before = self._uid(meta.namespace, meta.name)
        change = self._tables.upsert_pod(item, listed=listed)
        if change is Change.STALE:
            return
        after = self._uid(meta.namespace, meta.name)
        if before is not None and before != after:
            self._tell(before, None)
        if after == meta.uid:
            self._tell(meta.uid, item)
        self._changed(change)

    def delete(self, meta: ObjectMeta) -> None:
        """See `Handler`."""
        before = self._uid(meta.namespace, meta.name)
        change = self._tables.delete_pod(meta.namespace, meta.name, meta.uid)
        if before is not None and self._uid(meta.namespace, meta.name) is None:
            self._tell(before, None)
        self._changed(change)

    def replaced(self, keys: AbstractSet[Key]) -> None:
        """See `Handler`."""
        for namespace, name in set(self._tables.pods.keys) - keys:
            self.delete(ObjectMeta(namespace=namespace, name=name))

    def _uid(self, namespace: str, name: str) -> str | None:
        row = self._tables.pod_by_name(namespace, name)
        return self._tables.pods.uids[row] if row is not None else None

    def _tell(self, uid: str, pod: Pod | None) -> None:
        for hook in self._hooks:
            hook(uid, pod)

"""The tables of the node engine, which follow a cluster through views."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Generic, TypeVar

from api.core import Pod
from api.meta import ObjectMeta
from api.owner_annotations import ByOwner
from kube.reflector import HasMetadata, Resource
from nodes.filters.profile import Profiles
from nodes.groups.forms import PREEMPTING, Sources
from nodes.groups.kinds.kind import Kind
from nodes.groups.kinds.table import OWNERS
from nodes.groups.registry import OBJECTS
from nodes.state.columns.classes import NO_PROFILES
from nodes.state.costs import CostRules
from nodes.state.groups.groups import GroupKey
from nodes.state.pods.pod_facts import Change
from nodes.state.pods.pods import ENDED
from nodes.state.tables import Tables
from runtime.mirror.pauses import Pauses
from runtime.mirror.resources import (
    BUDGETS,
    COSCHEDULING_GROUPS,
    DEVICE_CLASSES,
    GROUPS,
    NAMESPACES,
    NATIVE_GROUPS,
    NODES,
    OWNER_RESOURCES,
    PODS,
    PRIORITY_CLASSES,
    STATEFUL_SETS,
    STORAGE_RESOURCES,
    VOLCANO_GROUPS,
)
from runtime.mirror.views import ObjectHook, View, Views

__all__ = ["WatchedTables"]

OwnerHook = Callable[[str, str, str, ObjectMeta | None], None]
"""Called with apiVersion, kind, UID and metadata of an object. The metadata is None if the object is gone."""
FOREIGN_GROUPS: Final[tuple[Resource[Any], ...]] = (NATIVE_GROUPS, COSCHEDULING_GROUPS, VOLCANO_GROUPS)

T_contra = TypeVar("T_contra", bound=HasMetadata, contravariant=True)


class _Kept(Generic[T_contra]):
    """The store of one resource. It writes to one of the tables."""

    def __init__(self, upsert: Callable[[T_contra], Change], delete: Callable[[str, str], Change]) -> None:
        self._upsert, self._delete = upsert, delete

    def upsert(self, item: T_contra) -> bool:
        """See `Store`."""
        return self._upsert(item) >= Change.STATUS

    def delete(self, namespace: str, name: str) -> bool:
        """See `Store`."""
        return self._delete(namespace, name) >= Change.STATUS


class WatchedTables:
    """Tables of nodes, pods, groups, budgets, priority classes and namespaces, and the views that fill them."""

    def __init__(
        self,
        views: Views,
        costs: CostRules | None = None,
        profiles: Profiles = NO_PROFILES,
        by_owner: ByOwner = "Victims",
        preempting: Sources = PREEMPTING,
        *,
        is_complete: bool = True,
    ) -> None:
        """The arguments after `views`: see `Tables`."""
        self.tables = tables = Tables(
            costs, profiles, by_owner, is_complete=is_complete, preempting=preempting
        )
        self.nodes = views.watch(NODES, _Kept(tables.upsert_node, lambda _, name: tables.delete_node(name)))
        self.pods = views.watch(PODS, _Kept(tables.upsert_pod, tables.delete_pod))
        self.budgets = views.watch(BUDGETS, _Kept(tables.upsert_budget, tables.delete_budget))
        self.priority_classes = views.watch(
            PRIORITY_CLASSES,
            _Kept(tables.upsert_priority_class, lambda _, name: tables.delete_priority_class(name)),
        )
        self.namespaces = views.watch(
            NAMESPACES, _Kept(tables.upsert_namespace, lambda _, name: tables.delete_namespace(name))
        )
        self.pauses = Pauses(views)
        self._optional: list[View[Any]] = [
            views.watch(
                DEVICE_CLASSES,
                _Kept(tables.upsert_device_class, lambda _, name: tables.delete_device_class(name)),
            ),
            *(
                views.watch(each, _Kept(tables.upsert_storage, partial(tables.delete_storage, each.type)))
                for each in STORAGE_RESOURCES
            ),
        ]
        """Nobody waits for them: a cluster may not serve them, and a role of one's own may not allow to read them."""
        self.groups = views.watch(GROUPS, _Kept(tables.upsert_group, tables.delete_group))
        self.foreign_groups: list[View[Any]] = [
            views.watch(
                each, _Kept(tables.upsert_foreign_group, partial(tables.delete_foreign_group, each.type))
            )
            for each in FOREIGN_GROUPS
        ]
        """Groups of other kinds. Who lists them waits until each is listed, or is known not to be served."""
        self.owners: list[View[Any]] = [
            views.watch(each, _Kept(tables.upsert_owner, partial(tables.delete_owner, each.type)))
            for each in OWNER_RESOURCES
        ]
        """Objects whose pods may be a group. Who lists them waits likewise."""
        self._by_source: dict[str, list[View[Any]]] = {}
        """The views of objects that make gangs, by source: see `nodes.groups.keys`."""
        for kinds, found in ((OBJECTS, self.foreign_groups), (OWNERS, self.owners)):
            for view in found:
                self._by_source.setdefault(kinds[view.resource.type].source, []).append(view)
        self.stateful_sets = views.watch(
            STATEFUL_SETS, _Kept(tables.upsert_stateful_set, tables.delete_stateful_set)
        )
        """They lead pods to their owners. Who lists them waits likewise."""
        self.views: tuple[View[Any], ...] = (
            self.nodes,
            self.pods,
            self.budgets,
            self.priority_classes,
            self.namespaces,
            self.groups,
            *self.foreign_groups,
            *self.owners,
            self.stateful_sets,
        )

    def on_change(self, hook: Callable[[], None]) -> None:
        """Call `hook` after changes that decisions depend on, and after changes of a member's status.

        One call covers many changes.
        """

        def settled() -> None:
            self.tables.settle()
            hook()

        watched: list[View[Any]] = [*self.views, *self._optional]
        for view in watched:
            view.on_change(settled)

    def on_pod(self, hook: ObjectHook[Pod]) -> None:
        """Call `hook` with a pod's UID and each newer state of it. The state is None if the pod is gone or ended."""

        def living(uid: str, pod: Pod | None) -> None:
            hook(uid, None if pod is None or pod.status.phase in ENDED else pod)

        self.pods.on_object(living)

    def awaits_object(self, key: GroupKey, since: float) -> bool:
        """Whether an object that we read would make this group a gang, and has not come yet.

        `since`: if the object exists, it was created before this time, in monotonic seconds.
        """
        source = self.tables.owners.awaits_owner(key) or self.tables.groups.awaits_object(key)
        return any(view.may_have_come(since) for view in self._by_source.get(source, ()))

    def on_owner(self, hook: OwnerHook) -> None:
        """Call `hook` with each newer state of an object that says something of groups: owners and namespaces."""
        self.namespaces.on_object(lambda uid, item: hook("v1", "Namespace", uid, _meta_of(item)))
        for view in self.owners:
            view.on_object(partial(_tell_owner, hook, OWNERS[view.resource.type]))

    @property
    def synced(self) -> bool:
        """Whether all objects have been listed once."""
        return all(view.synced for view in self.views)

    async def wait_synced(self) -> None:
        """Wait until all objects have been listed."""
        await asyncio.gather(*(view.wait_synced() for view in self.views))


def _meta_of(item: HasMetadata | None) -> ObjectMeta | None:
    return item.metadata if item is not None else None


def _tell_owner(hook: OwnerHook, kind: Kind, uid: str, item: HasMetadata | None) -> None:
    hook(kind.api_version, kind.kind, uid, _meta_of(item))

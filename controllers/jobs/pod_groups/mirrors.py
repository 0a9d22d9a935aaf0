"""What every process knows of PodGroups in queues."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from api.core import Pod
from api.groups import PodGroup
from api.integration import POD_GROUP_FRAMEWORK, QUEUE_NAME_LABEL
from api.meta import ObjectMeta
from api.workloads import ADMITTED, Workload
from controllers.jobs.configuration import JobsConfiguration
from controllers.jobs.pod_groups.members import ADMITTED_BY, GroupMembers, is_of_a_job
from controllers.jobs.pod_groups.workload import KIND, group_workload_name
from controllers.jobs.supplies import Supplies
from nodes.groups.registry import group_of
from quota.state.workloads import is_evicting, is_true
from runtime.listeners import Listenable
from runtime.mirror.objects import Objects
from runtime.mirror.resources import (
    GROUPS,
    PODS,
    WORKLOADS,
)
from runtime.mirror.views import View, Views

__all__ = ["GroupKey", "GroupMirrors"]

GroupKey = tuple[str, str]
Hook = Callable[[GroupKey], None]


class _Groups(Objects[PodGroup]):
    def __init__(self, changed: Hook) -> None:
        super().__init__()
        self._changed = changed

    def upsert(self, item: PodGroup) -> bool:
        """See `runtime.mirror.views.Store`."""
        super().upsert(item)
        self._changed((item.metadata.namespace, item.metadata.name))
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`."""
        self._changed((namespace, name))
        return super().delete(namespace, name)


class _Workloads(Objects[Workload]):
    """The Workloads that PodGroups own."""

    def __init__(self, changed: Hook) -> None:
        super().__init__()
        self._changed = changed
        self._owned: dict[GroupKey, set[str]] = {}

    @property
    def owners(self) -> set[GroupKey]:
        """The groups that own one."""
        return set(self._owned)

    def of(self, group: GroupKey) -> list[Workload]:
        """Those that a PodGroup of this name owns."""
        found = (self.get(group[0], name) for name in sorted(self._owned.get(group, ())))
        return [each for each in found if each is not None]

    def upsert(self, item: Workload) -> bool:
        """See `runtime.mirror.views.Store`."""
        self.delete(item.metadata.namespace, item.metadata.name)
        owner = _owner(item.metadata)
        if owner is None:
            return False
        self._owned.setdefault(owner, set()).add(item.metadata.name)
        super().upsert(item)
        self._changed(owner)
        return True

    def delete(self, namespace: str, name: str) -> bool:
        """See `runtime.mirror.views.Store`."""
        before = self.get(namespace, name)
        if before is None:
            return False
        owner = _owner(before.metadata) or ("", "")
        self._owned[owner].discard(name)
        if not self._owned[owner]:
            del self._owned[owner]
        super().delete(namespace, name)
        self._changed(owner)
        return True


class GroupMirrors(Listenable[[GroupKey]]):
    """Live views. Everything runs on the event loop. Listeners get each group when the group itself, a member or its
    Workload changes."""

    def __init__(self, views: Views, settings: JobsConfiguration) -> None:
        super().__init__()
        self._is_managed = POD_GROUP_FRAMEWORK in settings.frameworks
        self.members: Final = GroupMembers(self._tell)
        self.groups: Final[Objects[PodGroup]] = _Groups(self._tell)
        self.workloads: Final = _Workloads(self._tell)
        self.supplies: Final = Supplies(views)
        self.pod_view: Final = views.watch(PODS, self.members)
        self.workload_view: Final = views.watch(WORKLOADS, self.workloads)
        self.group_view: Final = views.watch(GROUPS, self.groups)
        self.views: Final[tuple[View[Any], ...]] = (
            self.pod_view,
            self.workload_view,
            self.group_view,
            *self.supplies.views,
        )

    async def wait_synced(self) -> None:
        """Wait until all objects have been listed."""
        await asyncio.gather(*(view.wait_synced() for view in self.views))

    def known(self) -> set[GroupKey]:
        """All groups, also those of which only members or a Workload are there."""
        groups = {(each.metadata.namespace, each.metadata.name) for each in self.groups}
        return groups | set(self.members.groups) | self.workloads.owners

    def is_queued(self, group: PodGroup) -> bool:
        """Whether the group names a queue, and PodGroups are managed."""
        return self._is_managed and bool((group.metadata.labels or {}).get(QUEUE_NAME_LABEL))

    def workload_of(self, group: PodGroup) -> Workload | None:
        """The Workload that the group has now."""
        found = self.workloads.get(group.metadata.namespace, group_workload_name(group))
        uids = {each.uid for each in found.metadata.owner_references or ()} if found is not None else set()
        return found if group.metadata.uid in uids else None

    # ---- what the gang controller asks

    def why_waits(self, pod: Pod) -> str:
        """See `runtime.exchange.queued_groups.Queues`."""
        meta, key = pod.metadata, group_of(pod)
        group = self.groups.get(*key) if key is not None else None
        if key is None or group is None or not self.is_queued(group) or is_of_a_job(pod):
            return ""
        workload = self._running(group)
        if workload is not None and (meta.annotations or {}).get(ADMITTED_BY) == workload.metadata.uid:
            return ""
        return f"pod group {'/'.join(key)} waits for quota, see its Workload"

    def waits(self, key: GroupKey) -> bool:
        """See `runtime.exchange.queued_groups.Queues`."""
        group = self.groups.get(*key)
        if group is None or not self.is_queued(group) or not self.members.of(key):
            return False
        return self._running(group) is None

    def _running(self, group: PodGroup) -> Workload | None:
        """The group's Workload if it is admitted and not evicted."""
        workload = self.workload_of(group)
        if workload is None or not is_true(workload, ADMITTED) or is_evicting(workload):
            return None
        return workload


def _owner(meta: ObjectMeta) -> GroupKey | None:
    for each in meta.owner_references or ():
        if each.controller and each.kind == KIND and each.api_version.startswith("reprieve.dev/"):
            return meta.namespace, each.name
    return None

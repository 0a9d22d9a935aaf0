"""Members of groups that Succeeded. They use nothing and are in no other table, but their groups count them."""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import Final, NamedTuple

from api.core import Pod
from nodes.state.groups.groups import GroupKey, GroupTable
from nodes.state.groups.owner_groups import OwnerGroups, Told
from nodes.state.pods.pod_facts import whole_seconds

__all__ = ["SucceededMembers"]

SUCCEEDED: Final = "Succeeded"


Name = tuple[str, str]
"""(namespace, name)."""


class _Pod(NamedTuple):
    uid: str
    created: int
    """Seconds since the epoch."""
    told: Told


class _Member(NamedTuple):
    uid: str
    group: int
    """Row of the group. The member refers to the group for as long as the pod object exists."""
    created: int
    """Seconds since the epoch."""
    told: Told

    @property
    def by(self) -> str:
        """See `OwnedPod`."""
        return self.told.owned.by if self.told.owned is not None else ""


class SucceededMembers:
    """Pods that tell a group and whose phase is Succeeded, until the pod object is deleted."""

    def __init__(self, groups: GroupTable, owners: OwnerGroups) -> None:
        self._groups, self._owners = groups, owners
        self._members: dict[Name, _Member] = {}
        self._of_group: dict[int, dict[str, int]] = {}
        """By row of the group: when each member (UID) was created."""
        self._led: dict[str, set[Name]] = {}
        """By the UID of the controller that leads the member to its owner."""
        self._native: dict[Name, _Pod] = {}
        """Those that name a group of kube-scheduler's own kind. Whether they are members, that group's object says."""
        self._beside: dict[GroupKey, set[Name]] = {}
        """The same by that group."""

    def __len__(self) -> int:
        return len(self._members)

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self._members or self._native)

    def note(self, pod: Pod) -> bool:
        """The pod has ended. Returns whether a group has one more or one less.

        Raises ValueError, and changes nothing, for an invalid time.
        """
        meta = pod.metadata
        if pod.status.phase != SUCCEEDED:
            return self.forget(meta.namespace, meta.name)
        created = whole_seconds(meta.creation_timestamp, "metadata.creationTimestamp", 0)
        name, found = (meta.namespace, meta.name), _Pod(meta.uid, created, self._owners.told(pod))
        if name in self._native:
            self._forget_native(name)
        if found.told.native is not None:
            self._native[name] = found
            self._beside.setdefault(found.told.native, set()).add(name)
        return self._put(name, *found)

    def regroup(self, controllers: Iterable[str], natives: Iterable[GroupKey] = ()) -> bool:
        """These controllers (UIDs) lead to another owner than before, and these groups are basic now, or no longer.

        Returns whether a group has more or less.
        """
        names = [name for uid in controllers for name in self._led.get(uid, ())]
        known = [(name, self._members[name]) for name in names]
        moved = [self._put(name, each.uid, each.created, each.told) for name, each in known]
        beside = [name for key in natives for name in self._beside.get(key, ())]
        moved += [self._put(name, *self._native[name]) for name in beside]
        return any(moved)

    def _put(self, name: Name, uid: str, created: int, told: Told) -> bool:
        key = self._owners.succeeded(told)
        if key is None:
            return self._drop(name)
        group = self._groups.hold(key)
        member = _Member(uid, group, created, told)
        if self._members.get(name) == member:
            self._groups.drop(group)
            return False
        self._drop(name)
        self._members[name] = member
        self._of_group.setdefault(group, {})[uid] = created
        if member.by:
            self._led.setdefault(member.by, set()).add(name)
        self._groups.touch(group)
        return True

    def forget(self, namespace: str, name: str) -> bool:
        """The pod is gone, or another pod has its name. Returns whether a group has one less."""
        if (namespace, name) in self._native:
            self._forget_native((namespace, name))
        return self._drop((namespace, name))

    def _forget_native(self, name: Name) -> None:
        native = self._native.pop(name).told.native
        if native is not None:
            self._beside[native].discard(name)
            if not self._beside[native]:
                del self._beside[native]

    def _drop(self, name: Name) -> bool:
        """The pod is no member. Returns whether it was one."""
        member = self._members.pop(name, None)
        if member is None:
            return False
        created = self._of_group[member.group]
        created.pop(member.uid, None)
        if not created:
            del self._of_group[member.group]
        if member.by:
            self._led[member.by].discard(name)
            if not self._led[member.by]:
                del self._led[member.by]
        self._groups.touch(member.group)
        self._groups.drop(member.group)
        return True

    def uids(self, group: int) -> Set[str]:
        """UIDs of the members of the group in this row. Good until the next event."""
        return self._of_group.get(group, {}).keys()

    def created(self) -> dict[int, tuple[int, ...]]:
        """When the members of each group were created (seconds since the epoch), by the row of the group."""
        return {row: tuple(created.values()) for row, created in self._of_group.items()}

    def counts(self) -> list[int]:
        """What `count` says of each row of the groups."""
        counts = [0] * len(self._groups.objects)
        for group in self._of_group:
            counts[group] = self.count(group)
        return counts

    def count(self, group: int) -> int:
        """How many of them count for the group in this row: those that were created when it existed.

        The others are what a former group of the same name has left. 0 if there is no such group.
        """
        created, its_object = self._of_group.get(group), self._groups.objects[group]
        if created is None or its_object is None:
            return 0
        since = whole_seconds(its_object.metadata.creation_timestamp, "metadata.creationTimestamp", 0)
        return sum(each >= since for each in created.values())

"""Members of groups that Succeeded. They use nothing and are in no other table, but their groups count them."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Final, NamedTuple

from api.core import Pod
from nodes.state.groups import GroupKey, GroupTable
from nodes.state.pod_facts import whole_seconds

__all__ = ["SucceededMembers"]

SUCCEEDED: Final = "Succeeded"


class _Member(NamedTuple):
    uid: str
    group: int
    """Row of the group. The member refers to the group for as long as the pod object exists."""
    created: int
    """Seconds since the epoch."""


class SucceededMembers:
    """Pods whose label names a group and whose phase is Succeeded, until the pod object is deleted."""

    def __init__(self, groups: GroupTable, gang_of: Callable[[Pod], GroupKey | None]) -> None:
        """`gang_of`: which gang counts the pod, now that it has Succeeded."""
        self._groups, self._gang_of = groups, gang_of
        self._members: dict[tuple[str, str], _Member] = {}
        self._of_group: dict[int, dict[str, int]] = {}
        """By row of the group: when each member (UID) was created."""

    def __len__(self) -> int:
        return len(self._members)

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self._members)

    def note(self, pod: Pod) -> bool:
        """The pod has ended. Returns whether a group has one more or one less.

        Raises ValueError, and changes nothing, for an invalid time.
        """
        meta = pod.metadata
        key = self._gang_of(pod)
        if pod.status.phase != SUCCEEDED or key is None:
            return self.forget(meta.namespace, meta.name)
        created = whole_seconds(meta.creation_timestamp, "metadata.creationTimestamp", 0)
        group = self._groups.hold(key)
        member = _Member(meta.uid, group, created)
        if self._members.get((meta.namespace, meta.name)) == member:
            self._groups.drop(group)
            return False
        self.forget(meta.namespace, meta.name)
        self._members[meta.namespace, meta.name] = member
        self._of_group.setdefault(group, {})[meta.uid] = created
        self._groups.touch(group)
        return True

    def forget(self, namespace: str, name: str) -> bool:
        """The pod is gone, or another pod has its name. Returns whether a group has one less."""
        member = self._members.pop((namespace, name), None)
        if member is None:
            return False
        created = self._of_group[member.group]
        created.pop(member.uid, None)
        if not created:
            del self._of_group[member.group]
        self._groups.touch(member.group)
        self._groups.drop(member.group)
        return True

    def uids(self, group: int) -> Set[str]:
        """UIDs of the members of the group in this row. Good until the next event."""
        return self._of_group.get(group, {}).keys()

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

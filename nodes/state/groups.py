"""The table of PodGroups. A group that pods name but that does not exist has a row too, without an object."""

from __future__ import annotations

import itertools

from api.groups import PodGroup
from nodes.state.columns import Register

__all__ = ["GroupKey", "GroupTable"]

GroupKey = tuple[str, str]
"""(namespace, name)."""


class GroupTable:
    """PodGroups by row, and the rows of the pods whose label names them."""

    def __init__(self) -> None:
        self.keys: Register[GroupKey] = Register()
        self.objects: list[PodGroup | None] = []
        self.members: list[set[int]] = []
        self.touched: list[int] = []
        """Per row: a number that grows when the group, its set of members or one of its members changes."""
        self.changes = 0
        """Grows whenever a group comes, goes, or changes."""
        self._touches = itertools.count(1)

    def __len__(self) -> int:
        """Groups that exist."""
        return len(self.live)

    @property
    def live(self) -> list[PodGroup]:
        """Groups that exist."""
        return [group for group in self.objects if group is not None]

    def find(self, namespace: str, name: str) -> PodGroup | None:
        """The group, if it exists."""
        row = self.keys.get((namespace, name))
        return self.objects[row] if row is not None else None

    def hold(self, key: GroupKey) -> int:
        """Count one more reference to the group, which need not exist. Returns its row."""
        row, new = self.keys.hold(key)
        if new and row == len(self.objects):
            self.objects.append(None)
            self.members.append(set())
            self.touched.append(0)
        return row

    def touch(self, row: int) -> None:
        """Note that the group or one of its members changed."""
        self.touched[row] = next(self._touches)

    def drop(self, row: int) -> None:
        """Count one reference less to the group."""
        self.keys.drop(row)

    def upsert(self, group: PodGroup) -> bool:
        """Add or change a group. Returns whether something changed that decisions depend on, so not its status."""
        meta = group.metadata
        key = (meta.namespace, meta.name)
        row = self.keys.get(key)
        before = self.objects[row] if row is not None else None
        if row is None or before is None:
            row = self.hold(key)
        self.objects[row] = group
        self.changes += 1
        self.touch(row)
        return before is None or before.metadata.uid != meta.uid or before.spec != group.spec

    def delete(self, namespace: str, name: str) -> bool:
        """Remove the group. Returns whether it existed."""
        row = self.keys.get((namespace, name))
        if row is None or self.objects[row] is None:
            return False
        self.objects[row] = None
        self.changes += 1
        self.touch(row)
        self.drop(row)
        return True

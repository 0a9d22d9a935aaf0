"""The columns of groups that decide about evictions, kept from event to event."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from api.core import PriorityClass
from api.groups import PodGroup, goes_whole
from api.priority import SYSTEM_CLASSES, global_default
from nodes.groups.forms import is_native, replaces_priority
from nodes.state.columns.columns import Column, Columns, Register
from nodes.state.columns.flags import Flags, Int32s, Int64s
from nodes.state.columns.name_order import NameOrder

__all__ = ["GroupColumns", "GroupFacts", "columns_of"]

NO_CLASS = -1
"""In place of the row of a class: the group needs none."""


@dataclass(frozen=True, slots=True)
class GroupColumns:
    """What decides about the eviction of groups [G], beside their pods."""

    exists: Flags
    known: Flags
    """Whether the group exists, and so does the PriorityClass that it needs."""
    whole: Flags
    """Whether the group goes whole or not at all."""
    priority: Int64s
    """The group's own, where it is known."""
    replaces: Flags
    """Whether the group's priority replaces those of its pods also where it goes whole."""
    minimum: Int64s
    """How many pods of a gang must run, beside those that Succeeded; -1 for what is no gang."""
    name_rank: Int32s
    """The place of the group in the order of (namespace, name). That of a dead row means nothing."""


class GroupFacts:
    """What each row of the groups says. The values of PriorityClasses are looked up when a snapshot asks."""

    def __init__(self) -> None:
        self._exists = Column(np.uint8)
        self._whole = Column(np.uint8)
        self._replaces = Column(np.uint8)
        self._least = Column(np.int64, -1)
        """minCount of a gang."""
        self._priority = Column(np.int64)
        self._class = Column(np.int32, NO_CLASS)
        """The row of the PriorityClass that the group needs."""
        self.hidden = Column(np.uint8)
        """Whether the group goes whole or not at all, and kube-scheduler does not know it."""
        self._columns = Columns(
            self._exists,
            self._whole,
            self._replaces,
            self._least,
            self._priority,
            self._class,
            self.hidden,
        )
        self._classes: Register[str] = Register()
        """Names of PriorityClasses. The empty one stands for the default."""
        self._namespaces: list[str] = []
        self._names: list[str] = []
        self._order = NameOrder(self._namespaces, self._names)

    def name(self, row: int, namespace: str, name: str) -> None:
        """The group of this name has the row now; an empty name: none has it."""
        if row == len(self._names):
            self._columns.reach(row + 1)
            self._namespaces.append(namespace)
            self._names.append(name)
        else:
            self._namespaces[row], self._names[row] = namespace, name
        self._order.change(row)

    def note(self, row: int, group: PodGroup | None) -> None:
        """The group in this row exists and says this; None: it does not exist."""
        before = self._class.array.item(row)
        self._exists.array[row] = group is not None
        self._whole.array[row] = goes_whole(group)
        self._replaces.array[row] = group is not None and replaces_priority(group)
        self.hidden.array[row] = goes_whole(group) and not is_native(group)
        gang = group.spec.scheduling_policy.gang if group is not None else None
        self._least.array[row] = gang.min_count if gang is not None else -1
        self._class.array[row] = NO_CLASS
        if group is not None and group.spec.priority is not None:
            self._priority.array[row] = group.spec.priority
        elif group is not None:
            self._class.array[row], _ = self._classes.hold(group.spec.priority_class_name or "")
        if before != NO_CLASS:
            self._classes.drop(before)

    def at(self, classes: Mapping[str, PriorityClass], succeeded: Sequence[int]) -> GroupColumns:
        """A copy. `classes`: by name. `succeeded`: how many pods of each group did."""
        size = len(self._names)
        exists, least = self._exists.array[:size].copy(), self._least.array[:size]
        values = [_value(name, classes) for name in self._classes.keys]
        known = np.array([*(value is not None for value in values), True], np.uint8)  # the last one: no class
        of_class = np.array([*(value or 0 for value in values), 0], np.int64)
        needed = self._class.array[:size]
        return GroupColumns(
            exists=exists,
            known=exists & known[needed],
            whole=self._whole.array[:size].copy(),
            priority=np.where(needed == NO_CLASS, self._priority.array[:size], of_class[needed]),
            replaces=self._replaces.array[:size].copy(),
            minimum=np.where(least < 0, -1, least - np.array(succeeded, np.int64)),
            name_rank=self._order.ranks(),
        )


def columns_of(
    keys: Sequence[tuple[str, str]],
    groups: Sequence[PodGroup | None],
    classes: Mapping[str, PriorityClass],
    succeeded: Sequence[int],
) -> GroupColumns:
    """The columns of these groups, by row. `keys`: (namespace, name), empty for a dead row. See `GroupFacts.at`."""
    facts = GroupFacts()
    for row, (key, group) in enumerate(zip(keys, groups, strict=True)):
        facts.name(row, *key)
        facts.note(row, group)
    return facts.at(classes, succeeded)


def _value(name: str | None, classes: Mapping[str, PriorityClass]) -> int | None:
    """The value of this PriorityClass, or of the default one; None if it does not exist. See `api.priority`."""
    if name:
        known = classes.get(name) or SYSTEM_CLASSES.get(name)
        return known.value if known is not None else None
    default = global_default(classes.values())
    return default.value if default is not None else 0

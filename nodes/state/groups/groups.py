"""The table of groups. A PodGroup that pods name but that does not exist has a row too, without an object.

A group of another kind is there in its internal form for as long as its object exists or pods name it: see
`nodes.groups.forms`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from api.disruption import budget_policy, disruption_cost
from api.groups import PodGroup, goes_whole, has_run
from nodes.groups.forms import PREEMPTING, Sources, asking, implied, may_ask
from nodes.groups.keys import is_foreign, is_native_name, is_owned, source_of
from nodes.groups.registry import GroupKey
from nodes.state.columns.change_log import ChangeLog
from nodes.state.columns.columns import Register
from nodes.state.groups.group_columns import GroupFacts

__all__ = ["GroupKey", "GroupTable", "add_count"]


def add_count(counts: Counter[int], key: int, amount: int) -> None:
    """Add to a count. Counts of 0 are not kept."""
    counts[key] += amount
    if not counts[key]:
        del counts[key]


class GroupTable:
    """Groups by row, and the rows of the pods that belong to them."""

    def __init__(
        self, form: Callable[[str, str], PodGroup] = implied, preempting: Sources = PREEMPTING
    ) -> None:
        """`form`: the internal form of a group of another kind (namespace, name) that has no object of its own.

        `preempting`: sources whose gangs ask for room as one.
        """
        self._form, self.preempting = form, preempting
        self.keys: Register[GroupKey] = Register()
        self.objects: list[PodGroup | None] = []
        self._read: set[int] = set()
        """Rows whose object exists. Each refers to its row."""
        self.columns = GroupFacts()
        self.members: list[set[int]] = []
        self.running: list[Counter[int]] = []
        """Per row: how many members are bound, by their own priority. Terminating pods do not count here and below."""
        self.nodes: list[Counter[int]] = []
        """Per row: how many members are bound, by the row of their node."""
        self.waiting: list[Counter[int]] = []
        """Per row: how many members wait for a node, by the row of their class. Gated pods do not count."""
        self.priorities: list[Counter[int]] = []
        """Per row: how many members there are, bound or not, by their own priority."""
        self.gated: list[int] = []
        """Per row: how many pods have a scheduling gate that is not ours. They are no members yet."""
        self.touched: list[int] = []
        """Per row: a number that grows when the group, its set of members or one of its members changes."""
        self.changed: ChangeLog[GroupKey] = ChangeLog()
        """Groups that were touched."""
        self._hooks: list[Callable[[GroupKey], None]] = []

    def __len__(self) -> int:
        """PodGroups that exist."""
        return len(self.live)

    @property
    def live(self) -> list[PodGroup]:
        """Groups that exist and ask for room as one: ours, and gangs of other kinds that we plan for."""
        return [group for each in self.objects if (group := asking(each, self.preempting)) is not None]

    def find(self, namespace: str, name: str) -> PodGroup | None:
        """The group, if it exists."""
        row = self.keys.get((namespace, name))
        return self.objects[row] if row is not None else None

    def asking(self, key: GroupKey) -> PodGroup | None:
        """The group, if it exists and asks for room as one: see `nodes.groups.forms.asking`."""
        return asking(self.find(*key), self.preempting)

    def awaits_object(self, key: GroupKey) -> str:
        """The source of the object that may make this group of another kind a gang; empty if the object is known.

        Empty also if that is its owner's. The object of a group of kube-scheduler's own kind may say that it is none.
        """
        name, row = key[1], self.keys.get(key)
        is_known = row is not None and row in self._read
        may = may_ask(name, self.preempting) or is_native_name(name)
        return source_of(name) if may and not is_known and not is_owned(name) else ""

    def hold(self, key: GroupKey) -> int:
        """Count one more reference to the group, which need not exist. Returns its row."""
        row, new = self.keys.hold(key)
        if new and row == len(self.objects):
            self.objects.append(None)
            self.members.append(set())
            for counts in (self.running, self.nodes, self.waiting, self.priorities):
                counts.append(Counter())
            self.gated.append(0)
            self.touched.append(0)
        if new:
            self.columns.name(row, *key)
        if new and is_foreign(key[1]):
            self._put(row, self._form(*key))
        return row

    def renew(self, key: GroupKey) -> bool:
        """The form of a group without an object may be another one. Returns whether it is."""
        row = self.keys.get(key)
        if row is None or row in self._read or self.objects[row] == (form := self._form(*key)):
            return False
        self._put(row, form)
        self.touch(row)
        return True

    def _put(self, row: int, group: PodGroup | None) -> None:
        self.objects[row] = group
        self.columns.note(row, group)

    def count_unbound(self, row: int, pod_class: int, pods: int, *, gated: bool) -> None:
        """Count `pods` more pods that are not bound. `gated`: by a scheduling gate that is not ours."""
        if gated:
            self.gated[row] += pods
        else:
            add_count(self.waiting[row], pod_class, pods)

    def lowest_running(self, row: int) -> int | None:
        """The lowest own priority of the group's pods that run; None if none does."""
        return min(self.running[row], default=None)

    def running_priority(self, key: GroupKey) -> int | None:
        """The lowest own priority of the group's pods that run; None if none does. Terminating pods do not count."""
        return min(self.running_priorities(key), default=None)

    def lowest_priority(self, key: GroupKey) -> int | None:
        """The lowest own priority of the group's members, bound or not; None if it has none."""
        row = self.keys.get(key)
        return min(self.priorities[row], default=None) if row is not None else None

    def running_priorities(self, key: GroupKey) -> frozenset[int]:
        """The own priorities of the group's pods that run."""
        row = self.keys.get(key)
        return frozenset(self.running[row]) if row is not None else frozenset()

    def goes_whole(self, row: int) -> bool:
        """Whether the group exists, and is evicted whole or not at all."""
        return goes_whole(self.objects[row])

    def on_touch(self, hook: Callable[[GroupKey], None]) -> None:
        """Call `hook` whenever a group comes, goes or changes what decisions depend on, or one of its members does."""
        self._hooks.append(hook)

    def touch(self, row: int) -> None:
        """Note that the group or one of its members changed."""
        key = self.keys.keys[row]
        if key is not None:
            self.changed.note(key)
            self.touched[row] = self.changed.count
            for hook in self._hooks:
                hook(key)

    def drop(self, row: int) -> None:
        """Count one reference less to the group."""
        if self.keys.drop(row):
            self._put(row, None)
            self.columns.name(row, "", "")

    def upsert(self, group: PodGroup) -> bool:
        """Add or change a group. Returns whether something changed that decisions depend on.

        Of its status, only whether it has run is such a thing.
        """
        meta = group.metadata
        key = (meta.namespace, meta.name)
        row = self.keys.get(key)
        before = self.objects[row] if row is not None else None
        if row is None or row not in self._read:
            row = self.hold(key)
            self._read.add(row)
        self._put(row, group)
        changed = (
            before is None
            or before.metadata.uid != meta.uid
            or before.spec != group.spec
            or _says_otherwise(before, group)
            or has_run(before) != has_run(group)
        )
        if changed:
            self.touch(row)
        return changed

    def delete(self, namespace: str, name: str) -> bool:
        """Remove the group. Returns whether it existed. The pods of one of another kind still belong together."""
        row = self.keys.get((namespace, name))
        if row is None or row not in self._read:
            return False
        self._read.discard(row)
        self._put(row, self._form(namespace, name) if is_foreign(name) else None)
        self.touch(row)
        self.drop(row)
        return True


def _says_otherwise(before: PodGroup, group: PodGroup) -> bool:
    """Whether its annotations say something else of disruption than before."""
    old, new = before.metadata.annotations, group.metadata.annotations
    return old != new and (disruption_cost(old), budget_policy(old)) != (
        disruption_cost(new),
        budget_policy(new),
    )
